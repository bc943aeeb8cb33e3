package org.apache.spark.sql.dovetail.sample

import java.util.{LinkedHashMap => LinkedMap}

import org.apache.spark.sql.dovetail.footers.{FileKey, RowGroups}
import org.apache.spark.sql.dovetail.store.TableSample
import org.apache.spark.sql.types.{StructField, StructType}

/** Rows that have been read from files in this JVM, by these files' versions; the least recently used go first. */
object FileSampleCache {
  type Key = Vector[FileKey]

  private val entries = new LinkedMap[Key, TableSample](64, 0.75f, true)
  private var weight  = 0L

  def key(groups: RowGroups): Key = groups.groups.map(g => FileKey(g._1)).distinct

  /** A sample that has all columns of the schema. */
  def get(key: Key, schema: StructType): Option[TableSample] =
    synchronized(Option(entries.get(key))).filter(s => schema.forall(s.schema.contains))

  /** All columns asked for so far: the same rows are read again, so that a predicate finds its columns together. */
  def completed(key: Key, schemas: Seq[StructType]): StructType = {
    val known = synchronized(Option(entries.get(key))).fold(Seq.empty[StructField])(_.schema)
    StructType((known ++ schemas.flatten).distinct)
  }

  def put(key: Key, sample: TableSample): Unit = synchronized {
    Option(entries.put(key, sample)).foreach(weight -= values(_))
    weight += values(sample)
    val oldest = entries.entrySet.iterator
    while (weight > MostValues && entries.size > 1) { weight -= values(oldest.next().getValue); oldest.remove() }
  }

  def clear(): Unit = synchronized { entries.clear(); weight = 0L }

  private def values(sample: TableSample): Long = sample.rows.length.toLong * sample.schema.size

  /** Values that are kept: at 20 to 60 bytes each, 100 megabytes of the driver's memory at most. 100 samples of 20,000 values of one column. */
  private val MostValues = 2000000L
}
