package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.table.ColumnStatistics
import org.apache.spark.sql.types._

/**
 * All statistics that one pass over the data collects of a column. There is one subclass per memory layout of values,
 * so that no value is boxed.
 *
 * Each value is hashed once. The hash feeds the distinct count, the frequent values, and the groups of columns that
 * [[TableSketch]] counts.
 *
 * @param column the column; if `column.values` is false, only counts are collected: no bounds, quantiles or frequent
 *               values
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

  /** Whether the keys in `hitters` are hashes of the values. */
  protected def hashed: Boolean

  /** Adds the value of a row, and returns its hash. */
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

  /** Merges bounds and widths. Called before `values` is updated. */
  protected def mergeValues(that: ColumnSketch): Unit

  protected def bounds: (Option[Any], Option[Any])

  /** Number of different values that fit between the bounds. */
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

  /** Whether all values are among the frequent ones. Their hashes then give the distinct count. */
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

  /** An arbitrary number. It never changes, because sketches of different sessions are merged. */
  val Seed = 42L

  /** The hash that stands for NULL. A value has the same hash by chance with a probability of one in 2 to the 64th. */
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

  /** Largest number of bytes that a column takes in a file. */
  def mostBytes(column: Recipe.Column): Int =
    CountsAndBounds + HyperLogLog.Size + HeavyHitters.mostBytes(hashed = true, column.slotBits) + Quantiles.MostBytes

  /** Bytes of counts and widths (8 each), and of two bounds with their lengths, rounded up. */
  private val CountsAndBounds = 64 + 2 * (4 + BytesSketch.BoundBytes)
}
