package org.apache.spark.sql.dovetail.stats

import scala.util.control.NonFatal

import dovetail.kernel.profile._
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Cast, Expression, Literal}
import org.apache.spark.sql.dovetail.database.{DatabaseColumn, DatabaseTable}
import org.apache.spark.sql.dovetail.predicates.{Conditions, JoinKeys, Values, Widths}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DateType, NumericType, TimestampNTZType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows and columns of a table from the statistics of the database that holds it. The database took them from a sample
 * some time ago, so they are only estimates: neither rows nor widths have an upper bound.
 */
private[stats] object DatabaseProfile {

  /**
   * @param pushed predicates that Spark has pushed into the database and removed from the plan; None for an unknown
   *               predicate
   */
  def apply(
      output: Seq[Attribute],
      table: DatabaseTable,
      pushed: Seq[Option[Expression]],
      conf: SQLConf
  ): RelationProfile = {
    val whole = of(output, table, conf)
    val known = pushed.flatten.reduceOption(And(_, _)).fold(whole)(e => Filters(whole, new Conditions()(e)))
    pushed.filter(_.isEmpty).foldLeft(known)((p, _) => p.scaled(Assumptions.Opaque))
      .copy(baseRows = whole.baseRows)
  }

  private def of(output: Seq[Attribute], table: DatabaseTable, conf: SQLConf): RelationProfile = {
    val rows    = Estimate.guess(table.rows, Source.Database)
    val columns = output.map { a =>
      a.exprId.id -> table.columns.get(a.name).fold(UnknownColumns(a))(
        column(a.dataType, _, rows.value, conf)
      )
    }
    RelationProfile(rows, columns.toMap, rows.value)
  }

  private def column(dataType: DataType, c: DatabaseColumn, rows: Double, conf: SQLConf): ColumnProfile = {
    val nonNull  = 1.0 - c.nulls
    val frequent =
      for ((text, share) <- c.frequent; v <- value(text, dataType, conf)) yield (v, math.min(1.0, share / nonNull))
    val histogram = if (onLine(dataType)) buckets(dataType, c, frequent, conf) else None
    val found     = ColumnProfile.checked(
      ndv = c.distinct.map(math.min(_, math.max(rows * nonNull, 1.0))),
      nulls = Some(c.nulls * rows),
      rows = Some(rows),
      min = histogram.map(_.min),
      max = histogram.map(_.max),
      histogram = histogram,
      width = Some(if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType) else Width.unknown(c.width))
    )._1
    found.copy(
      frequent = JoinKeys.forType(dataType).filter(_ => frequent.nonEmpty).map(key =>
        Frequencies(
          frequent.map { case (v, share) => FrequentValue(key(v), Values.number(v), share) },
          complete = false
        )
      ),
      // rows that were added later may have values outside of the known range
      unseen = Unseen
    )
  }

  /**
   * Assumed share of rows outside of the smallest and the largest value that the database saw in its sample some time
   * ago.
   */
  private val Unseen = 0.01

  private def onLine(dataType: DataType): Boolean = dataType match {
    case _: NumericType | DateType | TimestampType | TimestampNTZType => true
    case _                                                            => false
  }

  /**
   * The bounds of PostgreSQL's histogram leave out the frequent values. This histogram has a separate bucket for each
   * frequent value, among the others.
   */
  private def buckets(
      dataType: DataType,
      c: DatabaseColumn,
      frequent: Vector[(Any, Double)],
      conf: SQLConf
  ): Option[Histogram] = {
    def number(v: Any) = Values.number(v).filter(n => !n.isNaN && !n.isInfinite)
    val points         = frequent.flatMap { case (v, share) => number(v).map(_ -> share) }.sortBy(_._1)
    val bounds         = c.bounds.flatMap(value(_, dataType, conf)).flatMap(number).sorted
    val rest           = math.max(0.0, 1.0 - frequent.map(_._2).sum)
    val parts          = math.max(bounds.size - 1, 1)
    val others         = c.distinct.fold(Assumptions.AttributeNdv)(d => math.max(1.0, d - frequent.size)) / parts
    val ranges         =
      if (bounds.size < 2 || rest <= 0.0) Vector.empty
      else bounds.zip(bounds.tail).flatMap { case (low, high) =>
        split(low, high, points.map(_._1).filter(p => p > low && p < high), rest / parts, others)
      }
    val singles = points.filter(_._2 > 0.0).map { case (p, share) => Bucket(p, p, 1.0, share) }
    val all     = (ranges ++ singles).sortBy(b => (b.low, b.high))
    if (all.isEmpty) None else Some(Histogram(all))
  }

  /** Splits a bucket at the frequent values that lie in it. */
  private def split(low: Double, high: Double, at: Vector[Double], weight: Double, ndv: Double): Vector[Bucket] = {
    val ends = low +: at :+ high
    ends.zip(ends.tail).map { case (a, b) =>
      val share = if (high > low) (b - a) / (high - low) else 1.0
      Bucket(a, b, if (a == b) 1.0 else math.max(1.0, ndv * share), weight * share)
    }
  }

  /**
   * Casts a value that the database wrote as text to the column's type; None if the text is not a value of this type.
   */
  private def value(text: String, dataType: DataType, conf: SQLConf): Option[Any] =
    try Option(Cast(Literal(UTF8String.fromString(text)), dataType, Some(conf.sessionLocalTimeZone)).eval())
    catch { case NonFatal(_) => None }
}
