package org.apache.spark.sql.dovetail.footers

import java.math.BigInteger
import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/**
 * Converts the statistics of Parquet's types to the number line of estimates (`predicates.Values`): days, microseconds,
 * scaled decimals.
 */
object ParquetValues {

  def kind(t: PrimitiveType): Kind = (t.getPrimitiveTypeName, t.getLogicalTypeAnnotation) match {
    case (_, _: DateLogicalTypeAnnotation)                                           => Kind.Date
    case (INT64, _: TimestampLogicalTypeAnnotation) | (INT96, _)                     => Kind.Timestamp
    case (_, _: DecimalLogicalTypeAnnotation)                                        => Kind.Number
    case (_, _: TimeLogicalTypeAnnotation) | (BINARY, _) | (FIXED_LEN_BYTE_ARRAY, _) => Kind.Other
    case _                                                                           => Kind.Number
  }

  def ends(t: PrimitiveType, statistics: Statistics[_]): Option[Ends] =
    if (!statistics.hasNonNullValue) None
    else if (kind(t) == Kind.Other)
      text(statistics.genericGetMin).flatMap(l => text(statistics.genericGetMax).map(Texts(l, _)))
    else for (l <- number(t, statistics.genericGetMin); h <- number(t, statistics.genericGetMax); if l <= h)
      yield Numbers(l, h)

  /** Bytes of a plain-encoded value. */
  def fixedBytes(t: PrimitiveType): Option[Double] = t.getPrimitiveTypeName match {
    case INT32 | FLOAT        => Some(4.0)
    case INT64 | DOUBLE       => Some(8.0)
    case INT96                => Some(12.0)
    case FIXED_LEN_BYTE_ARRAY => Some(t.getTypeLength.toDouble)
    case _                    => None
  }

  private def text(value: Any): Option[String] = value match {
    case b: Binary if b.length < CutBytes => Some(new String(b.getBytes, ISO_8859_1))
    case _                                => None
  }

  private def number(t: PrimitiveType, value: Any): Option[Double] = (value, t.getLogicalTypeAnnotation) match {
    case (n: java.lang.Number, d: DecimalLogicalTypeAnnotation) => Some(decimal(BigInteger.valueOf(n.longValue), d))
    case (b: Binary, d: DecimalLogicalTypeAnnotation)           => Some(decimal(new BigInteger(b.getBytes), d))
    case (n: java.lang.Long, s: TimestampLogicalTypeAnnotation) => Some(n.doubleValue * MicrosPer(s.getUnit))
    case (n: java.lang.Number, i: IntLogicalTypeAnnotation) if !i.isSigned =>
      Some(if (n.longValue < 0L) n.longValue + math.pow(2.0, if (t.getPrimitiveTypeName == INT32) 32.0 else 64.0)
      else n.doubleValue)
    case (n: java.lang.Number, _)  => Some(n.doubleValue).filterNot(d => d.isNaN || d.isInfinite)
    case (b: java.lang.Boolean, _) => Some(if (b) 1.0 else 0.0)
    case _                         => None
  }

  private def decimal(unscaled: BigInteger, d: DecimalLogicalTypeAnnotation): Double =
    new java.math.BigDecimal(unscaled, d.getScale).doubleValue

  private val MicrosPer: Map[TimeUnit, Double] =
    Map(TimeUnit.MILLIS -> 1e3, TimeUnit.MICROS -> 1.0, TimeUnit.NANOS -> 1e-3)

  /**
   * Length in bytes from which on a writer may have truncated a string (Arrow for Rust and the indexes of parquet-mr
   * truncate there). Parts whose strings begin alike would then seem to have the same ends.
   */
  private val CutBytes = 64
}
