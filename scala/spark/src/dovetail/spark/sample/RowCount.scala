package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Counts the rows of a table of Parquet or ORC files that a condition keeps. It reads the columns of the condition from
 * all files ([[FilteredRead]]), so it is only for inputs whose size decides between plans. No row is kept. Counts are
 * cached.
 */
final class RowCount(read: FilteredRead) extends RememberedRead[Long](read, RowCount.counts) {
  override protected def doing: String = "counting rows of"

  override protected def made(each: (InternalRow => Unit) => Unit): Option[Long] = {
    var n = 0L
    each(_ => n += 1L)
    Some(n)
  }

  /** The number of rows; None if the count is not done in time, or if the condition fails on a row. */
  def rows: Option[Long] = result
}

object RowCount {

  /** Largest number of bytes of remembered counts: a few thousand counts of tables of a few files. */
  private val Remembered = 4L * 1024 * 1024

  private val counts = new RememberedRead.Results[Long]("counted rows of files", Remembered)(_ => 0L)
}
