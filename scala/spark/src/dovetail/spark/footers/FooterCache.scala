package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.base.{BoundedCache, HeapLimit}

/** A version of a file: a write changes its length or its modification time. */
final case class FileKey(path: String, length: Long, modified: Long)

object FileKey {
  def apply(file: FileStatus): FileKey = FileKey(file.getPath.toString, file.getLen, file.getModificationTime)
}

/**
 * A file of a table, for one run of the rule. The cache is not asked again once it has an entry.
 *
 * @param values values of the partition columns
 */
final class CachedFile(val status: FileStatus, val values: InternalRow) {
  val key: FileKey = FileKey(status)

  private var known = Option.empty[FooterEntry]

  /** What is known about the file. Only the thread that plans may ask. */
  def entry: Option[FooterEntry] = {
    if (known.isEmpty) known = FooterCache.get(key)
    known
  }
}

/**
 * Footers that this JVM has read. The cache also remembers files that cannot be read, so that they are not tried again,
 * or only after a while if the fault may pass.
 */
object FooterCache {

  /** Largest number of bytes in the cache: room for 4,000 files of 25 columns. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 16L)

  /** Bytes of a column of numbers of a file with one row group. Texts and more row groups take some times as much. */
  private val BytesPerColumn = 670L

  /** Number of columns of files for which the cache has room. */
  private[footers] val MaxColumns: Int = (MostBytes / BytesPerColumn).toInt

  private val entries = new BoundedCache[FileKey, FooterEntry]("footers", MostBytes)(_.bytes)

  def get(key: FileKey): Option[FooterEntry] = entries.get(key).filterNot(_.isOver)

  def put(key: FileKey, entry: FooterEntry): Unit = entries.put(key, entry)

  def clear(): Unit = entries.clear()
}
