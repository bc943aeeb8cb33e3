package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.sql.dovetail.base.UnpackedStream

/**
 * Sketch of a column whose values are whole numbers in memory: integers, booleans, dates, timestamps, intervals, and
 * decimals of at most 18 digits.
 */
final class IntegralSketch(column: Recipe.Column) extends ColumnSketch(column) {
  import IntegralSketch._
  private var min = Long.MaxValue
  private var max = Long.MinValue

  private val bytes: Int = column.dataType match {
    case BooleanType | ByteType                            => 1
    case ShortType                                         => 2
    case IntegerType | DateType | _: YearMonthIntervalType => 4
    case _                                                 => 8
  }

  private val unit: Double = column.dataType match {
    case d: DecimalType => math.pow(10.0, d.scale.toDouble)
    case _              => 1.0
  }

  override protected def hashed: Boolean = false

  override protected def take(row: UnsafeRow, position: Int, random: Long): Long = {
    val v = (bytes: @scala.annotation.switch) match {
      case 1 => row.getByte(position).toLong
      case 2 => row.getShort(position).toLong
      case 4 => row.getInt(position).toLong
      case _ => row.getLong(position)
    }
    if (kept) {
      if (v < min) min = v
      if (v > max) max = v
      if (counted) quantiles.add(v / unit)
      if (hitters.wants(random)) hitters.add(v)
    }
    hash(v)
  }

  override protected def mergeValues(that: ColumnSketch): Unit = that match {
    case other: IntegralSketch =>
      min = math.min(min, other.min)
      max = math.max(max, other.max)
    case other => throw unlike(this, other)
  }

  override protected def bounds: (Option[Any], Option[Any]) = (Some(internal(min)), Some(internal(max)))
  override protected def room: Double                       = max.toDouble - min.toDouble + 1.0
  override protected def averageWidth: Double               = column.dataType.defaultSize.toDouble
  override protected def maxWidth: Long                     = column.dataType.defaultSize.toLong
  override protected def value(entry: HeavyHitters.HeavyHitter): Option[Any] = Some(internal(entry.key))
  override protected def writeValues(out: DataOutput): Unit   = { out.writeLong(min); out.writeLong(max) }
  override protected def readValues(in: UnpackedStream): Unit = { min = in.readLong(); max = in.readLong() }

  private def internal(v: Long): Any = column.dataType match {
    case BooleanType                                       => v != 0L
    case ByteType                                          => v.toByte
    case ShortType                                         => v.toShort
    case IntegerType | DateType | _: YearMonthIntervalType => v.toInt
    case d: DecimalType                                    => Decimal(v, d.precision, d.scale)
    case _                                                 => v
  }
}

object IntegralSketch {
  def unlike(a: ColumnSketch, b: ColumnSketch): IllegalArgumentException =
    new IllegalArgumentException(
      s"statistics of ${a.column.name} (${a.column.dataType.sql}) cannot take in those of ${b.column.name} " +
        s"(${b.column.dataType.sql})"
    )
}
