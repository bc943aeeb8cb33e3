package org.apache.spark.sql.dovetail.base

import java.io.{ByteArrayInputStream, DataInputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import com.github.luben.zstd.ZstdInputStream

/**
 * A header or a sketch from a file, unpacked: the only way in which stored bytes are read.
 *
 * A file is not trusted. What it unpacks to is capped by the caller, and each count and length in it is compared with
 * the bytes that are left, so that nothing allocates by a number that the file claims. What does not fit is a
 * [[BrokenFile]].
 */
final class UnpackedStream private (bytes: Array[Byte]) extends DataInputStream(new ByteArrayInputStream(bytes)) {

  /** Bytes that have not been read yet. */
  def left: Int = available()

  /**
   * A number of things that follow.
   *
   * @param most  that the format allows
   * @param bytes that each of them takes at least
   */
  def count(most: Int, bytes: Int): Int = {
    val n = readInt()
    if (n < 0 || n > most || n.toLong * bytes > left)
      throw new BrokenFile(s"it has a count of $n, but at most $most are possible and $left bytes remain")
    n
  }

  /** A whole number that is not negative. */
  def amount(most: Long): Long = {
    val n = readLong()
    if (n < 0L || n > most) throw new BrokenFile(s"it has an amount of $n, but only 0 to $most is possible")
    n
  }

  /** Bytes behind their length; None where there are none. */
  def array(most: Int): Option[Array[Byte]] = readInt() match {
    case -1                                       => None
    case n if n >= 0 && n <= math.min(most, left) =>
      val bytes = new Array[Byte](n)
      readFully(bytes)
      Some(bytes)
    case n => throw new BrokenFile(s"it has a length of $n, but only 0 to ${math.min(most, left)} is possible")
  }

  def exactly(n: Long): Array[Byte] = {
    if (n > left) throw new BrokenFile(s"$n bytes are missing")
    val bytes = new Array[Byte](n.toInt)
    readFully(bytes)
    bytes
  }

  /** Words, byte by byte: the lowest byte of all first. */
  def words(n: Int): Array[Long] = {
    val words = new Array[Long](n)
    val bytes = exactly(n.toLong * java.lang.Long.BYTES)
    var i     = 0
    while (i < bytes.length) {
      words(i % n) |= (bytes(i) & 0xffL) << (i / n * java.lang.Byte.SIZE)
      i += 1
    }
    words
  }

  def text(): String = new String(array(left).getOrElse(throw new BrokenFile("a string is missing")), UTF_8)

  /** To be called when all has been read. */
  def end(): Unit = if (left > 0) throw new BrokenFile(s"it has $left bytes too many")
}

object UnpackedStream {

  /** @param most bytes that `packed` may unpack to */
  def apply[A](packed: Array[Byte], most: Int)(read: UnpackedStream => A): A = {
    val bytes =
      try {
        val in = new ZstdInputStream(new ByteArrayInputStream(packed)).setLongMax(WindowLog)
        try in.readNBytes(most + 1)
        finally in.close()
      } catch { case e: IOException => throw new BrokenFile(s"it cannot be unpacked: ${e.getMessage}") }
    if (bytes.length > most) throw new BrokenFile(s"${packed.length} bytes of it unpack to more than $most")
    val in = new UnpackedStream(bytes)
    val a  =
      try read(in)
      catch { case _: java.io.EOFException => throw new BrokenFile("it ends too early") }
    in.end()
    a
  }

  /**
   * A frame may ask for a window of memory: 8 MiB is what RFC 8878 asks of every decoder, and what our own level of
   * compression stays below.
   */
  private val WindowLog = 23
}

/** The contents of a file are not what its format says: reading it again gives the same. */
final class BrokenFile(why: String) extends IOException(why)
