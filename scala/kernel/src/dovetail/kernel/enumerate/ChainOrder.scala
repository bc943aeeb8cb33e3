package dovetail.kernel.enumerate

import java.util.Arrays

/**
 * Finds the best order of the joins of a chain, in which one input, the probe, is joined with the other inputs, the
 * builds, one after the other. These are left-deep trees with a fixed first relation, so dynamic programming over sets
 * of builds (Selinger et al. 1979) is exact. With more than [[ChainOrder.MostExact]] builds, the next build is the one
 * that leaves the fewest rows.
 *
 * It is for joins whose inputs are already computed (adaptive execution). The cost of a build is already spent, so only
 * the rows between the joins can still be chosen.
 *
 * @param builds number of builds; builds are numbered in their current order
 * @param needs  for each build, the builds that must be joined before it, as bits; they are before it in the current
 *               order
 * @param rows   rows of the probe after the join with these builds, given as bits
 * @param step   cost of one join, by its input and output rows
 */
final class ChainOrder(
    builds: Int,
    needs: Vector[Long],
    rows: Long => Double,
    step: (Double, Double) => Double
) {
  require(builds > 0 && builds < java.lang.Long.SIZE && needs.size == builds, s"$builds builds with $needs")
  require(needs.indices.forall(i => needs(i) < (1L << i)), s"a build needs itself or one behind it: $needs")

  private val sizes                         = scala.collection.mutable.HashMap.empty[Long, Double]
  private def rowsOf(joined: Long): Double  = sizes.getOrElseUpdate(joined, rows(joined))
  private def free(i: Int, joined: Long)    = (joined >>> i & 1L) == 0L && (needs(i) & ~joined) == 0L
  private def cost(joined: Long, next: Int) = step(rowsOf(joined), rowsOf(joined | 1L << next))

  def costOf(order: Vector[Int]): Double =
    order.foldLeft((0L, 0.0)) { case ((joined, sum), i) => (joined | 1L << i, sum + cost(joined, i)) }._2

  /** The best order found. There always is one, because the current order is allowed. */
  def best: Vector[Int] = if (builds <= ChainOrder.MostExact) exact else greedy

  private def exact: Vector[Int] = {
    val all   = (1 << builds) - 1
    val costs = new Array[Double](all + 1)
    val last  = new Array[Int](all + 1)
    Arrays.fill(costs, Double.PositiveInfinity)
    costs(0) = 0.0
    for (joined <- 0 until all if !costs(joined).isInfinite; i <- 0 until builds if free(i, joined.toLong)) {
      val next = joined | 1 << i
      val sum  = costs(joined) + cost(joined.toLong, i)
      if (sum < costs(next)) { costs(next) = sum; last(next) = i }
    }
    Iterator.iterate(all)(set => set & ~(1 << last(set))).takeWhile(_ != 0).map(last(_)).toVector.reverse
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
}
