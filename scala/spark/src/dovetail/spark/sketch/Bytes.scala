package org.apache.spark.sql.dovetail.sketch

import java.io.{ByteArrayOutputStream, DataOutput, DataOutputStream}

import com.github.luben.zstd.Zstd

/** Serializes sketches: length-prefixed arrays, and one compressed block per sketch. [[UnpackedStream]] reads them. */
object Bytes {

  def write(out: DataOutput, bytes: Option[Array[Byte]]): Unit = bytes match {
    case None    => out.writeInt(-1)
    case Some(b) => out.writeInt(b.length); out.write(b)
  }

  /**
   * Writes words byte by byte: the lowest byte of every word first, then the next byte of every word, and so on. Bytes
   * that the words have in common then lie together and compress to almost nothing. [[UnpackedStream.words]] reads
   * them.
   */
  def writeWords(out: DataOutput, words: Array[Long]): Unit = {
    val bytes = new Array[Byte](words.length)
    (0 until java.lang.Long.BYTES).foreach { place =>
      var i = 0
      while (i < words.length) { bytes(i) = (words(i) >>> (place * java.lang.Byte.SIZE)).toByte; i += 1 }
      out.write(bytes)
    }
  }

  /** @param most largest number of bytes before compression; a reader rejects more, so more is not written */
  def compressed(what: => String, most: Int)(write: DataOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out   = new DataOutputStream(bytes)
    write(out)
    out.flush()
    if (bytes.size > most)
      throw new IllegalArgumentException(s"$what take ${bytes.size} bytes, and at most $most can be stored.")
    Zstd.compress(bytes.toByteArray, Level)
  }

  /** Samples of rows take half of the bytes of level 1, in three times the time. Higher levels gain a few percent. */
  private val Level = 6
}
