package org.apache.spark.sql.dovetail.sketch

import java.io.{ByteArrayOutputStream, DataOutput, DataOutputStream}

import com.github.luben.zstd.Zstd

/**
 * How sketches become bytes: length-prefixed arrays, and one compressed block per sketch. [[UnpackedStream]] is the way back.
 */
object Bytes {

  def write(out: DataOutput, bytes: Option[Array[Byte]]): Unit = bytes match {
    case None    => out.writeInt(-1)
    case Some(b) => out.writeInt(b.length); out.write(b)
  }

  /**
   * Words byte by byte: the lowest byte of all, then the next one. What words have in common lies together then, and
   * is packed to next to nothing. [[UnpackedStream.words]] reads them.
   */
  def writeWords(out: DataOutput, words: Array[Long]): Unit = {
    val bytes = new Array[Byte](words.length)
    (0 until java.lang.Long.BYTES).foreach { place =>
      var i = 0
      while (i < words.length) { bytes(i) = (words(i) >>> (place * java.lang.Byte.SIZE)).toByte; i += 1 }
      out.write(bytes)
    }
  }

  /** @param most bytes before compression: what a reader would refuse is not written */
  def compressed(what: => String, most: Int)(write: DataOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out   = new DataOutputStream(bytes)
    write(out)
    out.flush()
    if (bytes.size > most)
      throw new IllegalArgumentException(s"$what take ${bytes.size} bytes, and at most $most can be stored.")
    Zstd.compress(bytes.toByteArray, Level)
  }

  /** Half of what samples of rows take at level 1, in three times the time; higher ones gain a few percent. */
  private val Level = 6
}
