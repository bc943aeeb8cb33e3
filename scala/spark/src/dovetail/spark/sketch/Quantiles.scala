package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.datasketches.kll.KllDoublesSketch
import org.apache.datasketches.memory.Memory
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}

/**
 * Quantiles of a column's values on the number line, computed from all values.
 *
 * Karnin, Lang, Liberty, "Optimal quantile approximation in streams", FOCS 2016, as implemented by Apache DataSketches,
 * a library that Spark ships. No other class uses the library, and this one uses only calls that are the same in every
 * version from Spark 3.5 to 4.2. The serialized bytes are the same in all of these versions, except for one bit.
 */
final class Quantiles private (private val sketch: KllDoublesSketch) {
  import Quantiles._

  def this() = this(KllDoublesSketch.newHeapInstance(Quantiles.K))

  /** Adds a value. Infinite values and NaN are ignored, because they have no place on the number line. */
  def add(value: Double): Unit = if (value - value == 0.0) sketch.update(value)

  def merge(that: Quantiles): Unit = if (!that.isEmpty) sketch.merge(that.sketch)

  def isEmpty: Boolean = sketch.isEmpty

  /** Equi-depth bounds, including the lowest and the highest value; empty if there are no values. */
  def bounds: Vector[Double] = if (isEmpty) Vector.empty
  else {
    val bounds = sketch.getQuantiles(Ranks).toVector
    if (bounds.exists(b => b - b != 0.0) || bounds.zip(bounds.tail).exists { case (a, b) => a > b })
      throw new BrokenFile("quantiles are in no order")
    bounds
  }

  /** Writes the library's bytes. The doubles at their end are written as words. */
  def write(out: DataOutput): Unit =
    if (isEmpty) out.writeInt(0)
    else {
      val bytes = sketch.toByteArray
      bytes(FlagsByte) = (bytes(FlagsByte) | DoublesFlag).toByte
      out.writeInt(bytes.length)
      out.write(bytes, 0, bytes.length % Word)
      val words = ByteBuffer.wrap(bytes, bytes.length % Word, bytes.length / Word * Word)
      Bytes.writeWords(out, Array.fill(bytes.length / Word)(words.getLong()))
    }
}

object Quantiles {

  /** Items in the largest level: ranks are off by at most 1.33 %, with a confidence of 99 %. */
  private val K = 200

  /** Number of bins. A bin holds 1 % of the values, which is about the error of a rank. */
  val Bins = 100

  /** Version 3.3 of the library (Spark 3.5) requires a flag for doubles, which version 6 neither sets nor reads. */
  private val FlagsByte   = 3
  private val DoublesFlag = 8

  private val Ranks: Array[Double] = Array.tabulate(Bins + 1)(_.toDouble / Bins)

  /** Bytes of a double. */
  private val Word = 8

  /** Largest accepted number of bytes of a sketch: 600 values of 8 bytes in 60 levels are 5 KiB. */
  val MostBytes: Int = 16 << 10

  def read(in: UnpackedStream, version: Int): Quantiles =
    (if (version == 1) in.array(MostBytes) else bytesOf(in)).fold(new Quantiles)(b =>
      new Quantiles(KllDoublesSketch.heapify(Memory.wrap(checked(b))))
    )

  private def bytesOf(in: UnpackedStream): Option[Array[Byte]] = in.count(MostBytes, 1) match {
    case 0 => None
    case n =>
      val bytes = ByteBuffer.allocate(n).put(in.exactly((n % Word).toLong))
      in.words(n / Word).foreach(bytes.putLong)
      Some(bytes.array)
  }

  /**
   * Returns the bytes of a sketch if its parts are as long as it states. The library allocates memory by these numbers,
   * and reads at the positions that they give.
   *
   * Byte 0: length of the preamble in words of 4 bytes; 1: kind; 4 and 5: k; 6: m. If the sketch has one value, it
   * follows these 8 bytes. Otherwise, the following come next: the number of values (8 bytes), the smallest k (2), the
   * number of levels (1, and one unused), the start of each level (4 each), the lowest and the highest value, the
   * values.
   */
  private def checked(bytes: Array[Byte]): Array[Byte] = {
    val b        = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    def single   = b.get(1) == SingleKind && bytes.length == ShortPreamble + 8
    def complete = b.get(0) == FullWords && b.get(1) != SingleKind && bytes.length > FullPreamble && {
      val levels = b.get(LevelsByte).toInt
      val values = (bytes.length - FullPreamble - 4 * levels) / 8 - 2
      levels > 0 && levels <= MostLevels && values > 0 &&
      bytes.length == FullPreamble + 4 * levels + 8 * (values + 2) && {
        val starts = Vector.tabulate(levels)(i => b.getInt(FullPreamble + 4 * i))
        val sizes  = starts.zip(starts.tail :+ (starts.head + values)).map { case (from, to) => to.toLong - from }
        starts.head >= 0 && sizes.forall(_ >= 0L) && sizes.zipWithIndex.map { case (n, level) =>
          n << level
        }.sum == b.getLong(8)
      }
    }
    if (
      bytes.length < ShortPreamble || b.getShort(4) < M || b.getShort(4) > K || b.get(6) != M || !(single || complete)
    )
      throw new BrokenFile("quantiles are inconsistent")
    bytes
  }

  /** Values of the smallest level: the library's default. */
  private val M = 8

  private val SingleKind    = 2
  private val ShortPreamble = 8
  private val FullWords     = 5
  private val FullPreamble  = 20
  private val LevelsByte    = 18

  /**
   * Largest accepted number of levels. A level stands for twice as many values as the one below it, so a sketch of 2 to
   * the 48th rows has about 42.
   */
  private val MostLevels = 50
}
