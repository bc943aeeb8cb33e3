package org.apache.spark.sql.dovetail.log

import java.time.Instant

import org.apache.spark.sql.dovetail.base.{LazyValue, Nanoseconds}
import org.apache.spark.sql.dovetail.report.{GroupReport, JoinReport, QError, TreeReport}
import org.apache.spark.sql.types._

/**
 * An entry of the query log: one query, or one subquery, that was optimized.
 *
 * @param id      number of the entry
 * @param at      time when the query was optimized
 * @param details text of the query, if it came from SQL, and reports on its groups
 * @param millis  time that the rule took, in milliseconds
 * @param runs    number of runs
 * @param nanos   time of the last run, in nanoseconds
 */
final case class LoggedQuery(
    id: Long,
    at: Instant,
    details: LazyValue[LoggedQuery.Details],
    millis: Double,
    runs: Int,
    nanos: Option[Long]
) {
  def query: Option[String]       = details.value.query
  def groups: Vector[GroupReport] = details.value.groups

  /** The same entry with other reports on its groups. */
  def reported(groups: Vector[GroupReport]): LoggedQuery =
    copy(details = LazyValue.made(details.value.copy(groups = groups)))

  def ran(counted: Vector[GroupReport], took: Long): LoggedQuery =
    reported(counted).copy(runs = runs + 1, nanos = Some(took))

  /** Approximate bytes of memory; 0 as long as text and reports have not been made. */
  def bytes: Long = if (details.isMade) size + keys else 0L

  private def keys: Long =
    groups.map(g => if (g.identity.isMade) g.identity.value.fold(0L)(_.sets.size * LoggedQuery.PerSet) else 0L).sum

  private lazy val size: Long = query.fold(0L)(_.length * 2L) + groups.map { g =>
    g.relations.map(LoggedQuery.PerRelation + _.columns.size * LoggedQuery.PerColumn).sum +
      (g.before ++ g.after).flatMap(_.joins).map(j =>
        LoggedQuery.PerJoin + j.condition.length * 2L + j.relations.size * LoggedQuery.PerName
      ).sum + g.counts.size * LoggedQuery.PerSet
  }.sum

  private lazy val used: Vector[(TreeReport, TreeReport)] =
    groups.flatMap(g => g.before.map(b => (b, g.after.getOrElse(b).copy(joins = g.joins))))
  private lazy val joins: Vector[JoinReport] = groups.flatMap(_.joins)

  /** Estimated share of the written order's cost that the chosen order saves. */
  def predictedGain: Option[Double] = gain(used.map(_._2.cost.total).sum, used.map(_._1.cost.total).sum)

  /** Estimated rows of all joins together. `joinRows` are the actual ones, and exist only if all joins were counted. */
  def estimatedRows: Double  = joins.map(_.rows.value).sum
  def joinRows: Option[Long] =
    if (joins.nonEmpty && joins.forall(_.actual.isDefined)) Some(joins.flatMap(_.actual).sum) else None
  def qError: Option[Double] =
    joins.flatMap(j => j.actual.map(a => QError(j.rows.value, a.toDouble))).reduceOption(_ max _)
  def reordered: Int = groups.count(_.status == "reordered")

  /**
   * Share of the written order's join rows that the chosen order saved. The written order did not run, so its joins
   * count with their actual rows if the chosen order has the same join, and otherwise with their estimates.
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
    nanos.map(Nanoseconds.toSeconds).orNull,
    estimatedRows,
    joinRows.orNull,
    qError.orNull,
    seenGain.orNull
  )
}

object LoggedQuery {

  // approximate bytes in memory of a relation, of a column ID, of a join, of a reference to a name, and of a counted
  // set in a report: the objects with their references and boxed numbers. The memory of the log is limited by them, for
  // which a factor of two does not matter
  private val PerRelation = 500L
  private val PerColumn   = 50L
  private val PerJoin     = 500L
  private val PerName     = 8L
  private val PerSet      = 150L

  final case class Details(query: Option[String], groups: Vector[GroupReport])

  /** Columns of `dovetail_queries()`. */
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
