package dovetail.kernel.enumerate

import dovetail.kernel.cost.{ExchangeAbove, KeySkew, ScanPruning, SubPlan}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator}

/**
 * The join keys of a graph as bits of partitioning masks, and the facts that they give about a set of relations beyond
 * its size. [[Sizer]] uses them. In most graphs no key is skewed and no table is partitioned; then nothing is computed.
 */
final class KeyFacts(graph: JoinGraph) {

  private val ofClasses: Vector[(Long, Member)] =
    graph.classes.flatMap(c => c.members.map(SubPlan.classBit(c.index) -> _))
  private val ofOperators: Vector[Member] = graph.operators.flatMap(_.equalities).flatMap { case (l, r) =>
    Vector(l, r)
  }

  // a key of an operator that is not a member of a class gets a bit of its own after those of the classes, because
  // other operators may have the same key; a member of several classes has the bit of the first class
  private val bits: Map[(Int, Set[Long], String), Long] = {
    val own = ofOperators.map(identity).distinct.zipWithIndex.map { case (key, i) =>
      key -> SubPlan.classBit(graph.classes.size + i)
    }
    (own ++ ofClasses.reverse.map { case (bit, m) => identity(m) -> bit }).toMap
  }

  private def identity(m: Member) = (m.relation, m.columns, m.text)

  /** The bit of a class's or an operator's key. */
  def bit(m: Member): Long = bits(identity(m))

  // keys of each relation
  private val keys: Array[Vector[(Long, Member)]] = by(ofClasses ++ ofOperators.map(m => bit(m) -> m))(_._2.relation)

  /**
   * NULLs of each relation's keys, as shares. A join that keeps rows without a partner sends all NULLs to one task too.
   */
  private val nulls: Array[Vector[(Long, Double)]] = by(
    for (o <- graph.operators if o.kind != JoinKind.Semi; (l, _) <- o.equalities; share <- l.column.nulls)
      yield (l.relation, bit(l), share)
  )(_._1).map(_.map { case (_, bit, share) => bit -> share })

  private def by[A](all: Vector[A])(relation: A => Int): Array[Vector[A]] = {
    val of = all.groupBy(relation)
    graph.relations.map(r => of.getOrElse(r.index, Vector.empty)).toArray
  }

  private val skews: Array[KeySkew] = keys.zip(nulls).map { case (ks, ns) =>
    KeySkew(ks.map { case (bit, m) => bit -> share(m) } ++ ns)
  }
  private val skewed = skews.exists(_ ne KeySkew.none)

  /** Share of the most frequent value: the counted share, or at least an even share of few values. */
  private def share(m: Member): Double = {
    val counted = m.column.frequent.flatMap(_.values.headOption).map(_.share)
    math.max(counted.getOrElse(0.0), m.column.ndv.fold(0.0)(1.0 / math.max(_, 1.0)))
  }

  def skewOf(r: Int): KeySkew = skews(r)

  /** Skew of the join of the first `n` of these relations. */
  def skewOf(relations: Array[Int], n: Int): KeySkew =
    if (skewed) KeySkew.joined((0 until n).map(i => skews(relations(i)))) else KeySkew.none

  private val partitionings: Array[Long] = graph.relations.map { r =>
    def bitsOf(column: Long) = keys(r.index).collect { case (bit, m) if m.columns == Set(column) => bit }.distinct
    val found                = r.hashedBy.toVector.map(bitsOf)
    if (found.forall(_.size == 1)) found.foldLeft(SubPlan.Unpartitioned)((mask, bits) => mask | bits.head)
    else SubPlan.Unpartitioned
  }.toArray

  /** Partitioning that a relation has before any join: by its hash columns, if each is one join key. */
  def partitioningOf(r: Int): Long = partitionings(r)

  /** The exchange of so many rows for the operator above all joins, if join keys are among its columns. */
  def above(rows: Double): ExchangeAbove =
    if (clustered == 0L) ExchangeAbove.none
    else ExchangeAbove(clustered, graph.above.fold(0.0)(_.exchange(rows)))

  // keys that have a clustering column as their only column; none if all joins have other keys besides
  private lazy val clustered: Long = {
    val columns = graph.above.fold(Set.empty[Long])(_.columns)
    val mask    = if (columns.isEmpty) 0L
    else keys.iterator.flatten.collect { case (bit, m) if m.columns.size == 1 && m.columns.subsetOf(columns) => bit }
      .foldLeft(0L)(_ | _)
    if (mask != 0L && partitions(mask)) mask else 0L
  }

  /** Whether some join or input partitions its rows by these keys and no others. */
  private def partitions(mask: Long): Boolean = {
    def within(key: Long) = key != 0L && (key & ~mask) == 0L
    val classes           = graph.classesOf.map(_.foldLeft(0L)((m, c) => m | SubPlan.classBit(c)))
    def between(a: Int)   = (0 until a).exists(b => within(classes(a) & classes(b)))
    def by(o: Operator)   = within(o.equalities.foldLeft(0L)((m, e) => m | bit(e._1)))
    partitionings.exists(within) || graph.relations.indices.exists(between) || graph.operators.exists(by)
  }

  /** A key that is a partition column of a relation. */
  final private class Scan(val relation: Int, val bit: Long, val bytes: Double, val partitions: Double)

  private val scans: Array[Scan] = graph.relations.toArray.flatMap { r =>
    val found =
      if (r.partitions.isEmpty) Vector.empty
      else keys(r.index).filter { case (_, m) => m.columns.nonEmpty && m.columns.subsetOf(r.partitions) }.distinct
    val bytes = r.profile.rows.value * r.width / math.max(found.size, 1)
    found.flatMap { case (bit, m) =>
      m.column.ndv.orElse(m.column.domain).map(n => new Scan(r.index, bit, bytes, math.max(n, 1.0)))
    }
  }

  private lazy val masks: Array[Long] = keys.map(_.foldLeft(0L)((m, k) => m | k._1))

  def pruningOf(relation: Int): ScanPruning = pruningOf(Array(relation), 1)

  /**
   * Scans that joins with the first `n` of these relations can still prune: scans by keys that no other one of these
   * relations has.
   */
  def pruningOf(relations: Array[Int], n: Int): ScanPruning =
    if (scans.isEmpty) ScanPruning.none
    else {
      def in(r: Int)      = (0 until n).exists(relations(_) == r)
      def others(s: Scan) = (0 until n).exists(i => relations(i) != s.relation && (masks(relations(i)) & s.bit) != 0L)
      val left            = scans.filter(s => in(s.relation) && !others(s))
      if (left.isEmpty) ScanPruning.none
      else new ScanPruning(left.map(_.bit), left.map(_.bytes), left.map(_.partitions))
    }

  private val filtered: Array[Boolean] =
    graph.relations.map(_.profile.restricted).toArray

  /**
   * Whether a predicate restricts one of the first `n` of these relations. The engine does not prune by relations
   * without a predicate.
   */
  def selective(relations: Array[Int], n: Int): Boolean =
    scans.nonEmpty && (0 until n).exists(i => filtered(relations(i)))
}
