package org.apache.spark.sql.dovetail.collect

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInput, DataInputStream, DataOutput, DataOutputStream, IOException}

import com.github.luben.zstd.Zstd
import com.github.luben.zstd.ZstdInputStream

/** How sketches become bytes and come back: length-prefixed arrays, and one compressed block per sketch. Whatever does not fit is an IOException. */
object Bytes {

  def write(out: DataOutput, bytes: Option[Array[Byte]]): Unit = bytes match {
    case None    => out.writeInt(-1)
    case Some(b) => out.writeInt(b.length); out.write(b)
  }

  def read(in: DataInput): Option[Array[Byte]] = in.readInt() match {
    case -1 => None
    case n  =>
      val bytes = new Array[Byte](checked(n, MaxArray))
      in.readFully(bytes)
      Some(bytes)
  }

  /** A number of things that follow. */
  def count(in: DataInput, most: Int): Int = checked(in.readInt(), most)

  private def checked(n: Int, most: Int): Int =
    if (n < 0 || n > most) throw new IOException(s"a length of $n where 0 to $most is possible") else n

  def compressed(write: DataOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out   = new DataOutputStream(bytes)
    write(out)
    out.flush()
    Zstd.compress(bytes.toByteArray, Level)
  }

  def uncompressed[A](bytes: Array[Byte])(read: DataInputStream => A): A = {
    val in = new DataInputStream(new java.io.BufferedInputStream(new ZstdInputStream(new ByteArrayInputStream(bytes)), Buffer))
    try read(in)
    finally in.close()
  }

  /** zstd's fastest standard level: sketches are mostly random bits, on which higher ones gain nothing. */
  private val Level = 1

  private val Buffer = 1 << 16

  /** Bytes of the largest array that is stored: a sample's row, with room to spare. A larger length is a broken file, not memory to be asked for. */
  private val MaxArray = 64 << 20
}
