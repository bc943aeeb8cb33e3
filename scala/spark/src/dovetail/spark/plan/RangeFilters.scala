package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import dovetail.kernel.cost.RangeWork
import dovetail.kernel.enumerate.{KeyRange, KeyRanges, ReducerCandidates}
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Max, Min}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.{DovetailConf, KeyRangeFilter}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Filters on scans by the smallest and the largest key that another input of the group leaves, after the order of the
 * group is decided: `sales.day >= (SELECT min(day) FROM days WHERE year = 2024) AND sales.day <= (SELECT max(day) …)`.
 * Tables are often written in the order of some date or number. The reader of Parquet files then skips the row groups
 * outside of the range, which it cannot do for a Bloom filter or a join.
 *
 * Dates and timestamps reach the reader of files in Java's old classes, which shift dates by a day or two if driver and
 * executors have different time zones, and dates before 1901 by some days. So the filter drops no values of the
 * filtered column before 1902 or after 9999, and the ends of dates have a margin.
 *
 * The rows that the filter drops have no partner, so no order of joins and no estimate changes. [[KeyRanges]] finds the
 * ranges; the footers of the files tell which row groups they meet. The rules of [[ReducerFilters]] apply: which inputs
 * may be filtered, and which may be read again.
 */
final class RangeFilters(planner: Planner, statistics: PlanStatistics, allowance: FilterAllowance) {
  import RangeFilters._

  /** Whether a group of two relations is of interest for its ranges, although it has only one order. */
  def mayPay(group: JoinGroup): Boolean =
    allowance.allowsSubqueries && (planner.reducesAlways || group.leaves.exists(RangeFilters.mayPay(_, group.top.conf)))

  /** The ranges that pay off for a group. */
  def apply(ready: PreparedGroup): Vector[Range] =
    if (!planner.usesRanges || !allowance.allowsSubqueries || !isLarge(ready)) Vector.empty
    else {
      val found = PlanningTime.orNoneEarly(all(ready)).getOrElse {
        PlanningTime.cut(s"scans were not filtered by key ranges: ${TimeIsUp.reason}")
        Vector.empty[Range]
      }
      val used = found.take(allowance.ranges)
      allowance.takeRanges(used.size)
      used
    }

  private def all(ready: PreparedGroup): Vector[Range] = {
    val rules  = ReducerFilters.allowed(ready, planner, most = 1L)
    val scans  = rules.reducible.flatMap { case k @ (r, c) => scanned(ready, r, c).map(k -> _) }.toMap
    val usable = rules.copy(
      reducible = scans.keySet,
      readable = rules.readable.filter { case (s, c) => keyOf(ready, s, c).isDefined },
      small = rules.small.filter(s => InputTasks.fitIntoOne(ready.leaves(s)))
    )
    new KeyRanges(ready.graph, usable, () => PlanningTime.check()).all
      .flatMap(r => priced(ready, r, scans((r.reduced, r.keys))))
      .groupBy(_.range.reduced).toVector.sortBy(_._1).map(_._2.minBy(_.read))
  }

  /** Whether skipping any table as a whole would pay off. */
  private def isLarge(ready: PreparedGroup): Boolean = ready.graph.relations.indices.exists(isLarge(ready, _))

  private def isLarge(ready: PreparedGroup, r: Int): Boolean = {
    val relation = ready.graph.relations(r)
    pays(RangeWork(relation.profile.baseRows, relation.width, 0.0))
  }

  private def pays(work: RangeWork): Boolean = planner.reducesAlways || work.pays(planner.constants, planner.facts)

  private def priced(ready: PreparedGroup, r: KeyRange, scan: Scan): Option[Range] =
    statistics.between(scan.table, scan.key, r.low, r.high).filter { read =>
      val relation = ready.graph.relations(r.reduced)
      val again    = r.by.map(ready.graph.relations(_).tableBytes).sum
      (planner.reducesAlways || read <= ReducerCandidates.MostKept) && pays(RangeWork(
        relation.profile.baseRows * (1.0 - read),
        relation.width,
        again
      ))
    }.map(Range(r, scan.key, _))

  /** The table that an input reads with projections and filters alone, and its column that has the keys of a class. */
  private def scanned(ready: PreparedGroup, r: Int, c: Int): Option[Scan] =
    if (!isLarge(ready, r)) None
    else
      keyOf(ready, r, c).flatMap(key => table(ready.leaves(r)).filter(_.outputSet.contains(key)).map(Scan(_, key)))
        .filter(scan => isPushed(scan.key.dataType, scan.table.conf))

  private def table(plan: LogicalPlan): Option[LogicalRelation] = plan match {
    case Project(_, child)  => table(child)
    case Filter(_, child)   => table(child)
    case r: LogicalRelation => files(r).map(_ => r)
    case _                  => None
  }
}

object RangeFilters {

  /**
   * Bytes of files below which reading a table takes less than the two subqueries of a range, so that a single join of
   * it is not looked at.
   */
  private val LeastBytes = 128L * 1024 * 1024

  /** Whether ranges are used, and the plan scans a large table of which row groups may be skipped. */
  def mayPay(plan: LogicalPlan, conf: SQLConf): Boolean = areOn(conf) && scansLargeTable(plan)

  /** Whether the plan scans a table of Parquet files that takes long to read. */
  def scansLargeTable(plan: LogicalPlan): Boolean =
    plan.exists { case r: LogicalRelation => files(r).exists(_.sizeInBytes >= LeastBytes); case _ => false }

  def areOn(conf: SQLConf): Boolean =
    DovetailConf.ReducersRanges.get(conf) && ScanSubqueries.pushed && conf.parquetFilterPushDown

  private def files(r: LogicalRelation): Option[HadoopFsRelation] = r.relation match {
    case f: HadoopFsRelation if f.fileFormat.isInstanceOf[ParquetFileFormat] => Some(f)
    case _                                                                   => None
  }

  /**
   * A range that pays off.
   *
   * @param key  column of the filtered input
   * @param read share of the rows that are in row groups which the range meets
   */
  final case class Range(range: KeyRange, key: Attribute, read: Double) {

    /** The remark on the range in explain. */
    def note(ready: PreparedGroup): String = {
      val names   = ready.graph.relations.map(_.name)
      val members = range.by.headOption.toVector.flatMap(ready.graph.keys(range.keys).memberOf(_)).map(_.text)
      "%s is read only between the smallest and the largest %s (about %.0f %% of its row groups)"
        .formatLocal(Locale.ROOT, names(range.reduced), members.mkString, read * 100.0)
    }
  }

  final private case class Scan(table: LogicalRelation, key: Attribute)

  /** The filter conditions of ranges, each with the input that it belongs to. */
  def conditions(ready: PreparedGroup, ranges: Vector[Range]): Vector[(Int, Expression)] =
    ranges.map(r => r.range.reduced -> condition(ready, r))

  /** The column of an input that has the keys of a class: the one whose keys its sample has. */
  private def keyOf(ready: PreparedGroup, r: Int, c: Int): Option[Attribute] =
    ready.keys(c).find(_.relation == r).map(_.expression).collect { case key: Attribute => key }

  private def condition(ready: PreparedGroup, r: Range): Expression = {
    val key  = keyOf(ready, r.range.by.head, r.range.keys)
    val keys = Project(key.toSeq, ready.rebuild.keys(r.range.by, r.range.tested))
    // one partition needs no exchange
    val whole = Repartition(1, shuffle = false, KeySource.prepared(keys))
    // Spark makes one subquery with a struct of two that read the same; a reader of files could not compare with that
    val other = Repartition(1, shuffle = false, Repartition(1, shuffle = false, whole.child))
    orFarAway(
      r.key,
      And(
        GreaterThanOrEqual(r.key, end(whole, KeyRangeFilter.Smallest)(Min(_), smallest)),
        LessThanOrEqual(r.key, end(other, KeyRangeFilter.Largest)(Max(_), largest))
      )
    )
  }

  /**
   * The condition, or a key that Java's old classes do not convert faithfully. Files may be written after planning, so
   * their footers do not tell that there are no such keys.
   */
  private def orFarAway(key: Attribute, condition: Expression): Expression = {
    def far(early: Literal, late: Literal) = Or(Or(LessThan(key, early), GreaterThan(key, late)), condition)
    val (first, last)                      = (FirstDay + Margin, LastDay - Margin)
    key.dataType match {
      case DateType      => far(Literal(first, DateType), Literal(last, DateType))
      case TimestampType => far(Literal(first * DayMicros, TimestampType), Literal(last * DayMicros, TimestampType))
      case _             => condition
    }
  }

  private def end(keys: LogicalPlan, name: String)(
      function: Expression => AggregateFunction,
      wider: Expression => Expression
  ): Expression =
    ScalarSubquery(keys.groupBy()(Alias(wider(function(keys.output.head).toAggregateExpression()), name)()))

  // the ends may lie outside of the values that the filtered column has, where they would not be converted faithfully
  private def smallest(e: Expression): Expression = e.dataType match {
    case DateType      => DateSub(Greatest(Seq(e, Literal(FirstDay, DateType))), Literal(Margin))
    case TimestampType => Greatest(Seq(e, Literal(FirstDay * DayMicros, TimestampType)))
    case _             => e
  }

  private def largest(e: Expression): Expression = e.dataType match {
    case DateType      => DateAdd(Least(Seq(e, Literal(LastDay, DateType))), Literal(Margin))
    case TimestampType => Least(Seq(e, Literal(LastDay * DayMicros, TimestampType)))
    case _             => e
  }

  /** Whether Spark's reader skips row groups by comparisons of this type. It never does for TIMESTAMP_NTZ. */
  private def isPushed(t: DataType, conf: SQLConf): Boolean = t match {
    case _: IntegralType => true
    case DateType        => conf.parquetFilterPushDownDate
    case TimestampType   => conf.parquetFilterPushDownTimestamp
    case _               => false
  }

  /** Days since 1970 of 1902-01-01 and 9999-12-31. Between them, Java's old classes shift dates by time zones only. */
  private val FirstDay = -24837
  private val LastDay  = 2932896

  /** Days by which dates may differ between two time zones: these are up to 26 hours apart, so two; and one more. */
  private val Margin = 3

  private val DayMicros = 24L * 60 * 60 * 1000 * 1000
}
