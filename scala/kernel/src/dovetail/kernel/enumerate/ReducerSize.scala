package dovetail.kernel.enumerate

import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Member}
import dovetail.kernel.profile.{Assumptions, DistinctInSample}
import dovetail.kernel.size.CardinalityModel

/**
 * How many keys a reducer has, and which share of the reduced relation's rows has one of them.
 *
 * The join of the reduced relation with the source, by the key alone, has as many rows per kept row as the source has
 * rows per key. So the share is the number of joined rows per row of the relation, divided by the rows per key. The
 * keys of a column are those of the rows of its relation that have partners in the rest of the source. They are
 * estimated as semi joins and not by the rows of the join: if every day of a year is joined with the seven days of its
 * week, there are seven times as many rows as days.
 *
 * @param by      relations of the source
 * @param columns columns of the key: class, and relation of the source
 */
final private class ReducerSize(graph: JoinGraph, reduced: Int, by: Vector[Int], columns: Vector[(Int, Int)]) {
  import ReducerSize._

  private val set    = reduced +: by
  private val number = set.zipWithIndex.toMap

  // formulas alone: a sample of a few thousand rows says little about how many rows of a large table have no partner
  private val relations = set.map(r => graph.relations(r).copy(index = number(r), sample = None))

  private def numbered(ms: Vector[Member]): Vector[Member] = ms.map(m => m.copy(relation = number(m.relation)))

  private val classes =
    graph.keys.filter(k => k.index < graph.classes.size || columns.exists(_._1 == k.index)).flatMap { k =>
      val within  = if (columns.exists(_._1 == k.index)) set else by
      val members = numbered(k.members.filter(m => within.contains(m.relation)))
      if (members.map(_.relation).distinct.size > 1) Some(members) else None
    }.zipWithIndex.map { case (members, i) => EquivalenceClass(i, members) }

  private val model = new CardinalityModel(JoinGraph(relations, classes, Vector.empty))

  /** Rows of the source. */
  val keyRows: Double =
    if (by.size == 1) math.max(1.0, rowsOf(by.head)) else model.estimatedRows(by.map(number).toArray)

  /** Whether the number of distinct values of every column of the key is known. */
  val known: Boolean = columns.forall { case (c, r) => member(r, c).column.ndv.isDefined }

  /** Distinct keys of the source. If a number of distinct values is unknown, every row is assumed to have its own. */
  val keys: Double = {
    val each         = columns.map { case (c, r) => distinct(c, r) }
    val combinations = each.product
    val drawn        = Assumptions.distinctAfter(combinations, math.max(combinations, keyRows) * NoRepeats, keyRows)
    math.max(1.0, math.max(each.max, drawn))
  }

  /** Share of the reduced relation's rows that have a partner, from 0 to 1. */
  val kept: Double = {
    val partners = model.estimatedRows(set.map(number).toArray) / math.max(1.0, rowsOf(reduced))
    val nonNull  = columns.map { case (c, _) => member(reduced, c).column.nonNull }.min
    math.min(nonNull, partners / math.max(1.0, keyRows / keys))
  }

  private def rowsOf(r: Int): Double = graph.relations(r).profile.rows.value

  private def member(r: Int, c: Int): Member = graph.keys(c).memberOf(r).get

  /** Distinct values of a column of the key, in the rows of the source. */
  private def distinct(c: Int, r: Int): Double = {
    val rows = rowsOf(r)
    Assumptions.distinctAfter(values(c, r), rows, math.min(keyRows, rows * matched(r, Set(r))))
  }

  /** Share of a relation's rows that have partners in the relations of the source that are reached from it. */
  private def matched(r: Int, before: Set[Int]): Double = {
    val next = for {
      c <- graph.classesOf(r)
      n <- graph.classes(c).relations if by.contains(n) && !before(n)
    } yield (c, n)
    val reached = before ++ next.map(_._2)
    val shares  = next.map { case (c, n) =>
      val partners = Assumptions.distinctAfter(values(c, n), rowsOf(n), rowsOf(n) * matched(n, reached))
      val domain   = member(r, c).column.domain.getOrElse(values(c, r))
      math.min(1.0, partners / math.max(1.0, domain))
    }
    Assumptions.conjunction(shares)
  }

  /**
   * Distinct values of a relation's column after its own predicates. A sample shows which values stay together: the
   * days of one year have 53 weeks, and 365 random days have some 350.
   */
  private def values(c: Int, r: Int): Double = {
    val relation = graph.relations(r)
    val counted  = for {
      sample <- relation.sample if !sample.clustered && (sample.complete || sample.rows >= LeastRows)
      keys   <- sample.keys.get(c)
      codes = keys.codes
    } yield DistinctInSample(sample.kept.toArray.map(codes(_).toLong), rowsOf(r))
    counted.orElse(member(r, c).column.ndv).getOrElse(rowsOf(r))
  }
}

private object ReducerSize {

  /** Number of sampled rows from which on their distinct values say more than a formula. */
  private val LeastRows = 30

  /** Ratio of combinations to drawn rows from which on it makes no difference whether a combination is drawn twice. */
  private val NoRepeats = 1e6
}
