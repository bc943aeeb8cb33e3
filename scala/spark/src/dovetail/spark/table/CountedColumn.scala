package org.apache.spark.sql.dovetail.table

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Frequencies, FrequentValue}
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, Values}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnVector

/**
 * A column of a small table of which every row was read: what a join with it needs to know is a count, not an estimate.
 *
 * @param nulls    rows without a value
 * @param values   rows with one
 * @param distinct values
 * @param degree   rows of the most frequent value
 * @param frequent the most frequent values with the share of `values` that each has
 */
final case class CountedColumn(nulls: Long, values: Long, distinct: Long, degree: Long, frequent: Frequencies) {

  /** Of memory. */
  def bytes: Long = frequent.values.size * CountedColumn.BytesOfValue

  /**
   * What footers say of the column, with these counts instead of their guesses. Whether the rows of a frequent value meet
   * those of another column's is known no better than before.
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
      uncounted = false
    )
  }
}

object CountedColumn {

  /** Frequent values that are kept: as many as of a collected column. */
  private val Most = 256

  /** Of a frequent value with its places in the maps that find it. */
  private val BytesOfValue = 200L

  /**
   * Counts the values of a column. Its loops are small: a driver that has just begun runs them before they are
   * compiled.
   */
  final class Counter(dataType: DataType, key: JoinKeys) {
    private val counts  = new KeyCounts
    private var nulls   = 0L
    private val ordered = key.ordered && Values.ordered(dataType)

    /** @param value Catalyst's; it is not kept */
    def add(value: Any): Unit = if (value == null) nulls += 1L else counts.add(key(value))

    /** The first values of a vector. */
    def add(vector: ColumnVector, values: Int): Unit = dataType match {
      case IntegerType | DateType                      => each(vector, values)(i => vector.getInt(i).toLong)
      case LongType | TimestampType | TimestampNTZType => each(vector, values)(vector.getLong(_))
      case StringType                                  => each(vector, values)(i => key(vector.getUTF8String(i)))
      case ShortType                                   => each(vector, values)(i => vector.getShort(i).toLong)
      case ByteType                                    => each(vector, values)(i => vector.getByte(i).toLong)
      case _                                           => each(vector, values)(i => key(vector.getBoolean(i)))
    }

    private def each(vector: ColumnVector, values: Int)(keyAt: Int => Long): Unit = {
      var i = 0
      while (i < values) { if (vector.isNullAt(i)) nulls += 1L else counts.add(keyAt(i)); i += 1 }
    }

    def result: CountedColumn = {
      val values = counts.total
      val most   = counts.most(Most).map { case (k, n) =>
        FrequentValue(k, if (ordered) Some(k.toDouble) else None, n.toDouble / math.max(values, 1L))
      }
      CountedColumn(
        nulls,
        values,
        counts.size.toLong,
        counts.largest,
        Frequencies(most, complete = counts.size <= Most)
      )
    }
  }

  object Counter {

    /** None where values of the type cannot be compared by a key, or hardly ever are keys of joins. */
    def apply(dataType: DataType): Option[Counter] = dataType match {
      case _: IntegralType | DateType | TimestampType | TimestampNTZType | StringType | BooleanType =>
        JoinKeys.forType(dataType).map(new Counter(dataType, _))
      case _ => None
    }
  }
}
