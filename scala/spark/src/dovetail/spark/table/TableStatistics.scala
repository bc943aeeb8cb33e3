package org.apache.spark.sql.dovetail.table

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
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * All that one collection knows of a table: made by `collect` from a pass over the data, kept by `StatisticsStore`,
 * read by estimates through `stats.TableStatisticsSource`.
 *
 * Values are Catalyst's internal ones (UTF8String, Long for microseconds, Int for days, Decimal, …).
 *
 * @param bytes       of the files, 0 where unknown
 * @param columns     in the order of the schema
 * @param groups      distinct values of groups of columns
 * @param collectedAt milliseconds since the epoch
 * @param unread      what is there now and was not read, where the data is no longer what was read
 * @param atMost      rows that were read may be hidden from queries: all counts are upper bounds
 */
final case class TableStatistics(
    rows: Long,
    bytes: Long,
    columns: Vector[ColumnStatistics],
    groups: Vector[GroupStatistics],
    sample: Option[TableSample],
    collectedAt: Long,
    unread: Option[Unread] = None,
    atMost: Boolean = false
) {

  /** Whether the data is still what was read. */
  def fresh: Boolean = unread.isEmpty

  /** Whether its counts are those of the data. */
  def counted: Boolean = fresh && !atMost
}

/**
 * Files that came or changed since a table was read.
 *
 * @param share of the bytes that are there now, 0 to 1
 */
final case class Unread(files: Int, share: Double)

/**
 * @param values       rows with a value that is not NULL
 * @param min          None where unknown, not allowed (privacy), or where all values are NULL. A long string is cut, so
 *                     it is a bound and not always a value
 * @param max          as `min`; a long string is cut and then rounded up
 * @param width        bytes of a non-NULL value in memory, on average
 * @param quantiles    equi-depth bounds on the number line of `predicates.Values.number`, lowest and highest included;
 *                     empty where there are none
 * @param ndvError     relative standard error of `ndv`: 0 where it was counted, None where it is unknown
 * @param heavyHitters most frequent first, with their estimated counts
 * @param counting     what these counts are
 * @param complete     every value is among the heavy hitters, with its exact count
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

  /** An equi-depth histogram; made once, for every query asks for it. There are two quantiles at least. */
  lazy val histogram: Histogram = {
    val distinct = ndv / (quantiles.size - 1)
    Histogram(quantiles.zip(quantiles.tail).map { case (low, high) =>
      Bucket(low, high, if (low == high) 1.0 else math.max(distinct, 1.0))
    })
  }

  /** The heavy hitters as estimates use them; None where there are none, or the type has no keys. */
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

/** What the count of a frequent value is. */
sealed trait Counting

object Counting {

  /** The number of its rows. */
  case object Exact extends Counting

  /** @param less by which the count may be too high: what remains has been counted */
  final case class AtLeast(less: Long) extends Counting

  /** An estimate. */
  case object About extends Counting
}

final case class GroupStatistics(columns: Vector[String], ndv: Double)

/**
 * A sample of a table's rows without replacement. Where `rows.length == of` it is the whole table.
 *
 * @param schema   of the sampled columns: flat types only, and only those whose values may be kept
 * @param of       rows of the table
 * @param clusters empty for a uniform sample, drawn at random; else the rows were taken from the files as they lie
 *                 there, and here begin those that lay together
 * @param counts   of columns of which all rows of the table were read, by name
 */
final case class TableSample(
    schema: StructType,
    rows: SampledRows,
    of: Long,
    clusters: Vector[Int] = Vector.empty,
    counts: Map[String, CountedColumn] = Map.empty
) {

  /** Tells samples apart where results are kept, which must not keep the rows. */
  val id: Long = TableSample.ids.getAndIncrement()

  lazy val all: RowNumbers = RowNumbers.all(rows.length)

  private val joint = new ConcurrentHashMap[Vector[Int], java.lang.Double]

  /**
   * Distinct combinations, without a NULL, of some columns of the table, as far as the sample tells; None where a type
   * has no keys. Kept.
   */
  def distinct(columns: Vector[Int]): Option[Double] = {
    val keys = columns.map(c => JoinKeys.forType(schema(c).dataType))
    if (keys.exists(_.isEmpty) || rows.isEmpty) None
    else
      Some(joint.computeIfAbsent(
        columns,
        _ => {
          val of                    = columns.zip(keys.flatten).toArray
          def key(row: InternalRow) = of.foldLeft(0L) { case (k, (c, toKey)) =>
            RelationSample.together(k, toKey(row.get(c, schema(c).dataType)))
          }
          val found = rows.iterator.map(key).filter(_ != RelationSample.NullKey).toArray
          DistinctInSample(found.iterator, this.of.toDouble * found.length / rows.length)
        }
      ))
  }
}

object TableSample {
  private val ids = new AtomicLong
}
