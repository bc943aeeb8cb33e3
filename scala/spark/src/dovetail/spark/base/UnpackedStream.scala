package org.apache.spark.sql.dovetail.base

import java.io.{ByteArrayInputStream, DataInputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import com.github.luben.zstd.ZstdInputStream

/**
 * Reads a header or a sketch from a file, decompressed. All stored bytes are read through this class.
 *
 * Files are not trusted. The caller caps the decompressed size, and each count and length in the file is compared with
 * the number of bytes that are left. So no allocation depends on a number that the file claims. Content that does not
 * fit raises a [[BrokenFile]].
 */
final class UnpackedStream private (bytes: Array[Byte]) extends DataInputStream(new ByteArrayInputStream(bytes)) {

  /** Bytes that have not been read yet. */
  def left: Int = available()

  /**
   * Reads the number of items that follow.
   *
   * @param most  largest number that the format allows
   * @param bytes bytes that each item takes at least
   */
  def count(most: Int, bytes: Int): Int = {
    val n = readInt()
    if (n < 0 || n > most || n.toLong * bytes > left)
      throw new BrokenFile(s"it has a count of $n, but at most $most are possible and $left bytes remain")
    n
  }

  /** Reads a whole number from 0 to `most`. */
  def amount(most: Long): Long = {
    val n = readLong()
    if (n < 0L || n > most) throw new BrokenFile(s"it has an amount of $n, but only 0 to $most is possible")
    n
  }

  /** Reads an array that follows its length; None if the stored length is -1. */
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

  /** Reads `n` words byte by byte: the lowest byte of every word first, then the next byte of every word, and so on. */
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

  /** Checks that no bytes are left. Call it after the last read. */
  def end(): Unit = if (left > 0) throw new BrokenFile(s"it has $left bytes too many")
}

object UnpackedStream {

  /** @param most largest accepted number of bytes after decompression */
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
      try BrokenFile.ofContent(read(in))
      catch { case _: java.io.EOFException => throw new BrokenFile("it ends too early") }
    in.end()
    a
  }

  /**
   * Base-2 logarithm of the largest accepted window of a frame, which the decoder holds in memory: 8 MiB is what RFC
   * 8878 requires of every decoder, and our own compression level stays below it.
   */
  private val WindowLog = 23
}

/** The content of a file does not match its format. Another read of the file gives the same result. */
final class BrokenFile(why: String) extends IOException(why)

object BrokenFile {

  /**
   * Makes something of content that is in memory. Whatever else than an IOException this throws, the content is to
   * blame.
   */
  def ofContent[A](body: => A): A =
    try body
    catch {
      case e: IOException => throw e
      case NonFatal(e)    => throw new BrokenFile(ErrorCondition.text(e))
    }
}
