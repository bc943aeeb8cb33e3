package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.footers.{ColumnMatching, FileKey, RowGroups}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType

/**
 * Rows that have been read from files in this JVM, by these files' versions. Files and columns that could not be read
 * are remembered too: they are not tried again.
 */
object FileSampleCache {

  /**
   * @param settings of the session, and options of the relation, by which values are read
   * @param special  columns of the table that are not found by their name alone, or have defaults
   */
  final case class Key(
      files: Vector[FileKey],
      settings: Map[String, String],
      options: Map[String, String],
      special: StructType
  )

  /** @param asked columns that were to be read; the sample has those that could be */
  final private case class CachedSample(asked: StructType, sample: Option[TableSample]) {
    val bytes: Long = Overhead + sample.fold(0L)(s => s.rows.bytes + s.counts.values.map(_.bytes).sum)
  }

  /** One in so many bytes of the heap. */
  private val PartOfHeap = 20L

  /**
   * Bytes that are kept: of some 80 tables with 20,000 rows of four columns, and no more than a part of a small driver's
   * memory.
   */
  private val MostBytes = math.min(64L * 1024 * 1024, Runtime.getRuntime.maxMemory / PartOfHeap)

  /** Bytes of an entry without its rows. */
  private val Overhead = 512L

  private val entries = new BoundedCache[Key, CachedSample]("rows of files", MostBytes)(_.bytes)

  def key(relation: HadoopFsRelation, groups: RowGroups): Key = Key(
    groups.files.map(f => FileKey(f._1)),
    ReaderSettings(relation.sparkSession.sessionState.conf),
    relation.options,
    StructType(relation.dataSchema.filter(ColumnMatching.isSpecial))
  )

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
