package dovetail.kernel.size

import dovetail.kernel.profile.{KeyColumn, RelationSample}
import dovetail.kernel.size.KeyGroups._

/**
 * The kept rows of one sample, grouped by the key of one class or by the composite key of several classes. Group
 * numbers replace values, so that joins of samples are loops over arrays. The groups are those of the whole sample. A
 * group without kept rows is empty.
 *
 * @param classes classes that form the key, ascending
 */
final private[size] class KeyGroups(sample: RelationSample, classes: Array[Int]) {
  private val column = columnOf(sample, classes)
  private val kept   = sample.kept.toArray

  /** Number of groups, including empty ones. */
  val numbers: Int = column.keys.length

  private val counts = Counts(column, kept)
  import counts.{first, last, sizes}

  /** Number of groups that are not empty. */
  def count: Int = counts.filled

  /** Number of kept rows that belong to a group. */
  def drawn: Double = counts.rows

  /** Sum of the squares of the group sizes. */
  def squares: Double = counts.squares

  /** Rows of the largest group. */
  def largest: Double = counts.largest

  // whether the keys lie on a line, so that other keys may be outside their range
  private val onLine = classes.length == 1 && sample.ordered(classes(0)) && count > 0

  /** The range of the keys, if they lie on a line. */
  def line: Option[(Long, Long)] = if (onLine) Some((column.keys(first), column.keys(last))) else None

  /** The group of a kept row, or [[Null]] if the row has no partner. */
  def ofRow(row: Int): Int = { val g = column.codes(kept(row)); if (g == KeyColumn.Null) Null else g }

  /**
   * For each kept row of another sample, the group with its key. If there is none: [[Outside]] for a key outside the
   * range of the keys, or a number from [[Unseen]] downwards, whose [[gapOf]] is the place where the key belongs.
   */
  def find(other: RelationSample): Array[Int] = {
    val theirs = columnOf(other, classes)
    val places = sample.memo.places(theirs, column)
    val rows   = other.kept.toArray
    val groups = new Array[Int](rows.length)
    var i      = 0
    while (i < groups.length) {
      val code = theirs.codes(rows(i))
      groups(i) = if (code == KeyColumn.Null) Null else groupAt(places(code))
      i += 1
    }
    groups
  }

  private def groupAt(place: Int): Int =
    if (place >= 0) {
      if (sizes(place) > 0) place else if (onLine && (place < first || place > last)) Outside else Unseen - place
    } else {
      val less = -place - 1
      if (onLine && (less <= first || less > last)) Outside else Unseen - less
    }

  /** The keys in runs of neighbors with at least [[KeyRuns.Rows]] kept rows each, if they lie on a line. */
  lazy val runs: Option[KeyRuns] = if (onLine) KeyRuns(sizes) else None
}

private[size] object KeyGroups {
  val Null    = -1
  val Outside = -2
  val Unseen  = -3

  /**
   * The first group whose key is greater than a missing key, which is given by its number from [[Unseen]] downwards.
   */
  def gapOf(number: Int): Int = Unseen - number

  /**
   * Number of kept rows per group, and figures derived from it.
   *
   * @param filled  number of groups that are not empty
   * @param rows    number of rows in groups
   * @param squares sum of the squares of the sizes
   * @param first   smallest group that is not empty, -1 if there is none
   * @param last    largest group that is not empty, -1 if there is none
   */
  final private class Counts(
      val sizes: Array[Int],
      val filled: Int,
      val rows: Double,
      val squares: Double,
      val largest: Double,
      val first: Int,
      val last: Int
  )

  private object Counts {

    /** A single loop over local variables, because planning runs it very often. */
    def apply(column: KeyColumn, kept: Array[Int]): Counts = {
      val codes              = column.codes
      val sizes              = new Array[Int](column.keys.length)
      var i, filled, largest = 0
      var rows, squares      = 0L
      var (first, last)      = (Int.MaxValue, -1)
      while (i < kept.length) {
        val g = codes(kept(i))
        if (g >= 0) {
          val n = sizes(g) + 1
          sizes(g) = n
          if (n == 1) filled += 1
          if (n > largest) largest = n
          if (g < first) first = g
          if (g > last) last = g
          rows += 1L
          squares += 2L * n - 1L
        }
        i += 1
      }
      new Counts(sizes, filled, rows.toDouble, squares.toDouble, largest.toDouble, if (last < 0) -1 else first, last)
    }
  }

  private def columnOf(sample: RelationSample, classes: Array[Int]): KeyColumn =
    if (classes.length == 1) sample.keys(classes(0)) else sample.memo.together(classes.toVector.map(sample.keys))
}
