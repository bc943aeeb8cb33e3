package dovetail.kernel.profile

import scala.collection.immutable.TreeMap
import scala.collection.mutable

/**
 * Share of the combinations of rows that an OR of ANDs over several relations keeps, such as `(a.x = 1 AND b.y = 2) OR
 * (a.x = 3 AND b.y = 4)`. It gives [[dovetail.kernel.graph.JoinPredicate]]s of this kind their selectivity.
 *
 * Each alternative may have conditions on a relation. A row of the relation satisfies those of some alternatives, which
 * form a set. A combination of rows is kept if one alternative is in the sets of all its rows. So it matters which
 * alternatives occur together. Single shares would count a row twice that satisfies two alternatives. They would also
 * take a constant that half of the rows have to be as rare as one that few rows have. Rows of different relations are
 * assumed to be independent.
 *
 * @param shares share of a relation's rows by their set of alternatives (bit i stands for alternative i), in the order
 *               of the sets; the shares add up to 1
 */
final class Alternatives private (private val shares: TreeMap[Long, Double]) {

  /** Combines each row of this relation with a row of another relation that is independent of it. */
  def and(other: Alternatives): Alternatives =
    new Alternatives(Alternatives.added(
      for ((a, p) <- common.iterator; (b, q) <- other.common.iterator) yield (a & b, p * q)
    ))

  /**
   * The most frequent sets, and some of the others with the share of all others. Sets of one share are ordered by a
   * hash, as if by chance, because their own order is that of their bits.
   */
  private lazy val common: Vector[(Long, Double)] =
    if (shares.size <= Alternatives.MostSets) shares.toVector
    else {
      val half           = Alternatives.MostSets / 2
      val (most, others) = shares.toVector.sortBy { case (set, p) => (-p, FibonacciHash(set)) }.splitAt(half)
      val drawn          = others.sortBy(o => FibonacciHash(o._1)).take(half)
      def all(some: Vector[(Long, Double)]) = some.map(_._2).sum
      val factor                            = all(others) / all(drawn)
      most ++ drawn.map { case (set, p) => set -> p * factor }
    }

  /** Restricts the rows to those that satisfy at least one alternative. Keeps all rows if none does. */
  def satisfied: Alternatives = {
    val some = shares - Alternatives.Nothing
    val sum  = some.values.sum
    if (sum <= 0.0) this else new Alternatives(TreeMap(some.toVector.map { case (set, p) => set -> p / sum }: _*))
  }

  /** Share of the rows that satisfy at least one alternative. */
  def share: Double = math.max(0.0, math.min(1.0, 1.0 - shares.getOrElse(Alternatives.Nothing, 0.0)))

  /** The weighted mean of this and another one. */
  def mixed(weight: Double, other: Alternatives, otherWeight: Double): Alternatives = {
    require(weight >= 0.0 && otherWeight >= 0.0 && weight + otherWeight > 0.0, s"weights $weight and $otherWeight")
    val all = weight + otherWeight
    new Alternatives(Alternatives.added(
      shares.iterator.map { case (s, p) => s -> p * weight / all } ++
        other.shares.iterator.map { case (s, p) => s -> p * otherWeight / all }
    ))
  }
}

object Alternatives {

  /** Maximum number of alternatives of one OR: each needs one bit of a Long, without the sign. */
  val MostAlternatives = 62

  // the set of a row that satisfies no alternative
  private val Nothing = 0L

  // largest number of alternatives whose sets are enumerated: at most 256 sets
  private val Enumerated = 8

  /**
   * Maximum number of sets of a relation that are combined with those of another one: all that are enumerated. Rows of
   * a sample may have thousands, and pairs of them would take seconds and gigabytes.
   */
  private val MostSets = 1 << Enumerated

  /** Creates the shares from counts of rows by their set of alternatives. */
  def counted(rows: Map[Long, Int]): Alternatives = {
    val all = rows.values.map(_.toDouble).sum
    require(all > 0.0, "no rows")
    new Alternatives(added(rows.iterator.map { case (set, n) => set -> n / all }))
  }

  /**
   * Creates the shares from alternatives that keep these shares of the rows. A few alternatives are taken to be
   * independent, many to exclude each other.
   */
  def ofShares(shares: Vector[Double]): Alternatives = {
    require(shares.size <= MostAlternatives && shares.forall(s => s >= 0.0 && s <= 1.0), s"shares $shares")
    if (shares.size <= Enumerated)
      shares.zipWithIndex.foldLeft(new Alternatives(TreeMap(Nothing -> 1.0))) { case (a, (share, i)) =>
        new Alternatives(added(a.shares.iterator.flatMap { case (set, p) =>
          Vector(set -> p * (1.0 - share), (set | 1L << i) -> p * share)
        }))
      }
    else {
      val whole  = shares.zipWithIndex.collect { case (1.0, i) => 1L << i }.foldLeft(Nothing)(_ | _)
      val others = shares.zipWithIndex.filter(_._1 < 1.0)
      val factor = 1.0 / math.max(1.0, others.map(_._1).sum)
      val one    = others.map { case (share, i) => (whole | 1L << i) -> share * factor }
      new Alternatives(added(((whole -> math.max(0.0, 1.0 - one.map(_._2).sum)) +: one).iterator))
    }
  }

  private def added(shares: Iterator[(Long, Double)]): TreeMap[Long, Double] = {
    val sums = new mutable.LongMap[Double]
    shares.foreach { case (set, p) => if (p > 0.0) sums(set) = sums.getOrElse(set, 0.0) + p }
    TreeMap(sums.toSeq: _*)
  }
}
