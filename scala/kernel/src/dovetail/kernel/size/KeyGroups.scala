package dovetail.kernel.size

import dovetail.kernel.profile.{KeyColumn, KeyFigures, RelationSample}
import dovetail.kernel.size.KeyGroups._

/**
 * The rows of one sample, grouped by the key of one class or by the composite key of several classes. Group numbers
 * replace values, so that joins of samples are loops over arrays. The groups are those of the whole sample. A group
 * without kept rows is empty.
 *
 * @param classes classes that form the key, ascending
 */
final private[size] class KeyGroups(sample: RelationSample, classes: Array[Int]) {
  private val column = columnOf(sample, classes)
  private val rows   = sample.kept.toArray

  /** Number of groups, including empty ones. */
  val numbers: Int = column.keys.length

  /** Rows that the predicates keep. */
  val kept: Counts = Counts(column, rows, 0, numbers)

  // whether the keys lie on a line, so that other keys may be outside their range
  private val onLine = classes.length == 1 && sample.ordered(classes(0)) && kept.filled > 0

  /** The range of the keys of kept rows, if they lie on a line. */
  def line: Option[(Long, Long)] = if (onLine) Some((column.keys(kept.first), column.keys(kept.last))) else None

  /**
   * Rows that were drawn, whether the predicates keep them or not. Keys outside the range of the kept keys do not
   * count, because the predicates are about the key itself then. The kept rows alone count if the keys of the others
   * are not known, or if the sample is the whole table, because there is nothing to expect then.
   */
  lazy val drawn: Counts =
    if (sample.complete || classes.exists(sample.keptOnly)) kept
    else if (onLine) Counts(column, sample.drawn.toArray, kept.first, kept.last + 1)
    else Counts(column, sample.drawn.toArray, 0, numbers)

  /** The group of a kept row, or [[Null]] if the row has no partner. */
  def ofRow(row: Int): Int = { val g = column.codes(rows(row)); if (g == KeyColumn.Null) Null else g }

  /**
   * For each kept row of another sample, the group with its key, which may be a group of drawn rows that the predicates
   * drop. If there is none: [[Outside]] for a key outside the range of the keys, or a number from [[Unseen]] downwards,
   * whose [[gapOf]] is the place where the key belongs.
   */
  def find(other: RelationSample): Array[Int] = {
    val theirs = columnOf(other, classes)
    val places = sample.memo.places(theirs, column)
    val others = other.kept.toArray
    val sizes  = drawn.sizes
    val groups = new Array[Int](others.length)
    var i      = 0
    while (i < groups.length) {
      val code = theirs.codes(others(i))
      groups(i) = if (code == KeyColumn.Null) Null else groupAt(places(code), sizes)
      i += 1
    }
    groups
  }

  private def groupAt(place: Int, sizes: Array[Int]): Int =
    if (place >= 0) {
      if (sizes(place) > 0) place
      else if (onLine && (place < kept.first || place > kept.last)) Outside
      else Unseen - place
    } else {
      val less = -place - 1
      if (onLine && (less <= kept.first || less > kept.last)) Outside else Unseen - less
    }

  /** The keys in runs of neighbors with at least [[KeyRuns.LeastRows]] kept rows each, if they lie on a line. */
  lazy val runs: Option[KeyRuns] = if (onLine) KeyRuns(kept.sizes) else None
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
   * Number of rows per group, and figures derived from it.
   *
   * @param sizes   number of rows of each group
   * @param filled  number of groups that are not empty
   * @param rows    number of rows in groups
   * @param squares sum of the squares of the sizes
   * @param largest rows of the largest group
   * @param first   smallest group that is not empty, -1 if there is none
   * @param last    largest group that is not empty, -1 if there is none
   */
  final class Counts(
      val sizes: Array[Int],
      val filled: Int,
      val rows: Double,
      val squares: Double,
      val largest: Double,
      val first: Int,
      val last: Int
  ) {
    def figures: KeyFigures = KeyFigures(largest, filled, rows)
  }

  private object Counts {

    /**
     * Counts rows in the groups from `from` up to, but not including, `until`. It is a single loop over local
     * variables, because planning runs it very often.
     */
    def apply(column: KeyColumn, of: Array[Int], from: Int, until: Int): Counts = {
      val codes              = column.codes
      val sizes              = new Array[Int](column.keys.length)
      var i, filled, largest = 0
      var rows, squares      = 0L
      var (first, last)      = (Int.MaxValue, -1)
      while (i < of.length) {
        val g = codes(of(i))
        if (g >= from && g < until) {
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

  def columnOf(sample: RelationSample, classes: Array[Int]): KeyColumn =
    if (classes.length == 1) sample.keys(classes(0)) else sample.memo.together(classes.toVector.map(sample.keys))
}
