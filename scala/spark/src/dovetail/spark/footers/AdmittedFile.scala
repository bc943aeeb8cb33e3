package org.apache.spark.sql.dovetail.footers

import org.apache.parquet.io.{DelegatingSeekableInputStream, InputFile, SeekableInputStream}

/**
 * A Parquet file whose footer is announced before it is read. A reader first reads the length of the footer from the
 * last bytes of the file, and then goes to its first byte. At this point its length is known, and nothing of it is in
 * memory. A request of its own for the length would take as long as the footer on an object store.
 *
 * @param admit called with the bytes of the footer; may throw an exception to end the read
 */
final private[footers] class AdmittedFile(file: InputFile, admit: Long => Unit) extends InputFile {
  override def getLength: Long = file.getLength

  override def newStream(): SeekableInputStream = {
    val in = file.newStream()
    new DelegatingSeekableInputStream(in) {
      private var announced = false

      override def getPos: Long = in.getPos

      override def seek(to: Long): Unit = {
        val bytes = file.getLength - AdmittedFile.Tail - to
        if (bytes > 0L && !announced) { announced = true; admit(bytes) }
        in.seek(to)
      }
    }
  }

  override def toString: String = file.toString
}

private object AdmittedFile {

  /** Bytes after the footer: its length and the name of the format, with four bytes each. */
  val Tail = 8L
}
