package dovetail.kernel.size

import dovetail.kernel.profile.{KeyColumn, RelationSample}
import dovetail.kernel.size.KeyGroups._

/**
 * The kept rows of one sample by the key of one or several classes together: group numbers instead of values, so that
 * joins of samples are loops over arrays. Groups are those of the whole sample; where no row is kept they are empty.
 *
 * @param classes the classes that make the key, ascending
 */
final private[size] class KeyGroups(sample: RelationSample, classes: Array[Int]) {
  private val column = columnOf(sample, classes)
  private val kept   = sample.kept.toArray

  /** Numbers that groups have. */
  val numbers: Int = column.keys.length

  private val counts = Counts(column, kept)
  import counts.{first, last, sizes}

  /** Groups that are not empty. */
  def count: Int = counts.filled

  /** Rows in groups. */
  def drawn: Double = counts.rows

  /** The sum of the squares of the groups' rows. */
  def squares: Double = counts.squares

  /** Rows of the largest group. */
  def largest: Double = counts.largest

  // whether the keys lie on a line, so that others may be beyond their range
  private val onLine = classes.length == 1 && sample.ordered(classes(0)) && count > 0

  /** The range of the keys, where they lie on a line. */
  def line: Option[(Long, Long)] = if (onLine) Some((column.keys(first), column.keys(last))) else None

  /** The group of a kept row, [[Null]] for one that has no partner. */
  def ofRow(row: Int): Int = { val g = column.codes(kept(row)); if (g == KeyColumn.Null) Null else g }

  /**
   * Per kept row of another sample the group with its key. Where there is none: [[Outside]], beyond the range of the
   * keys, or a number from [[Unseen]] downwards, whose [[gapOf]] is where the key belongs.
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

  /** The keys in runs of neighbors, each of [[KeyRuns.Rows]] kept rows or more, where they lie on a line. */
  lazy val runs: Option[KeyRuns] = if (onLine) KeyRuns(sizes) else None
}

private[size] object KeyGroups {
  val Null    = -1
  val Outside = -2
  val Unseen  = -3

  /** The first group whose key is greater than this one's, for a number from [[Unseen]] downwards. */
  def gapOf(number: Int): Int = Unseen - number

  /**
   * Kept rows per group, and what follows of them.
   *
   * @param filled  groups that are not empty
   * @param rows    rows in groups
   * @param squares sum of the squares of the sizes
   * @param first   the least group that is not empty, -1 without one
   * @param last    the greatest
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

    /** One loop over local variables, for it runs as often as anything in planning. */
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
