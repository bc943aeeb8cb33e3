package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.fs.{FileSystem, FilterFileSystem, FSDataInputStream, Path}

/**
 * A file system whose positioned reads are announced before they begin. A reader of ORC files first reads the last 16
 * KiB of a file, which tell the length of the tail, and then the whole tail if it is longer.
 *
 * @param admit called with the bytes of a read; may throw an exception to end the read
 */
final private[footers] class AdmittedReads(files: FileSystem, admit: Long => Unit) extends FilterFileSystem(files) {
  override def open(path: Path, buffer: Int): FSDataInputStream =
    new FSDataInputStream(super.open(path, buffer)) {
      override def readFully(position: Long, into: Array[Byte], offset: Int, length: Int): Unit = {
        admit(length.toLong)
        super.readFully(position, into, offset, length)
      }
    }
}
