package org.apache.spark.sql.dovetail.sample

import scala.util.control.NoStackTrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.base.HeapLimit
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.types.StructField

/**
 * The rows of a table of Parquet or ORC files that a condition keeps, if they are few: their join keys and the columns
 * of the condition. They are read from all files ([[FilteredRead]]), because a sample of the table has none or few of
 * them. The rows are cached.
 */
final class PassingRows(read: FilteredRead) extends RememberedRead[TableSample](read, PassingRows.passing) {
  import PassingRows._

  override protected def doing: String = "reading rows of"

  override protected def fits: Boolean = super.fits && read.tableRows <= MostRead

  /**
   * All rows that pass, as a complete sample; None if the read is not done in time, if the condition fails on a row, or
   * if the rows are many or wide.
   */
  def rows: Option[TableSample] = result

  override protected def made(each: (InternalRow => Unit) => Unit): Option[TableSample] = {
    val rows = new SampledRows.Builder(read.columns, MostBytes)
    var n    = 0L
    try {
      each { row => if (n == MostKept) throw TooMany; rows.add(row); n += 1L }
      Some(TableSample(read.columns, rows.result, n))
    } catch { case TooMany | SampledRows.TooWide => None }
  }
}

object PassingRows {

  /** Whether rows can be tested with a condition. */
  def tests(condition: Expression): Boolean = FilteredRead.evaluates(condition)

  /** Removes the rows of these files with a column that passes the test. */
  def forget(files: FileSampleCache.Key, column: StructField => Boolean): Unit =
    passing.removeIf(k => k.files == files && k.columns.exists(column))

  /** Thrown if more rows pass than are kept. */
  private object TooMany extends RuntimeException("more rows pass than are kept") with NoStackTrace

  /** Largest number of bytes in the cache: a few thousand inputs with a few hundred rows. */
  private val Remembered = HeapLimit(32L * 1024 * 1024, part = 40L)

  private val passing = new RememberedRead.Results[TableSample]("rows that pass filters", Remembered)(_.rows.bytes)

  /** Largest number of rows of a table that is read: about 0.1 s for a short condition. */
  val MostRead = 2000000L

  /** Largest number of rows that are kept, as many as a sample has. */
  val MostKept = 20000L

  /** Largest number of bytes of the kept rows: about 200 per row. */
  private val MostBytes = HeapLimit(4L * 1024 * 1024, part = 128L)
}
