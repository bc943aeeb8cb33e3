package dovetail.kernel.profile

import java.util.Arrays

/**
 * Share of a column's values in a range, from a histogram. It gives about what [[Histogram.between]] gives, for the
 * inner loop of the search: by binary search, without objects, and without the least share of a single value.
 *
 * @param ends  ends of the buckets, ascending, none twice
 * @param below share of the values below each end
 * @param upTo  the same, with the values that equal the end, if they fill buckets
 */
final class CumulativeShare private (ends: Array[Double], below: Array[Double], upTo: Array[Double]) {

  /** Share of the values in [low, high], 0 to 1. */
  def between(low: Double, high: Double): Double =
    if (low > high) 0.0 else math.max(0.0, math.min(1.0, at(high, upTo) - at(low, below)))

  private def at(value: Double, ofEnd: Array[Double]): Double = {
    // the sum of -0.0 and 0.0 is 0.0
    val found = Arrays.binarySearch(ends, value + 0.0)
    if (found >= 0) ofEnd(found)
    else {
      val next = -found - 1
      if (next == 0) 0.0
      else if (next == ends.length) 1.0
      else {
        val part = Interval.part(ends(next - 1), value, ends(next - 1), ends(next))
        upTo(next - 1) + part * (below(next) - upTo(next - 1))
      }
    }
  }
}

object CumulativeShare {
  def apply(h: Histogram): CumulativeShare = {
    val all    = h.buckets.iterator.map(_.weight).sum
    val sums   = h.buckets.scanLeft(0.0)((sum, b) => sum + b.weight / all)
    val points = h.buckets.zip(sums.zip(sums.tail)).flatMap { case (b, (before, after)) =>
      Vector(b.low -> before, b.high -> after)
    }
    // the first and the last of the points of each end; equal ends follow each other
    val firsts = points.indices.filter(i => i == 0 || points(i - 1)._1 != points(i)._1)
    val lasts  = firsts.drop(1).map(_ - 1) :+ (points.size - 1)
    new CumulativeShare(
      firsts.map(points(_)._1 + 0.0).toArray,
      firsts.map(points(_)._2).toArray,
      lasts.map(points(_)._2).toArray
    )
  }
}
