package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput
import java.math.{BigDecimal, BigInteger}

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.types.{Decimal, DecimalType}
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}

/**
 * Sketch of a column of decimals with more than 18 digits. They are rare, and the only numbers that are objects in
 * memory.
 */
final class DecimalSketch(column: Recipe.Column, decimal: DecimalType) extends ColumnSketch(column) {
  private var min: BigInteger = _
  private var max: BigInteger = _

  override protected def hashed: Boolean = true

  override protected def take(row: UnsafeRow, position: Int, random: Long): Long = {
    // all values have one scale, so equal values have equal bytes
    val bytes = row.getBinary(position)
    val hash  = XXH64.hashUnsafeBytes(
      bytes,
      org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET.toLong,
      bytes.length,
      ColumnSketch.Seed
    )
    if (kept) {
      val v = new BigInteger(bytes)
      widen(v, v)
      if (counted) quantiles.add(new BigDecimal(v, decimal.scale).doubleValue)
      if (hitters.wants(random)) {
        val slot = hitters.addHash(hash)
        if (slot >= 0) hitters.remember(slot, bytes)
      }
    }
    hash
  }

  private def widen(low: BigInteger, high: BigInteger): Unit = {
    min = if (min == null) low else min.min(low)
    max = if (max == null) high else max.max(high)
  }

  override protected def mergeValues(that: ColumnSketch): Unit = that match {
    case other: DecimalSketch => if (kept) widen(other.min, other.max)
    case other                => throw IntegralSketch.unlike(this, other)
  }

  override protected def bounds: (Option[Any], Option[Any]) = (Some(internal(min)), Some(internal(max)))
  override protected def averageWidth: Double               = column.dataType.defaultSize.toDouble
  override protected def maxWidth: Long                     = column.dataType.defaultSize.toLong
  override protected def value(entry: HeavyHitters.HeavyHitter): Option[Any] =
    Option(entry.bytes).map(b => internal(new BigInteger(b)))

  override protected def writeValues(out: DataOutput): Unit = {
    Bytes.write(out, Option(min).map(_.toByteArray))
    Bytes.write(out, Option(max).map(_.toByteArray))
  }

  override protected def readValues(in: UnpackedStream): Unit = {
    min = in.array(DecimalSketch.LongestValue).map(new BigInteger(_)).orNull
    max = in.array(DecimalSketch.LongestValue).map(new BigInteger(_)).orNull
    if (kept && values > 0L && (min == null || max == null)) throw new BrokenFile("a column with values has no bounds")
  }

  private def internal(v: BigInteger): Any = Decimal(new BigDecimal(v, decimal.scale), decimal.precision, decimal.scale)
}

object DecimalSketch {

  /** Largest number of bytes of an unscaled value: 38 digits take 127 bits and a sign. */
  private val LongestValue = 16
}
