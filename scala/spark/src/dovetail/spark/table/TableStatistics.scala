package org.apache.spark.sql.dovetail.table

import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import dovetail.kernel.profile.{
  Bucket,
  DistinctInSample,
  Frequencies,
  FrequentValue,
  Histogram,
  RelationSample,
  RowNumbers
}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, Values}
import org.apache.spark.sql.types._

/**
 * All statistics of a table from one collection. `collect` makes them in a pass over the data, `StatisticsStore` keeps
 * them, and estimates read them through a [[TableStatisticsSource]].
 *
 * Values are Catalyst's internal ones (UTF8String, Long for microseconds, Int for days, Decimal, …).
 *
 * @param bytes       bytes of the files, 0 if unknown
 * @param columns     columns in the order of the schema
 * @param groups      distinct values of groups of columns
 * @param collectedAt time of the collection in milliseconds since the epoch
 * @param unread      files that exist now and were not read; None if the data is still what was read
 * @param atMost      whether queries may not see all rows that were read: all counts are upper bounds then
 */
final case class TableStatistics(
    rows: Long,
    bytes: Long,
    columns: Vector[ColumnStatistics],
    groups: Vector[GroupStatistics],
    sample: Option[TableSample],
    collectedAt: Long,
    unread: Option[UnreadFiles] = None,
    atMost: Boolean = false
) {

  /** Whether the data is still what was read. */
  def fresh: Boolean = unread.isEmpty

  /** Whether the counts are those of the data as queries see it. */
  def counted: Boolean = fresh && !atMost
}

/**
 * Files that were added or changed since a table was read.
 *
 * @param share their share of the bytes that exist now, 0 to 1
 */
final case class UnreadFiles(files: Int, share: Double)

/**
 * Statistics of one column.
 *
 * @param values       number of rows with a value that is not NULL
 * @param min          smallest value; None if it is unknown, must not be kept (privacy), or if all values are NULL. A
 *                     long string is truncated, so it is a bound and not always a value
 * @param max          largest value, as `min`; a long string is truncated and then rounded up
 * @param width        average bytes of a non-NULL value in memory
 * @param quantiles    equi-depth bounds on the number line of `predicates.Values.number`, lowest and highest included;
 *                     empty if there are none
 * @param ndvError     relative standard error of `ndv`: 0 if it was counted, None if it is unknown
 * @param heavyHitters most frequent values with their estimated counts, most frequent first
 * @param counting     how exact these counts are
 * @param complete     whether every value is among the heavy hitters, with its exact count
 */
final case class ColumnStatistics(
    name: String,
    dataType: DataType,
    nulls: Long,
    values: Long,
    ndv: Double,
    ndvError: Option[Double],
    min: Option[Any],
    max: Option[Any],
    width: Double,
    maxWidth: Long,
    quantiles: Vector[Double],
    heavyHitters: Vector[(Any, Long)],
    counting: Counting,
    complete: Boolean
) {

  /** An equi-depth histogram, made only once because every query asks for it. There must be at least two quantiles. */
  lazy val histogram: Histogram = {
    val distinct = ndv / (quantiles.size - 1)
    Histogram(quantiles.zip(quantiles.tail).map { case (low, high) =>
      Bucket(low, high, if (low == high) 1.0 else math.max(distinct, 1.0))
    })
  }

  /** The heavy hitters in the form of estimates; None if there are none, or if the type has no keys. */
  lazy val frequencies: Option[Frequencies] = JoinKeys.forType(dataType).filter(_ => heavyHitters.nonEmpty).map {
    keys =>
      Frequencies(
        heavyHitters.map { case (v, n) =>
          FrequentValue(keys(v), Values.number(v), math.min(1.0, n.toDouble / math.max(values, 1L)))
        },
        complete
      )
  }
}

/** How exact the count of a frequent value is. */
sealed trait Counting

object Counting {

  /** The count is the exact number of rows. */
  case object Exact extends Counting

  /** @param less how much the count may be too high: the rest has certainly been counted */
  final case class AtLeast(less: Long) extends Counting

  /** The count is an estimate. */
  case object About extends Counting
}

final case class GroupStatistics(columns: Vector[String], ndv: Double)

/**
 * A sample of a table's rows without replacement. If `rows.length == of`, it is the whole table.
 *
 * @param schema   schema of the sampled columns: only flat types, and only columns whose values may be kept
 * @param of       number of rows of the table
 * @param clusters empty for a uniform random sample; otherwise the sample consists of runs of rows that are adjacent in
 *                 the files, and these are the positions at which the runs begin; it may be a single one
 * @param counts   exact counts of the columns of which all rows of the table were read, by name
 * @param read     rows that were read for each row of the sample
 * @param inside   whether the runs begin inside of row groups
 */
final case class TableSample(
    schema: StructType,
    rows: SampledRows,
    of: Long,
    clusters: Vector[Int] = Vector.empty,
    counts: Map[String, CountedColumn] = Map.empty,
    read: Double = 1.0,
    inside: Boolean = false
) {

  /** Identifies the sample in caches of results, which must not keep its rows. */
  val id: Long = TableSample.ids.getAndIncrement()

  lazy val all: RowNumbers = RowNumbers.all(rows.length)

  /**
   * First and after the last row of the parts of the sample whose difference tells how much rows vary along the files:
   * its runs of rows, or the two halves of a single one. Empty for a random sample.
   */
  def parts: Vector[(Int, Int)] = {
    val starts = if (clusters.size == 1) Vector(0, rows.length / 2) else clusters
    starts.zip(starts.drop(1) :+ rows.length)
  }

  private val joint = new ConcurrentHashMap[Vector[Int], java.lang.Double]

  private val spreads = new ConcurrentHashMap[Int, Option[Histogram]]

  private val short = new ConcurrentHashMap[Int, Boolean]

  /**
   * Where the values of a column lie; None if they have no order or are too few. The result is kept.
   *
   * @param min smallest value of the table, if it is known
   * @param max largest value of the table, if it is known
   */
  def spread(column: Int, min: Option[Double], max: Option[Double]): Option[Histogram] = {
    val dataType = schema(column).dataType
    if (!Values.ordered(dataType) || JoinKeys.forType(dataType).isEmpty) None
    else
      spreads.computeIfAbsent(
        column,
        _ => {
          val found = numbers(column, all, ValueQuantiles.MostValues)
          ValueQuantiles.ofSample(found, if (clusters.isEmpty) None else Some(clusters.size), min, max, inside)
        }
      )
  }

  /** Places on the number line of a column's values in some rows: in about `most` of them, if there are more. */
  def numbers(column: Int, of: RowNumbers, most: Int): Array[Double] = {
    val (found, dataType) = (of.toArray, schema(column).dataType)
    val step              = math.max(1, (found.length + most - 1) / most)
    val numbers           = new Array[Double]((found.length + step - 1) / step)
    var (n, i)            = (0, 0)
    while (i < found.length) {
      val number = TableSample.number(rows(found(i)), column, dataType)
      if (!number.isNaN && !number.isInfinite) { numbers(n) = number; n += 1 }
      i += step
    }
    Arrays.copyOf(numbers, n)
  }

  /** Keys of a column's values, one per row; [[RelationSample.NullKey]] for NULL. */
  def keys(column: Int, key: JoinKeys): Array[Long] = {
    val keys     = new Array[Long](rows.length)
    val dataType = schema(column).dataType
    var i        = 0
    rows.eachRow { row =>
      keys(i) =
        if (row.isNullAt(column)) RelationSample.NullKey
        else dataType match {
          case IntegerType | DateType if key.ordered => row.getInt(column).toLong
          case LongType if key.ordered               => JoinKeys.ofValue(row.getLong(column))
          case other                                 => key(row.get(column, other))
        }
      i += 1
    }
    keys
  }

  /** Whether nearly all texts of a column are shorter than those that a collected sample cuts. The result is kept. */
  def isMostlyShort(column: String): Boolean = schema.getFieldIndex(column).exists { i =>
    short.computeIfAbsent(
      i,
      _ => {
        def bytes(r: InternalRow) = schema(i).dataType match {
          case BinaryType => r.getBinary(i).length
          case _          => r.getUTF8String(i).numBytes
        }
        val long = rows.iterator.count(r => !r.isNullAt(i) && bytes(r) >= TableSample.Characters)
        long <= rows.length * TableSample.FewCut
      }
    )
  }

  /**
   * Joint NDV of some columns of the table, without combinations that contain NULL, estimated from the sample
   * ([[DistinctInSample]], [[DistinctInPlaces]]); None if a type has no keys or the sample is empty. The result is
   * kept.
   */
  def distinct(columns: Vector[Int]): Option[Double] = {
    val keys = columns.map(c => JoinKeys.forType(schema(c).dataType))
    if (keys.exists(_.isEmpty) || rows.isEmpty) None
    else
      Some(joint.computeIfAbsent(
        columns,
        _ => {
          val single = columns.zip(keys.flatten).map { case (c, key) => this.keys(c, key) }
          // of several columns, the keys are mixed from the first one on: sums of small numbers are soon the same
          val all = if (single.size == 1) single.head
          else Array.tabulate(rows.length)(i => single.foldLeft(0L)((k, of) => RelationSample.together(k, of(i))))
          def found(from: Int, to: Int) = all.slice(from, to).filter(_ != RelationSample.NullKey)
          if (parts.nonEmpty) {
            DistinctInPlaces(
              parts.map { case (from, to) => found(from, to) },
              this.of.toDouble / rows.length,
              read,
              halves = clusters.size == 1
            )
          } else {
            val some = found(0, rows.length)
            DistinctInSample(some, this.of.toDouble * some.length / rows.length)
          }
        }
      ))
  }
}

object TableSample {

  /**
   * Number of characters of a string, or of bytes of a binary, that a row of a collected sample keeps. Predicates look
   * at the beginning of a text or at short values.
   */
  val Characters = 1000

  /** Share of the texts of a column that may be cut: an estimate of a predicate is off by as much at most. */
  private val FewCut = 0.01

  private val ids = new AtomicLong

  /** [[Values.number]] of a value, which makes no object of the most frequent types; NaN if there is none. */
  private def number(row: InternalRow, column: Int, dataType: DataType): Double =
    if (row.isNullAt(column)) Double.NaN
    else dataType match {
      case IntegerType | DateType                      => row.getInt(column).toDouble
      case LongType | TimestampType | TimestampNTZType => row.getLong(column).toDouble
      case other                                       => Values.number(row.get(column, other)).getOrElse(Double.NaN)
    }
}
