package org.apache.spark.sql.dovetail.sketch

/**
 * Bounds made of the first bytes of a long value: the prefix itself is a lower bound, and the next larger prefix is an
 * upper bound.
 */
object Prefixes {

  /** UTF-8 text without its last character if only a part of that character is there. */
  def whole(text: Array[Byte]): Array[Byte] = {
    var start = text.length - 1
    while (start > 0 && isContinuation(text(start))) start -= 1
    if (start >= 0 && start + lengthOf(text(start)) > text.length) text.take(start) else text
  }

  /**
   * The smallest value of at most the same length (for text, in characters) that is above all values that begin with
   * `prefix`. None if there is no such value.
   */
  def above(prefix: Array[Byte], text: Boolean): Option[Array[Byte]] =
    if (text) aboveText(whole(prefix)) else aboveBytes(prefix)

  private def aboveBytes(prefix: Array[Byte]): Option[Array[Byte]] = prefix.lastIndexWhere(_ != Last) match {
    case -1 => None
    case i  => Some(prefix.take(i) :+ (prefix(i) + 1).toByte)
  }

  private def aboveText(prefix: Array[Byte]): Option[Array[Byte]] = {
    val points = new String(prefix, "UTF-8").codePoints().toArray
    points.lastIndexWhere(_ < Character.MAX_CODE_POINT) match {
      case -1 => None
      case i  =>
        // surrogates are not characters
        val next =
          if (points(i) + 1 == Character.MIN_SURROGATE.toInt) Character.MAX_SURROGATE.toInt + 1 else points(i) + 1
        Some((new String(points, 0, i) + new String(Character.toChars(next))).getBytes("UTF-8"))
    }
  }

  private def isContinuation(b: Byte): Boolean = (b & 0xc0) == 0x80

  private def lengthOf(first: Byte): Int =
    if ((first & 0x80) == 0) 1
    else if ((first & 0xe0) == 0xc0) 2 else if ((first & 0xf0) == 0xe0) 3 else if ((first & 0xf8) == 0xf0) 4 else 1

  private val Last = 0xff.toByte
}
