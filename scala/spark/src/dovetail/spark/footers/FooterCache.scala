package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.dovetail.base.BoundedCache

/** A version of a file: a write changes its length or its modification time. */
final case class FileKey(path: String, length: Long, modified: Long)

object FileKey {
  def apply(file: FileStatus): FileKey = FileKey(file.getPath.toString, file.getLen, file.getModificationTime)
}

/**
 * Footers that this JVM has read. The cache also remembers files that cannot be read, so that they are not tried again.
 */
object FooterCache {

  /**
   * Limit of the columns of files in the cache: at about half a kilobyte each, at most 50 megabytes on the driver. This
   * is room for 4,000 files of 25 columns.
   */
  private[footers] val MaxColumns = 100000

  private val entries =
    new BoundedCache[FileKey, FooterEntry]("footers", MaxColumns.toLong)(1L + _.footer.fold(0L)(_.columns.size.toLong))

  def get(key: FileKey): Option[FooterEntry] = entries.get(key)

  def put(key: FileKey, entry: FooterEntry): Unit = entries.put(key, entry)

  def clear(): Unit = entries.clear()
}
