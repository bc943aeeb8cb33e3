package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.table.ColumnStatistics
import org.apache.spark.sql.types._

/**
 * All that is collected of one column, in one pass: one subclass per way a value lies in memory, so that nothing is
 * boxed.
 *
 * A value is hashed once, and its hash feeds the distinct count, the frequent values, and the groups of columns that
 * [[TableSketch]] counts.
 *
 * @param column.values false leaves counts only: no bounds, quantiles and frequent values
 */
abstract class ColumnSketch(val column: Recipe.Column) {
  protected var nulls      = 0L
  protected var values     = 0L
  protected var distinct   = new HyperLogLog
  protected var hitters    = new HeavyHitters(hashed, column.slotBits)
  protected var quantiles  = new Quantiles
  final protected val kept = column.values

  /** Whether quantiles are collected. */
  final protected val counted = column.quantiles

  /** Whether a value's key in `hitters` is a hash of it. */
  protected def hashed: Boolean

  /** Takes in the row's value, and returns its hash. */
  final def add(row: UnsafeRow, position: Int, random: Long): Long =
    if (row.isNullAt(position)) { nulls += 1; ColumnSketch.NullHash }
    else {
      values += 1
      val hash = take(row, position, random)
      distinct.add(hash)
      hash
    }

  protected def take(row: UnsafeRow, position: Int, random: Long): Long

  final def merge(that: ColumnSketch): Unit = {
    if (that.values > 0L) mergeValues(that)
    nulls += that.nulls
    values += that.values
    distinct.merge(that.distinct)
    hitters.merge(that.hitters)
    quantiles.merge(that.quantiles)
  }

  /** Bounds and widths; called while `values` is still what it was before. */
  protected def mergeValues(that: ColumnSketch): Unit

  protected def bounds: (Option[Any], Option[Any])

  /** Values that there are room for between the bounds. */
  protected def room: Double = Double.PositiveInfinity
  protected def averageWidth: Double
  protected def maxWidth: Long
  protected def value(entry: HeavyHitters.HeavyHitter): Option[Any]

  private def mostDistinct: Double =
    math.min(values.toDouble, if (kept && values > 0L) room else Double.PositiveInfinity)

  final def result: ColumnStatistics = {
    val (min, max) = if (kept && values > 0L) bounds else (None, None)
    val frequent   = hitters.frequent.flatMap(e => value(e).map(_ -> e.count))
    ColumnStatistics(
      name = column.name,
      dataType = column.dataType,
      nulls = nulls,
      values = values,
      ndv = if (toldByHitters) hitters.distinct.toDouble else math.min(distinct.estimate, mostDistinct),
      ndvError = Some(if (toldByHitters) 0.0 else HyperLogLog.StandardError),
      min = min,
      max = max,
      width = if (values > 0L) averageWidth else column.dataType.defaultSize.toDouble,
      maxWidth = if (values > 0L) maxWidth else 0L,
      quantiles = quantiles.bounds,
      heavyHitters = frequent,
      counting = hitters.counting,
      complete = toldByHitters && frequent.size == hitters.distinct
    )
  }

  final def write(out: DataOutput): Unit = {
    out.writeLong(nulls)
    out.writeLong(values)
    hitters.write(out)
    if (!toldByHitters) out.write(distinct.toBytes)
    quantiles.write(out)
    writeValues(out)
  }

  /** All values are among the frequent ones: their hashes are the distinct count. */
  private def toldByHitters: Boolean = kept && hitters.exact

  private def countOf(in: UnpackedStream): HyperLogLog = HyperLogLog.fromBytes(in.exactly(HyperLogLog.Size.toLong))

  private def hittersOf(in: UnpackedStream, version: Int) = HeavyHitters.read(in, hashed, column.slotBits, version)

  final private[sketch] def readFrom(in: UnpackedStream, rows: Long, version: Int): this.type = {
    nulls = in.amount(rows)
    values = in.amount(rows)
    if (nulls + values != rows) throw new BrokenFile(s"$nulls NULLs and $values values do not add up to $rows rows")
    if (version == 1) { distinct = countOf(in); hitters = hittersOf(in, version) }
    else {
      hitters = hittersOf(in, version)
      if (toldByHitters) hitters.foreachKey(k => distinct.add(if (hashed) k else hash(k)))
      else distinct = countOf(in)
    }
    quantiles = Quantiles.read(in, version)
    readValues(in)
    this
  }

  protected def writeValues(out: DataOutput): Unit
  protected def readValues(in: UnpackedStream): Unit

  final protected def hash(key: Long): Long = XXH64.hashLong(key, ColumnSketch.Seed)
}

object ColumnSketch {

  /** Any fixed number: sketches of different sessions are merged, so it never changes. */
  val Seed = 42L

  /** The hash that stands for NULL. A value that has it by chance is one in 2 to the 64th. */
  val NullHash = 0L

  def apply(column: Recipe.Column): ColumnSketch = column.dataType match {
    case FloatType | DoubleType                                  => new FloatingSketch(column)
    case _: StringType | BinaryType                              => new BytesSketch(column)
    case nested if Recipe.measures(nested)                       => new BytesSketch(column)
    case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS => new DecimalSketch(column, d)
    case other if Recipe.collects(other)                         => new IntegralSketch(column)
    case other                                                   => throw new IllegalArgumentException(
        s"Column ${column.name} has type ${other.sql}, for which no statistics are collected."
      )
  }

  def read(in: UnpackedStream, column: Recipe.Column, rows: Long, version: Int): ColumnSketch =
    apply(column).readFrom(in, rows, version)

  /** Bytes that a column takes in a file at most. */
  def mostBytes(column: Recipe.Column): Int =
    CountsAndBounds + HyperLogLog.Size + HeavyHitters.mostBytes(hashed = true, column.slotBits) + Quantiles.MostBytes

  /** Counts and widths of 8 bytes, two bounds with their lengths: rounded up. */
  private val CountsAndBounds = 64 + 2 * (4 + BytesSketch.BoundBytes)
}
