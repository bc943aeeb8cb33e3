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

  /** zstd's fastest standard level: sketches are mostly random bits, on which higher ones gain nothing. */
  private val Level = 1
}
