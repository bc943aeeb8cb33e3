package org.apache.spark.sql.dovetail.table

import java.util.Arrays
import java.util.stream.LongStream

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Frequencies, FrequentValue, Histogram, Runs}
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, Values}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnVector

/**
 * Exact counts of a column of a small table of which every row was read. Joins on this column are estimated by these
 * counts.
 *
 * @param nulls    number of rows without a value
 * @param values   number of rows with a value
 * @param distinct number of distinct values
 * @param degree   number of rows of the most frequent value
 * @param frequent most frequent values, each with its share of `values`
 * @param spread   where the values lie, if they have an order
 */
final case class CountedColumn(
    nulls: Long,
    values: Long,
    distinct: Long,
    degree: Long,
    frequent: Frequencies,
    spread: Option[Histogram] = None
) {

  /** Bytes of memory. */
  def bytes: Long = frequent.values.size * CountedColumn.BytesOfValue +
    spread.fold(0)(_.buckets.size) * CountedColumn.BytesOfBucket

  /**
   * Replaces the guesses in the column's profile, which comes from footers, by these counts. The repetition stays set,
   * because it is still unknown whether the rows of a frequent value match frequent values of another column.
   */
  def onto(column: ColumnProfile): ColumnProfile = {
    val ndv = Some(distinct.toDouble)
    column.copy(
      ndv = ndv,
      domain = ndv,
      nulls = Some(nulls.toDouble / math.max(nulls + values, 1L)),
      frequent = Some(frequent).filter(_.values.nonEmpty),
      degree = Some(degree.toDouble),
      repetition = Assumptions.repetition(distinct.toDouble, values.toDouble),
      uncounted = false,
      spread = spread
    )
  }
}

object CountedColumn {

  /** Number of frequent values that are kept. */
  private val MostFrequent = 256

  /** Bytes of a frequent value, with its places in the maps that find it. */
  private val BytesOfValue = 200L

  /** Bytes of a bucket, and of its shares below both ends. */
  private val BytesOfBucket = 96L

  /**
   * Counts the values of a column. Its loops are small, because a driver that has just started runs them before they
   * are compiled.
   */
  final class Counter(dataType: DataType, key: JoinKeys) {
    private val keys    = LongStream.builder()
    private var nulls   = 0L
    private val ordered = key.ordered && Values.ordered(dataType)

    /** @param value Catalyst's internal value; the counter does not keep it */
    def add(value: Any): Unit = if (value == null) nulls += 1L else keys.accept(key(value))

    /** Adds the first `values` values of a vector. */
    def add(vector: ColumnVector, values: Int): Unit = dataType match {
      case IntegerType | DateType                      => each(vector, values)(vector.getInt(_).toLong)
      case LongType | TimestampType | TimestampNTZType => each(vector, values)(i => JoinKeys.ofValue(vector.getLong(i)))
      case StringType                                  => each(vector, values)(i => key(vector.getUTF8String(i)))
      case ShortType                                   => each(vector, values)(vector.getShort(_).toLong)
      case ByteType                                    => each(vector, values)(vector.getByte(_).toLong)
      case _                                           => each(vector, values)(i => key(vector.getBoolean(i)))
    }

    private def each(vector: ColumnVector, values: Int)(keyAt: Int => Long): Unit = {
      var i = 0
      while (i < values) { if (vector.isNullAt(i)) nulls += 1L else keys.accept(keyAt(i)); i += 1 }
    }

    def result: CountedColumn = {
      val found          = Runs(this.keys.build().toArray)
      val (keys, counts) = (found.values, found.counts)
      val (rows, most)   = (found.total, mostFrequent(counts))
      CountedColumn(
        nulls,
        rows.toLong,
        keys.length.toLong,
        most.headOption.fold(0L)(counts(_).toLong),
        Frequencies(
          most.map { i =>
            FrequentValue(keys(i), if (ordered) Some(keys(i).toDouble) else None, counts(i).toDouble / rows)
          },
          complete = counts.length <= MostFrequent
        ),
        if (ordered && keys.nonEmpty) Some(ValueQuantiles.ofAll(keys.map(_.toDouble))) else None
      )
    }
  }

  /**
   * Positions of the largest counts, largest first. Equal counts come by their position, so that the same data gives
   * the same plan. Of a key, all counts are equal; they are not sorted.
   */
  private def mostFrequent(counts: Array[Int]): Vector[Int] = {
    val sorted = counts.clone()
    Arrays.sort(sorted)
    val least          = if (counts.length <= MostFrequent) 0 else sorted(counts.length - MostFrequent)
    val (above, equal) = (Vector.newBuilder[Int], Vector.newBuilder[Int])
    var (i, left)      = (0, MostFrequent)
    while (i < counts.length) {
      if (counts(i) > least) above += i
      else if (counts(i) == least && left > 0) { equal += i; left -= 1 }
      i += 1
    }
    (above.result().sortBy(-counts(_)) ++ equal.result()).take(MostFrequent)
  }

  object Counter {

    /** Counter for a type; None if its values cannot be compared by a key, or are hardly ever join keys. */
    def apply(dataType: DataType): Option[Counter] = dataType match {
      case _: IntegralType | DateType | TimestampType | TimestampNTZType | StringType | BooleanType =>
        JoinKeys.forType(dataType).map(new Counter(dataType, _))
      case _ => None
    }
  }
}
