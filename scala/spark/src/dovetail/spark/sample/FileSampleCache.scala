package org.apache.spark.sql.dovetail.sample

import java.util.{LinkedHashMap => LinkedMap}

import org.apache.spark.sql.dovetail.footers.{FileKey, RowGroups}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.types.StructType

/**
 * Rows that have been read from files in this JVM, by these files' versions; the least recently used go first. Files and columns that could not be read are
 * remembered too: they are not tried again.
 */
object FileSampleCache {
  type Key = Vector[FileKey]

  /** @param asked columns that were to be read; the sample has those that could be */
  final private case class Entry(asked: StructType, sample: Option[TableSample]) {
    val values: Long = 1L + sample.fold(0L)(s => s.rows.length.toLong * s.schema.size)
  }

  private val entries = new LinkedMap[Key, Entry](64, 0.75f, true)
  private var weight  = 0L

  def key(groups: RowGroups): Key = groups.files.map(f => FileKey(f._1))

  /** None where these columns have not been asked for yet; else the sample, if there is one. */
  def get(key: Key, schema: StructType): Option[Option[TableSample]] =
    synchronized(Option(entries.get(key))).filter(e => schema.forall(e.asked.contains)).map(_.sample)

  /** Columns asked for so far, and the sample with those of them that could be read. */
  def known(key: Key): (StructType, Option[TableSample]) =
    synchronized(Option(entries.get(key))).fold((new StructType, Option.empty[TableSample]))(e => (e.asked, e.sample))

  def put(key: Key, asked: StructType, sample: Option[TableSample]): Unit = synchronized {
    val entry = Entry(asked, sample)
    Option(entries.put(key, entry)).foreach(weight -= _.values)
    weight += entry.values
    val oldest = entries.entrySet.iterator
    while (weight > MostValues && entries.size > 1) { weight -= oldest.next().getValue.values; oldest.remove() }
  }

  def remove(key: Key): Unit = synchronized(Option(entries.remove(key)).foreach(weight -= _.values))

  def clear(): Unit = synchronized { entries.clear(); weight = 0L }

  /** Values that are kept: at 20 to 60 bytes each, 100 megabytes of the driver's memory at most. 100 samples of 20,000 values of one column. */
  private val MostValues = 2000000L
}
