package dovetail.kernel.profile

import java.util.Arrays

/**
 * A column of a table's sample as join keys. Each distinct key is represented by its number, so that joins of samples
 * are loops over arrays. A column is built once for all queries that read it, whichever rows they keep.
 *
 * @param keys  distinct keys, ascending, without [[RelationSample.NullKey]]
 * @param codes number of the key of each sample row, or [[KeyColumn.Null]]
 */
final class KeyColumn private (val keys: Array[Long], val codes: Array[Int]) {

  /**
   * Identifies the column in caches of results. It is a hash of the contents, so that the results still serve after the
   * column left its own cache and was built again. Two columns with the same one of 2^64^ hashes are too rare to
   * matter.
   */
  val id: Long = KeyColumn.hash(keys, codes)

  /** Bytes of memory. */
  def bytes: Long = keys.length.toLong * java.lang.Long.BYTES + codes.length.toLong * Integer.BYTES

  /**
   * For each key of `other`, its number in this column. For a key that is missing here, `-n - 1`, where n is the number
   * of smaller keys in this column.
   */
  def placesOf(other: KeyColumn): Array[Int] = {
    val places = new Array[Int](other.keys.length)
    var here   = 0
    var i      = 0
    while (i < places.length) {
      val key = other.keys(i)
      while (here < keys.length && keys(here) < key) here += 1
      places(i) = if (here < keys.length && keys(here) == key) here else -here - 1
      i += 1
    }
    places
  }
}

object KeyColumn {

  /** Code of a row that has no partner ([[RelationSample.NullKey]]). */
  val Null = -1

  private def hash(keys: Array[Long], codes: Array[Int]): Long = {
    var hash = keys.length.toLong
    var i    = 0
    while (i < keys.length) { hash = RelationSample.together(hash, keys(i)); i += 1 }
    i = 0
    while (i < codes.length) { hash = RelationSample.together(hash, codes(i).toLong); i += 1 }
    hash
  }

  /** @param values one key per row */
  def apply(values: Array[Long]): KeyColumn = {
    var (low, high) = (Long.MaxValue, Long.MinValue)
    var i           = 0
    while (i < values.length) {
      val v = values(i)
      if (v != RelationSample.NullKey) { if (v < low) low = v; if (v > high) high = v }
      i += 1
    }
    // a difference beyond 2^63 is negative
    val last = high - low
    if (low > high) new KeyColumn(Array.emptyLongArray, Array.fill(values.length)(Null))
    else if (last >= 0L && last < MostPlacesPerRow * values.length) ofPlaces(values, low, last.toInt + 1)
    else sorted(values)
  }

  /** Numbers the keys by a table with a place for each whole number of their range: ids and dates are often dense. */
  private def ofPlaces(values: Array[Long], low: Long, size: Int): KeyColumn = {
    val numbers = new Array[Int](size)
    var n       = 0
    var i       = 0
    while (i < values.length) {
      if (values(i) != RelationSample.NullKey) {
        val place = (values(i) - low).toInt
        if (numbers(place) == 0) { numbers(place) = 1; n += 1 }
      }
      i += 1
    }
    val keys = new Array[Long](n)
    n = 0
    i = 0
    while (i < size) { if (numbers(i) == 1) { keys(n) = low + i; numbers(i) = n; n += 1 }; i += 1 }
    val codes = new Array[Int](values.length)
    i = 0
    while (i < values.length) {
      codes(i) = if (values(i) == RelationSample.NullKey) Null else numbers((values(i) - low).toInt)
      i += 1
    }
    new KeyColumn(keys, codes)
  }

  private def sorted(values: Array[Long]): KeyColumn = {
    val found = Runs(values).values
    // the smallest number is the key of NULL
    val keys = if (found.headOption.contains(RelationSample.NullKey)) found.drop(1) else found
    new KeyColumn(keys, values.map(v => if (v == RelationSample.NullKey) Null else Arrays.binarySearch(keys, v)))
  }

  /** Places of a table per row: 4 bytes each, so that a table takes as much as four copies of the keys. */
  private val MostPlacesPerRow = 8L

  /** The composite key of several columns of one sample. */
  def together(columns: Vector[KeyColumn]): KeyColumn = {
    val parts = columns.toArray
    apply(Array.tabulate(parts.head.codes.length) { row =>
      var key = 0L
      var i   = 0
      while (i < parts.length && key != RelationSample.NullKey) {
        val code = parts(i).codes(row)
        key =
          if (code == Null) RelationSample.NullKey else RelationSample.together(key, parts(i).keys(code))
        i += 1
      }
      key
    })
  }
}

/** A cache for results on [[KeyColumn]]s, shared by queries. Callers must not change the results. */
trait KeyMemo {

  /** [[KeyColumn.placesOf]] */
  def places(of: KeyColumn, in: KeyColumn): Array[Int]

  /** [[KeyColumn.together]] */
  def together(columns: Vector[KeyColumn]): KeyColumn

  /** The figures on these rows of a sample by a column's keys, or `made` if they are new. */
  def figures(column: KeyColumn, rows: RowNumbers, made: => KeyFigures): KeyFigures

  /** The counts kept for a group of joins, or `made` if the group is new. */
  def counts(of: SetCounts.Group, made: => SetCounts): SetCounts
}

object KeyMemo {

  /** A cache that keeps nothing. */
  val none: KeyMemo = new KeyMemo {
    override def places(of: KeyColumn, in: KeyColumn): Array[Int] = in.placesOf(of)

    override def together(columns: Vector[KeyColumn]): KeyColumn = KeyColumn.together(columns)

    override def figures(column: KeyColumn, rows: RowNumbers, made: => KeyFigures): KeyFigures = made

    override def counts(of: SetCounts.Group, made: => SetCounts): SetCounts = made
  }
}
