package dovetail.kernel.enumerate

import java.util.Arrays

/**
 * The best order of the joins of a chain: one input, the probe, is joined with one after the other of the rest, the
 * builds. Left-deep trees with a fixed first relation, so dynamic programming over sets of builds (Selinger et al.
 * 1979) is exact. Beyond [[ChainOrder.MostExact]] builds the next one is that after which the fewest rows are left.
 *
 * It is for joins whose inputs are computed already (adaptive execution): what a build costs is spent, and only the
 * rows between the joins are left to choose.
 *
 * @param builds number of builds, in the order that they have
 * @param needs  of each build the others that have to be joined before it, as bits: they stand before it
 * @param rows   of the probe joined with these builds, as bits
 * @param step   cost of one join, by the rows that go in and come out
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

  /** The order that they have is one of those that are tried, so there is one. */
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

  /** Builds up to which all sets of them are sized: 1,024 sets, some ten milliseconds. */
  val MostExact = 10
}
