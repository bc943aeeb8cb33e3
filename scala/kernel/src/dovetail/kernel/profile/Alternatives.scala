package dovetail.kernel.profile

import scala.collection.immutable.TreeMap

/**
 * Share of the combinations of rows that an OR of ANDs over several relations keeps: `(a.x = 1 AND b.y = 2) OR (a.x = 3
 * AND b.y = 4)`. [[dovetail.kernel.graph.JoinPredicate]]s of this kind get their selectivity here.
 *
 * A row of a relation satisfies the conditions that some alternatives have on this relation: a set of alternatives. A
 * combination of rows is kept if one alternative is in the sets of all its rows. So it matters which alternatives go
 * together: single shares would count a row twice that satisfies two alternatives, and would take a constant that half
 * of the rows have for as rare as one that few rows have. Rows of different relations are taken as independent.
 *
 * @param shares share of a relation's rows by their set of alternatives (bit i stands for alternative i), in the order
 *               of the sets; they add up to 1
 */
final class Alternatives private (private val shares: TreeMap[Long, Double]) {

  /** Combinations of a row of this relation, and one of another relation that is independent of it. */
  def and(other: Alternatives): Alternatives = {
    val pairs = for ((a, p) <- shares.toVector; (b, q) <- other.shares.toVector) yield (a & b, p * q)
    new Alternatives(Alternatives.added(pairs))
  }

  /** Of rows that satisfy an alternative at least; where there are none, of all. */
  def satisfied: Alternatives = {
    val some = shares - Alternatives.Nothing
    val sum  = some.values.sum
    if (sum <= 0.0) this else new Alternatives(TreeMap(some.toVector.map { case (set, p) => set -> p / sum }: _*))
  }

  /** Share of the rows that satisfy an alternative. */
  def share: Double = math.max(0.0, math.min(1.0, 1.0 - shares.getOrElse(Alternatives.Nothing, 0.0)))

  /** A mean of this and another one, by these weights. */
  def mixed(weight: Double, other: Alternatives, otherWeight: Double): Alternatives = {
    require(weight >= 0.0 && otherWeight >= 0.0 && weight + otherWeight > 0.0, s"weights $weight and $otherWeight")
    val all = weight + otherWeight
    new Alternatives(Alternatives.added(
      shares.toVector.map { case (s, p) => s -> p * weight / all } ++
        other.shares.toVector.map { case (s, p) => s -> p * otherWeight / all }
    ))
  }
}

object Alternatives {

  /** Alternatives of one OR: the bits of a number, but for the sign. */
  val Most = 62

  // the set of a row that satisfies no alternative
  private val Nothing = 0L

  // alternatives whose sets are enumerated, 256 at most
  private val Enumerated = 8

  /** As counted: rows by their set of alternatives. */
  def counted(rows: Map[Long, Int]): Alternatives = {
    val all = rows.values.map(_.toDouble).sum
    require(all > 0.0, "no rows")
    new Alternatives(added(rows.toVector.map { case (set, n) => set -> n / all }))
  }

  /**
   * Of alternatives that keep these shares of the rows, independently of each other; many of them as if they excluded
   * each other.
   */
  def ofShares(shares: Vector[Double]): Alternatives = {
    require(shares.size <= Most && shares.forall(s => s >= 0.0 && s <= 1.0), s"shares $shares")
    if (shares.size <= Enumerated)
      shares.zipWithIndex.foldLeft(new Alternatives(TreeMap(Nothing -> 1.0))) { case (a, (share, i)) =>
        new Alternatives(added(a.shares.toVector.flatMap { case (set, p) =>
          Vector(set -> p * (1.0 - share), (set | 1L << i) -> p * share)
        }))
      }
    else {
      val whole  = shares.zipWithIndex.collect { case (1.0, i) => 1L << i }.foldLeft(Nothing)(_ | _)
      val others = shares.zipWithIndex.filter(_._1 < 1.0)
      val factor = 1.0 / math.max(1.0, others.map(_._1).sum)
      val one    = others.map { case (share, i) => (whole | 1L << i) -> share * factor }
      new Alternatives(added((whole -> math.max(0.0, 1.0 - one.map(_._2).sum)) +: one))
    }
  }

  private def added(shares: Vector[(Long, Double)]): TreeMap[Long, Double] =
    shares.foldLeft(TreeMap.empty[Long, Double]) { case (sums, (set, p)) =>
      if (p <= 0.0) sums else sums.updated(set, sums.getOrElse(set, 0.0) + p)
    }
}
