package org.apache.spark.sql.dovetail.sample

import scala.util.control.NoStackTrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.dovetail.base.{BoundedCache, HeapLimit}
import org.apache.spark.sql.dovetail.footers.RowGroups
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructField

/**
 * The rows of a table of Parquet or ORC files that a condition keeps, if they are few: their join keys and the columns
 * of the condition. They are read from all files ([[FilteredRead]]), because a sample of the table has none or few of
 * them. The rows are cached.
 */
final class PassingRows private (read: FilteredRead) {
  import PassingRows._

  private def known: Option[CachedRows] = passing.get(read.key)

  /** Whether the rows are in memory. */
  def isKnown: Boolean = known.exists(_.rows.isDefined)

  /** Estimated nanoseconds that the read takes; 0 if the rows are in memory. */
  lazy val nanos: Double = if (isKnown) 0.0 else read.nanos

  /** Whether the memory and the time that is left for reading allow the read, and it has not failed before. */
  def isPossible: Boolean = known.fold(read.isPossible && read.tableRows <= MostRead)(_.rows.isDefined)

  /**
   * All rows that pass, as a complete sample; None if the read is not done in time, if the condition fails on a row, or
   * if the rows are many or wide.
   */
  def rows: Option[TableSample] = known.map(_.rows).getOrElse {
    val found = read("reading rows of", failed = Option.empty[TableSample])(each => kept(each))
    found.foreach(rows => passing.put(read.key, new CachedRows(read.key, rows)))
    found.flatten
  }

  private def kept(each: (InternalRow => Unit) => Unit): Option[TableSample] = {
    val rows = new SampledRows.Builder(read.columns, MostBytes)
    var n    = 0L
    try {
      each { row => if (n == MostKept) throw TooMany; rows.add(row); n += 1L }
      Some(TableSample(read.columns, rows.result, n))
    } catch { case TooMany | SampledRows.TooWide => None }
  }
}

object PassingRows {

  /**
   * None if the rows cannot be read, with all of their keys, from the files ([[FilteredRead]]).
   *
   * @param files    identifies the files and the way of reading them
   * @param output   columns of the leaf that reads the files
   * @param readable whether a column of the files may be read
   * @param keys     columns of join keys
   * @param others   further columns that are worth keeping
   */
  def apply(
      relation: HadoopFsRelation,
      groups: RowGroups,
      files: => FileSampleCache.Key,
      output: Seq[Attribute],
      condition: Expression,
      readable: StructField => Boolean,
      keys: AttributeSet,
      others: AttributeSet
  ): Option[PassingRows] =
    FilteredRead(relation, groups, files, output, condition, readable, keys, others).map(new PassingRows(_))

  /** Whether rows can be tested with a condition. */
  def tests(condition: Expression): Boolean = FilteredRead.evaluates(condition)

  /** Removes the rows of these files with a column that passes the test. */
  def forget(files: FileSampleCache.Key, column: StructField => Boolean): Unit =
    passing.removeIf(k => k.files == files && k.columns.exists(column))

  /** Thrown if more rows pass than are kept. */
  private object TooMany extends RuntimeException("more rows pass than are kept") with NoStackTrace

  /** @param rows None if there are too many, or if the condition fails on a row */
  final private class CachedRows(key: FilteredRead.Key, val rows: Option[TableSample]) {
    val bytes: Long = key.bytes + rows.fold(0L)(_.rows.bytes)
  }

  /** Largest number of bytes in the cache: some thousand inputs with a few hundred rows. */
  private val Remembered = HeapLimit(32L * 1024 * 1024, part = 40L)

  private val passing = new BoundedCache[FilteredRead.Key, CachedRows]("rows that pass filters", Remembered)(_.bytes)

  /** Largest number of rows of a table that is read: about 0.1 s for a short condition. */
  val MostRead = 2000000L

  /** Largest number of rows that are kept, as many as a sample has. */
  val MostKept = 20000L

  /** Largest number of bytes of the kept rows: about 200 per row. */
  private val MostBytes = HeapLimit(4L * 1024 * 1024, part = 128L)
}
