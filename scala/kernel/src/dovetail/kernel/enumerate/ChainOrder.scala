package dovetail.kernel.enumerate

import java.util.Arrays

import scala.collection.mutable

/**
 * Finds the best order of the joins of a chain, in which one input, the probe, is joined with the other inputs, the
 * builds, one after the other. These are left-deep trees with a fixed first relation, so dynamic programming over sets
 * of builds (Selinger et al. 1979) is exact, with the partitioning of the joined rows as interesting property. With
 * more than [[ChainOrder.MostExact]] builds, the next build is the one that leaves the fewest rows.
 *
 * It is for joins whose inputs are already computed (adaptive execution). The cost of a build is already spent, so only
 * the rows between the joins can still be chosen, and how often they are exchanged.
 *
 * @param needs for each build, the builds that must be joined before it, as bits; they are before it in the current
 *              order
 * @param keys  for each build, the partitioning that its join needs of the probe and leaves, or [[ChainOrder.AnyKey]]
 *              if any partitioning will do and stays, as in a broadcast join
 * @param start partitioning of the probe
 * @param rows  rows of the probe after the join with these builds, given as bits
 * @param cost  cost of one join
 */
final class ChainOrder(
    needs: Vector[Long],
    keys: Vector[Int],
    start: Int,
    rows: Long => Double,
    cost: ChainOrder.Step => Double
) {
  import ChainOrder._

  private val builds = needs.size
  require(builds > 0 && builds < java.lang.Long.SIZE && keys.size == builds, s"$keys are the keys of $builds builds")
  require(needs.indices.forall(i => needs(i) < (1L << i)), s"a build needs itself or one behind it: $needs")

  private val sizes                        = mutable.HashMap.empty[Long, Double]
  private def rowsOf(joined: Long): Double = sizes.getOrElseUpdate(joined, rows(joined))
  private def free(i: Int, joined: Long)   = (joined >>> i & 1L) == 0L && (needs(i) & ~joined) == 0L

  private def step(joined: Long, key: Int, next: Int): Step =
    Step(joined, next, rowsOf(joined), rowsOf(joined | 1L << next), keys(next) != AnyKey && keys(next) != key)

  private def keyAfter(next: Int, key: Int): Int = if (keys(next) == AnyKey) key else keys(next)

  /** The joins of an order, the first one first. */
  def steps(order: Vector[Int]): Vector[Step] =
    order.scanLeft((0L, start, Option.empty[Step])) { case ((joined, key, _), i) =>
      (joined | 1L << i, keyAfter(i, key), Some(step(joined, key, i)))
    }.flatMap(_._3)

  def costOf(order: Vector[Int]): Double = steps(order).map(cost).sum

  /** How often an order exchanges the joined rows. */
  def moves(order: Vector[Int]): Int = steps(order).count(_.moves)

  /** The best order found. There always is one, because the current order is allowed. */
  def best: Vector[Int] = if (builds <= MostExact) exact else greedy

  /** Dynamic programming. A state is a set of joined builds and the partitioning of the joined rows. */
  private def exact: Vector[Int] = {
    val parts  = (start +: keys.filter(_ != AnyKey)).distinct
    val all    = (1 << builds) - 1
    val costs  = new Array[Double]((all + 1) * parts.size)
    val before = new Array[Int](costs.length)
    val last   = new Array[Int](costs.length)
    Arrays.fill(costs, Double.PositiveInfinity)
    costs(parts.indexOf(start)) = 0.0
    for {
      joined <- 0 until all
      part   <- parts.indices
      here = joined * parts.size + part
      if !costs(here).isInfinite
      next <- 0 until builds if free(next, joined.toLong)
    } {
      val there = (joined | 1 << next) * parts.size + parts.indexOf(keyAfter(next, parts(part)))
      val sum   = costs(here) + cost(step(joined.toLong, parts(part), next))
      if (sum < costs(there)) { costs(there) = sum; last(there) = next; before(there) = here }
    }
    val end = (all * parts.size until costs.length).minBy(costs(_))
    Iterator.iterate(end)(before(_)).takeWhile(_ >= parts.size).map(last(_)).toVector.reverse
  }

  private def greedy: Vector[Int] =
    (0 until builds).foldLeft((0L, Vector.empty[Int])) { case ((joined, order), _) =>
      val next = (0 until builds).filter(free(_, joined)).minBy(i => rowsOf(joined | 1L << i))
      (joined | 1L << next, order :+ next)
    }._2
}

object ChainOrder {

  /** Number of builds up to which all sets of builds are sized: 1,024 sets, some ten milliseconds. */
  val MostExact = 10

  /** Key of a build whose join takes the probe in any partitioning. */
  val AnyKey: Int = -1

  /**
   * One join of a chain.
   *
   * @param joined builds joined before, as bits
   * @param next   build of this join
   * @param in     rows of the probe before the join
   * @param out    rows after it
   * @param moves  whether the probe's rows are exchanged for it
   */
  final case class Step(joined: Long, next: Int, in: Double, out: Double, moves: Boolean)
}
