package dovetail.kernel.profile

import java.util.Arrays

/**
 * The distinct numbers of an array in ascending order, and how often each occurs. Loops over sorted arrays are several
 * times as fast as a hash map with boxed counts, and planning counts the values of samples very often.
 *
 * @param values the distinct numbers, ascending
 * @param counts number of occurrences of each
 */
final class Runs private (val values: Array[Long], val counts: Array[Int]) {

  /** Number of distinct numbers. */
  def number: Int = values.length

  /** Number of numbers. */
  def total: Int = { var (n, i) = (0, 0); while (i < counts.length) { n += counts(i); i += 1 }; n }

  /** Number of distinct numbers that occur `times` times. */
  def of(times: Int): Int = {
    var (n, i) = (0, 0)
    while (i < counts.length) { if (counts(i) == times) n += 1; i += 1 }
    n
  }
}

object Runs {

  /** @param numbers in any order; they stay as they are */
  def apply(numbers: Array[Long]): Runs = {
    val sorted = numbers.clone()
    Arrays.sort(sorted)
    val values = new Array[Long](sorted.length)
    val counts = new Array[Int](sorted.length)
    var last   = -1
    var i      = 0
    while (i < sorted.length) {
      if (last < 0 || values(last) != sorted(i)) { last += 1; values(last) = sorted(i) }
      counts(last) += 1
      i += 1
    }
    new Runs(Arrays.copyOf(values, last + 1), Arrays.copyOf(counts, last + 1))
  }
}
