package dovetail.kernel.profile

import java.util.Arrays
import java.util.concurrent.atomic.AtomicLong

/**
 * A column of a table's sample as join keys, each distinct key by its number: what joins of samples need of it is then
 * loops over arrays, and is made once for all queries that read the column, whatever rows they keep.
 *
 * @param keys  the distinct ones, ascending, without [[RelationSample.NullKey]]
 * @param codes per row of the sample the number of its key, or [[KeyColumn.Null]]
 */
final class KeyColumn private (val keys: Array[Long], val codes: Array[Int]) {

  /** Tells columns apart where results are kept. */
  val id: Long = KeyColumn.ids.getAndIncrement()

  /** Bytes of memory. */
  def bytes: Long = keys.length.toLong * java.lang.Long.BYTES + codes.length.toLong * Integer.BYTES

  /** Per key of `other` its number here; where there is none, `-n - 1` for the number n of keys here that are less. */
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

  /** The row has no partner. */
  val Null = -1

  private val ids = new AtomicLong

  /** @param values one key per row */
  def apply(values: Array[Long]): KeyColumn = {
    val sorted = values.clone()
    Arrays.sort(sorted)
    var n = 0
    var i = 0
    while (i < sorted.length) {
      if (sorted(i) != RelationSample.NullKey && (n == 0 || sorted(n - 1) != sorted(i))) {
        sorted(n) = sorted(i); n += 1
      }
      i += 1
    }
    val keys = Arrays.copyOf(sorted, n)
    new KeyColumn(keys, values.map(v => if (v == RelationSample.NullKey) Null else Arrays.binarySearch(keys, v)))
  }

  /** The key that several columns of one sample make together. */
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

/** Where what is worked out of [[KeyColumn]]s is kept for the next query. Results must not be changed. */
trait KeyMemo {

  /** [[KeyColumn.placesOf]] */
  def places(of: KeyColumn, in: KeyColumn): Array[Int]

  /** [[KeyColumn.together]] */
  def together(columns: Vector[KeyColumn]): KeyColumn

  /** What was counted for a group of joins, or `made` for a new one. */
  def counts(of: SetCounts.Group, made: => SetCounts): SetCounts
}

object KeyMemo {

  /** Keeps nothing. */
  val none: KeyMemo = new KeyMemo {
    override def places(of: KeyColumn, in: KeyColumn): Array[Int] = in.placesOf(of)

    override def together(columns: Vector[KeyColumn]): KeyColumn = KeyColumn.together(columns)

    override def counts(of: SetCounts.Group, made: => SetCounts): SetCounts = made
  }
}
