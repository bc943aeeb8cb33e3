package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.profile.RelationSample
import dovetail.kernel.size.KeyGroups._

/**
 * The rows of one sample by the key of one or several classes together: group numbers instead of values, so that joins
 * of samples are loops over arrays.
 *
 * @param classes the classes that make the key, ascending
 */
final private[size] class KeyGroups(sample: RelationSample, classes: Array[Int]) {
  private val numbers = new mutable.LongMap[Int](math.max(sample.rows, 16))

  /** Per row its group, [[Null]] for rows that have no partner. */
  val ofRow: Array[Int] = {
    val keys = keysOf(sample, classes)
    keys.map(k =>
      if (k == RelationSample.NullKey) Null else { val next = numbers.size; numbers.getOrElseUpdate(k, next) }
    )
  }
  val count: Int           = numbers.size
  val sizes: Array[Double] = { val s = new Array[Double](count); ofRow.foreach(g => if (g >= 0) s(g) += 1.0); s }

  /** The range of the keys, where they lie on a line. */
  val line: Option[(Long, Long)] =
    if (classes.length == 1 && sample.ordered(classes(0)) && count > 0)
      Some((numbers.keysIterator.min, numbers.keysIterator.max))
    else None

  /**
   * Per row of another sample the group with its key; [[Unseen]] and [[Outside]] (beyond the range of the keys) where
   * there is none.
   */
  def find(other: RelationSample): Array[Int] = keysOf(other, classes).map { k =>
    if (k == RelationSample.NullKey) Null
    else numbers.getOrElse(k, if (line.exists { case (low, high) => k < low || k > high }) Outside else Unseen)
  }
}

private[size] object KeyGroups {
  val Unseen  = -1
  val Outside = -2
  val Null    = -3

  private def keysOf(sample: RelationSample, classes: Array[Int]): Array[Long] =
    if (classes.length == 1) sample.keys(classes(0))
    else {
      val parts = classes.map(sample.keys)
      Array.tabulate(sample.rows) { row =>
        var key = 0L
        var i   = 0
        while (i < parts.length && key != RelationSample.NullKey) {
          key = RelationSample.together(key, parts(i)(row)); i += 1
        }
        key
      }
    }
}
