package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.dovetail.base.BoundedCache

/** A version of a file: writing to it changes its length or its time. */
final case class FileKey(path: String, length: Long, modified: Long)

object FileKey {
  def apply(file: FileStatus): FileKey = FileKey(file.getPath.toString, file.getLen, file.getModificationTime)
}

/** Footers that have been read in this JVM. Files that cannot be read are remembered too: they are not tried again. */
object FooterCache {

  /**
   * Columns of files that are kept: at about half a kilobyte each, 50 megabytes of the driver at most. 4,000 files of
   * 25 columns.
   */
  private[footers] val MaxColumns = 100000

  private val entries =
    new BoundedCache[FileKey, FooterEntry]("footers", MaxColumns.toLong)(1L + _.footer.fold(0L)(_.columns.size.toLong))

  def get(key: FileKey): Option[FooterEntry] = entries.get(key)

  def put(key: FileKey, entry: FooterEntry): Unit = entries.put(key, entry)

  def clear(): Unit = entries.clear()
}
