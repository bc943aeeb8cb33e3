package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.footers.RowGroups
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructField

/**
 * Counts the rows of a table of Parquet or ORC files that a condition keeps. It reads the columns of the condition from
 * all files ([[FilteredRead]]), so it is only for inputs whose size decides between plans. No row is kept. Counts are
 * cached.
 */
final class RowCount private (read: FilteredRead) {
  import RowCount._

  private def known: Option[CachedCount] = counts.get(read.key)

  /** Estimated nanoseconds that the count takes; 0 if it is known. */
  lazy val nanos: Double = if (known.exists(_.rows.isDefined)) 0.0 else read.nanos

  /** Whether the memory and the time that is left for reading allow the count, and it has not failed before. */
  def isPossible: Boolean = known.fold(read.isPossible)(_.rows.isDefined)

  /** The number of rows; None if the count is not done in time, or if the condition fails on a row. */
  def rows: Option[Long] = known.map(_.rows).getOrElse {
    val found = read("counting rows of", failed = Option.empty[Long]) { each =>
      var n = 0L
      each(_ => n += 1L)
      Some(n)
    }
    found.foreach(n => counts.put(read.key, new CachedCount(read.key, n)))
    found.flatten
  }
}

object RowCount {

  /**
   * None if the rows cannot be counted by reading the files ([[FilteredRead]]).
   *
   * @param files    identifies the files and the way of reading them
   * @param output   columns of the leaf that reads the files
   * @param readable whether a column of the files may be read
   */
  def apply(
      relation: HadoopFsRelation,
      groups: RowGroups,
      files: => FileSampleCache.Key,
      output: Seq[Attribute],
      condition: Expression,
      readable: StructField => Boolean
  ): Option[RowCount] =
    FilteredRead(relation, groups, files, output, condition, readable).map(new RowCount(_))

  /** @param rows None if the condition fails on a row */
  final private class CachedCount(key: FilteredRead.Key, val rows: Option[Long]) {
    val bytes: Long = key.bytes
  }

  /** Largest number of bytes of remembered counts: some thousand counts of tables of a few files. */
  private val Remembered = 4L * 1024 * 1024

  private val counts = new BoundedCache[FilteredRead.Key, CachedCount]("counted rows of files", Remembered)(_.bytes)
}
