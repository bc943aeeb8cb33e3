package org.apache.spark.sql.dovetail.log

import java.time.Instant

import org.apache.spark.sql.dovetail.report.{GroupReport, JoinReport, LazyValue, QError, TreeReport}
import org.apache.spark.sql.types._

/**
 * One query, or one subquery of it, as it was optimized.
 *
 * @param told   its text, where it came from SQL, and its groups
 * @param millis that the rule took
 * @param nanos  that its last run took
 */
final case class LoggedQuery(
    id: Long,
    at: Instant,
    told: LazyValue[LoggedQuery.Told],
    millis: Double,
    runs: Int,
    nanos: Option[Long]
) {
  def query: Option[String]       = told.value.query
  def groups: Vector[GroupReport] = told.value.groups

  def ran(counted: Vector[GroupReport], took: Long): LoggedQuery =
    copy(told = LazyValue.made(told.value.copy(groups = counted)), runs = runs + 1, nanos = Some(took))

  /** Bytes of memory, roughly; none of what is not made yet. */
  def bytes: Long = if (told.isMade) size else 0L

  private lazy val size: Long = query.fold(0L)(_.length * 2L) + groups.map { g =>
    g.relations.map(LoggedQuery.PerRelation + _.columns.size * LoggedQuery.PerColumn).sum +
      (g.before ++ g.after).flatMap(_.joins).map(LoggedQuery.PerJoin + _.condition.length * 2L).sum
  }.sum

  private lazy val used: Vector[(TreeReport, TreeReport)] =
    groups.flatMap(g => g.before.map(b => (b, g.after.getOrElse(b).copy(joins = g.joins))))
  private lazy val joins: Vector[JoinReport] = groups.flatMap(_.joins)

  /** Share of the written order's estimated cost that was saved. */
  def predictedGain: Option[Double] = gain(used.map(_._2.cost.total).sum, used.map(_._1.cost.total).sum)

  /** Rows out of all joins, as estimated, and as they came; the latter only if all joins are known. */
  def estimatedRows: Double  = joins.map(_.rows.value).sum
  def joinRows: Option[Long] =
    if (joins.nonEmpty && joins.forall(_.actual.isDefined)) Some(joins.flatMap(_.actual).sum) else None
  def qError: Option[Double] =
    joins.flatMap(j => j.actual.map(a => QError(j.rows.value, a.toDouble))).reduceOption(_ max _)
  def reordered: Int = groups.count(_.status == "reordered")

  /**
   * Share of the written order's join rows that were saved. The written order did not run: a join that both have counts
   * with the rows that came, another one with its estimate.
   */
  def seenGain: Option[Double] = joinRows.flatMap { rows =>
    gain(
      rows.toDouble,
      used.map { case (written, chosen) =>
        val came = chosen.joins.flatMap(j => j.actual.map(j.relations.toSet -> _.toDouble)).toMap
        written.joins.map(j => came.getOrElse(j.relations.toSet, j.rows.value)).sum
      }.sum
    )
  }

  private def gain(now: Double, before: Double): Option[Double] = if (before > 0.0) Some(1.0 - now / before) else None

  def row: Seq[Any] = Seq(
    id,
    java.time.temporal.ChronoUnit.MICROS.between(Instant.EPOCH, at),
    query.orNull,
    groups.count(!_.isRemark),
    reordered,
    predictedGain.orNull,
    millis,
    runs,
    nanos.map(_ / 1e9).orNull,
    estimatedRows,
    joinRows.orNull,
    qError.orNull,
    seenGain.orNull
  )
}

object LoggedQuery {

  // bytes of what a report has of a relation, of a column's number, and of a join
  private val PerRelation = 500L
  private val PerColumn   = 50L
  private val PerJoin     = 500L

  final case class Told(query: Option[String], groups: Vector[GroupReport])

  /** Of `dovetail_queries()`. */
  val columns: Seq[(String, DataType)] = Seq(
    "id"                  -> LongType,
    "optimized_at"        -> TimestampType,
    "query"               -> StringType,
    "groups"              -> IntegerType,
    "reordered"           -> IntegerType,
    "predicted_gain"      -> DoubleType,
    "dovetail_ms"         -> DoubleType,
    "runs"                -> IntegerType,
    "seconds"             -> DoubleType,
    "estimated_join_rows" -> DoubleType,
    "join_rows"           -> LongType,
    "worst_q_error"       -> DoubleType,
    "seen_gain"           -> DoubleType
  )
}
