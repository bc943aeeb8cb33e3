package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.footers.{FileKey, RowGroups}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.types.StructType

/**
 * Rows that have been read from files in this JVM, by these files' versions. Files and columns that could not be read
 * are remembered too: they are not tried again.
 */
object FileSampleCache {
  type Key = Vector[FileKey]

  /** @param asked columns that were to be read; the sample has those that could be */
  final private case class CachedSample(asked: StructType, sample: Option[TableSample]) {
    val values: Long = 1L + sample.fold(0L)(s => s.rows.length.toLong * s.schema.size)
  }

  /**
   * Values that are kept: at 20 to 60 bytes each, 100 megabytes of the driver's memory at most. 100 samples of 20,000
   * values of one column.
   */
  private val MostValues = 2000000L

  private val entries = new BoundedCache[Key, CachedSample]("rows of files", MostValues)(_.values)

  def key(groups: RowGroups): Key = groups.files.map(f => FileKey(f._1))

  /** None where these columns have not been asked for yet; else the sample, if there is one. */
  def get(key: Key, schema: StructType): Option[Option[TableSample]] =
    entries.get(key).filter(e => schema.forall(e.asked.contains)).map(_.sample)

  /** Columns asked for so far, and the sample with those of them that could be read. */
  def known(key: Key): (StructType, Option[TableSample]) =
    entries.get(key).fold((new StructType, Option.empty[TableSample]))(e => (e.asked, e.sample))

  def put(key: Key, asked: StructType, sample: Option[TableSample]): Unit =
    entries.put(key, CachedSample(asked, sample))

  def remove(key: Key): Unit = entries.remove(key)

  def clear(): Unit = entries.clear()
}
