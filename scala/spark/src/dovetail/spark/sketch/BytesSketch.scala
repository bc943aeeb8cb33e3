package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.types.{BinaryType, StringType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}

/**
 * Sketch of a column of strings or binaries. For a column of nested values, it measures their bytes but keeps no
 * values. A value is read in place in its row. Of a long value, only its hash and its first bytes are kept.
 *
 * Values are equal if their bytes are equal. So a string column with a collation has more distinct values here than
 * under its collation, and it has no bounds.
 */
final class BytesSketch(column: Recipe.Column) extends ColumnSketch(column) {
  import BytesSketch._
  private val text             = column.dataType != BinaryType
  private val ordered          = kept && (column.dataType == StringType || column.dataType == BinaryType)
  private var min: Array[Byte] = _
  private var max: Array[Byte] = _
  private var cut              = false
  private var total            = 0L
  private var widest           = 0L

  override protected def hashed: Boolean = true

  override protected def take(row: UnsafeRow, position: Int, random: Long): Long = {
    val where  = row.getLong(position)
    val offset = row.getBaseOffset + (where >>> 32)
    val length = where.toInt
    val base   = row.getBaseObject
    total += length
    if (length > widest) widest = length.toLong
    val hash = XXH64.hashUnsafeBytes(base, offset, length, ColumnSketch.Seed)
    if (kept) {
      if (ordered) widen(base, offset, length)
      if (hitters.wants(random)) {
        val slot = hitters.addHash(hash)
        if (slot >= 0 && length <= HeavyHitters.LongestValue) hitters.remember(slot, copy(base, offset, length))
      }
    }
    hash
  }

  private def widen(base: AnyRef, offset: Long, length: Int): Unit = {
    if (min == null || compare(base, offset, length, min) < 0) min = copy(base, offset, math.min(length, BoundBytes))
    val toMax = if (max == null) 1 else compare(base, offset, length, max)
    if (toMax > 0) { max = copy(base, offset, math.min(length, BoundBytes)); cut = length > BoundBytes }
    else if (toMax == 0 && length > BoundBytes) cut = true
  }

  override protected def mergeValues(that: ColumnSketch): Unit = that match {
    case other: BytesSketch =>
      total += other.total
      widest = math.max(widest, other.widest)
      if (ordered) {
        val wasCut = cut
        widen(other.min, Platform.BYTE_ARRAY_OFFSET.toLong, other.min.length)
        val toMax = if (max == null) 1 else compare(other.max, Platform.BYTE_ARRAY_OFFSET.toLong, other.max.length, max)
        widen(other.max, Platform.BYTE_ARRAY_OFFSET.toLong, other.max.length)
        cut = if (toMax > 0) other.cut else if (toMax == 0) wasCut || other.cut else wasCut
      }
    case other => throw IntegralSketch.unlike(this, other)
  }

  override protected def bounds: (Option[Any], Option[Any]) = if (!ordered) (None, None)
  else {
    // a cut bound may end within a character, and a partial character is not valid text
    val low = if (text && min.length == BoundBytes) Prefixes.whole(min) else min
    (Some(internal(low)), if (cut) Prefixes.above(max, text).map(internal) else Some(internal(max)))
  }

  override protected def averageWidth: Double                                = total.toDouble / values
  override protected def maxWidth: Long                                      = widest
  override protected def value(entry: HeavyHitters.HeavyHitter): Option[Any] = Option(entry.bytes).map(internal)

  override protected def writeValues(out: DataOutput): Unit = {
    Bytes.write(out, Option(min))
    Bytes.write(out, Option(max))
    out.writeBoolean(cut)
    out.writeLong(total)
    out.writeLong(widest)
  }

  override protected def readValues(in: UnpackedStream): Unit = {
    min = in.array(BoundBytes).orNull
    max = in.array(BoundBytes).orNull
    cut = in.readBoolean()
    total = in.amount(Long.MaxValue)
    widest = in.amount(Int.MaxValue.toLong)
    if (ordered && values > 0L && (min == null || max == null))
      throw new BrokenFile("a column with values has no bounds")
  }

  private def internal(bytes: Array[Byte]): Any = if (text) UTF8String.fromBytes(bytes) else bytes
}

object BytesSketch {

  /**
   * Number of bytes of a bound that are kept: enough to distinguish paths, mail addresses and sentences in real
   * columns.
   */
  val BoundBytes = 64

  private def copy(base: AnyRef, offset: Long, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    Platform.copyMemory(base, offset, bytes, Platform.BYTE_ARRAY_OFFSET.toLong, length.toLong)
    bytes
  }

  /** Compares the first bytes of a value with a bound, as unsigned bytes, as Spark compares strings. */
  private def compare(base: AnyRef, offset: Long, length: Int, bound: Array[Byte]): Int = {
    val seen   = math.min(length, BoundBytes)
    val common = math.min(seen, bound.length)
    var i      = 0
    while (i < common) {
      val difference = (Platform.getByte(base, offset + i) & 0xff) - (bound(i) & 0xff)
      if (difference != 0) return difference
      i += 1
    }
    seen - bound.length
  }
}
