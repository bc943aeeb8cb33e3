package org.apache.spark.sql.dovetail.footers

import java.util.{LinkedHashMap => LinkedMap}

import org.apache.hadoop.fs.FileStatus

/** A version of a file: writing to it changes its length or its time. */
final case class FileKey(path: String, length: Long, modified: Long)

object FileKey {
  def apply(file: FileStatus): FileKey = FileKey(file.getPath.toString, file.getLen, file.getModificationTime)
}

/** Footers that have been read in this JVM, the least recently used go first. Files that cannot be read are remembered too: they are not tried again. */
object FooterCache {
  private val entries = new LinkedMap[FileKey, FooterEntry](1024, 0.75f, true)
  private var weight  = 0L

  def get(key: FileKey): Option[FooterEntry] = synchronized(Option(entries.get(key)))

  def put(key: FileKey, entry: FooterEntry): Unit = synchronized {
    Option(entries.put(key, entry)).foreach(weight -= FooterCache.weightOf(_))
    weight += weightOf(entry)
    val oldest = entries.entrySet.iterator
    while (weight > MaxColumns && oldest.hasNext) {
      weight -= weightOf(oldest.next().getValue)
      oldest.remove()
    }
  }

  def clear(): Unit = synchronized { entries.clear(); weight = 0L }

  private def weightOf(entry: FooterEntry): Long = 1L + entry.footer.fold(0L)(_.columns.size.toLong)

  /** Columns of files that are kept: at about half a kilobyte each, 50 megabytes of the driver at most. 4,000 files of 25 columns. */
  private[footers] val MaxColumns = 100000
}
