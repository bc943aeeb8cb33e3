package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.dovetail.base.{BoundedCache, HeapLimit}
import org.apache.spark.sql.dovetail.deadline.Retry
import org.apache.spark.sql.dovetail.footers.{ColumnMatching, RowGroups}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType

/**
 * Cache of the rows that this JVM has read from files, by the versions of the files. Files and columns that could not
 * be read are remembered too, so that they are not tried again, or only after a while if the fault may pass.
 */
object FileSampleCache {

  /**
   * @param settings settings of the session that change how Spark reads values
   * @param options  options of the relation
   * @param special  columns of the table that are not found by their name alone, or that have defaults; all columns if
   *                 Spark may find them by their position
   */
  final case class Key(
      files: FileVersions,
      settings: Map[String, String],
      options: Map[String, String],
      special: StructType
  ) {
    def bytes: Long = KeyBytes(settings) + KeyBytes(options) + KeyBytes(special)
  }

  /**
   * @param asked columns that were requested; the sample has those that could be read
   * @param until when to read the files again, if they could not be read ([[Retry]])
   */
  final private class CachedSample(
      key: Key,
      val asked: StructType,
      val sample: Option[TableSample],
      val until: Option[Long]
  ) {
    val bytes: Long =
      Overhead + key.bytes + KeyBytes(asked) + sample.fold(0L)(s => s.rows.bytes + s.counts.values.map(_.bytes).sum)
  }

  /** Largest number of bytes in the cache: some 80 tables with 20,000 rows of four columns. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 20L)

  /** Bytes of an entry without its key and its rows. */
  private val Overhead = 512L

  private val entries = new BoundedCache[Key, CachedSample]("rows of files", MostBytes)(_.bytes)

  def key(relation: HadoopFsRelation, groups: RowGroups, settings: ReaderSettings): Key = Key(
    FileVersions(groups.files.map(_._1)),
    settings(relation.sparkSession.sessionState.conf),
    relation.options,
    if (ColumnMatching.isByName(relation)) StructType(relation.dataSchema.filter(ColumnMatching.isSpecial))
    else relation.dataSchema
  )

  /**
   * None if some of these columns have not been requested yet; otherwise the sample, or Some(None) if the files could
   * not be read.
   */
  def get(key: Key, schema: StructType): Option[Option[TableSample]] =
    entry(key).filter(e => schema.forall(e.asked.contains)).map(_.sample)

  /** The columns requested so far, and the sample with those of them that could be read. */
  def known(key: Key): (StructType, Option[TableSample]) =
    entry(key).fold((new StructType, Option.empty[TableSample]))(e => (e.asked, e.sample))

  private def entry(key: Key): Option[CachedSample] = entries.get(key).filterNot(e => Retry.isDue(e.until))

  /** @param until when to read the files again, if they could not be read ([[Retry]]) */
  def put(key: Key, asked: StructType, sample: Option[TableSample], until: Option[Long] = None): Unit =
    entries.put(key, new CachedSample(key, asked, sample, until))

  def remove(key: Key): Unit = entries.remove(key)

  def clear(): Unit = entries.clear()
}
