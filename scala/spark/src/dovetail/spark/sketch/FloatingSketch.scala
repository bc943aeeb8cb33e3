package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.FloatType
import org.apache.spark.sql.dovetail.base.UnpackedStream

/**
 * Sketch of a column of floats or doubles, compared as in Spark: NaN equals NaN and is above all others, -0.0 equals
 * 0.0.
 */
final class FloatingSketch(column: Recipe.Column) extends ColumnSketch(column) {
  private val single = column.dataType == FloatType
  private var min    = Double.NaN
  private var max    = Double.NegativeInfinity

  override protected def hashed: Boolean = false

  override protected def take(row: UnsafeRow, position: Int, random: Long): Long = {
    // the sum turns -0.0 into 0.0, and doubleToLongBits maps every NaN to the same bits
    val v    = (if (single) row.getFloat(position).toDouble else row.getDouble(position)) + 0.0
    val bits = java.lang.Double.doubleToLongBits(v)
    if (kept) {
      widen(v, v)
      if (counted) quantiles.add(v)
      if (hitters.wants(random)) hitters.add(bits)
    }
    hash(bits)
  }

  private def widen(low: Double, high: Double): Unit = {
    if (java.lang.Double.compare(low, min) < 0) min = low
    if (java.lang.Double.compare(high, max) > 0) max = high
  }

  override protected def mergeValues(that: ColumnSketch): Unit = that match {
    case other: FloatingSketch => widen(other.min, other.max)
    case other                 => throw IntegralSketch.unlike(this, other)
  }

  override protected def bounds: (Option[Any], Option[Any]) = (Some(internal(min)), Some(internal(max)))
  override protected def averageWidth: Double               = column.dataType.defaultSize.toDouble
  override protected def maxWidth: Long                     = column.dataType.defaultSize.toLong
  override protected def value(entry: HeavyHitters.HeavyHitter): Option[Any] =
    Some(internal(java.lang.Double.longBitsToDouble(entry.key)))
  override protected def writeValues(out: DataOutput): Unit   = { out.writeDouble(min); out.writeDouble(max) }
  override protected def readValues(in: UnpackedStream): Unit = { min = in.readDouble(); max = in.readDouble() }

  private def internal(v: Double): Any = if (single) v.toFloat else v
}
