package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.deadline.Retry

/**
 * What is made of the rows of a [[FilteredRead]]: their number ([[RowCount]]), or the rows ([[PassingRows]]). It is
 * remembered, and so is that there is nothing, because the rows are too many, or the condition or the read has failed.
 * A fault of the file system is remembered for a while only ([[Retry]]).
 */
abstract class RememberedRead[A](read: FilteredRead, results: RememberedRead.Results[A]) {

  /** What is done with the rows, for people. */
  protected def doing: String

  /**
   * Makes the result.
   *
   * @param each passes all rows to a function; the row object is reused
   * @return None if there is none for these rows, which is remembered, too
   */
  protected def made(each: (InternalRow => Unit) => Unit): Option[A]

  /** Identifies the rows that are read. */
  def key: FilteredRead.Key = read.key

  private def known: Option[Option[A]] = results.of(read.key)

  /** Whether the result is in memory. */
  def isKnown: Boolean = known.exists(_.isDefined)

  /** Estimated nanoseconds that the read takes; 0 if the result is in memory. */
  lazy val nanos: Double = if (isKnown) 0.0 else read.nanos

  /** Whether the memory and the time that is left for reading allow the read, and it has not failed before. */
  def isPossible: Boolean = known.fold(fits)(_.isDefined)

  protected def fits: Boolean = read.isPossible

  /** The result; None if the read is not done in time, or if there is none. */
  protected def result: Option[A] = known.getOrElse {
    val found = read(doing)(made)
    found.foreach {
      case Right(result) => results.remember(read.key, result)
      case Left(e)       => results.remember(read.key, None, Retry.after(e))
    }
    found.flatMap(_.toOption).flatten
  }
}

object RememberedRead {

  /**
   * Results by what was read.
   *
   * @param most    largest number of bytes of results with their keys
   * @param bytesOf bytes of a result without its key
   */
  final class Results[A](name: String, most: Long)(bytesOf: A => Long) {

    final private class Entry(val result: Option[A], val until: Option[Long], val bytes: Long)

    private val entries = new BoundedCache[FilteredRead.Key, Entry](name, most)(_.bytes)

    private[RememberedRead] def of(key: FilteredRead.Key): Option[Option[A]] =
      entries.get(key).filterNot(e => Retry.isDue(e.until)).map(_.result)

    /** @param until when to read again ([[Retry]]) */
    private[RememberedRead] def remember(key: FilteredRead.Key, result: Option[A], until: Option[Long] = None): Unit =
      entries.put(key, new Entry(result, until, key.bytes + result.fold(0L)(bytesOf)))

    def removeIf(test: FilteredRead.Key => Boolean): Unit = entries.removeIf(test)
  }
}
