package org.apache.spark.sql.dovetail.sql

import scala.annotation.tailrec

import dovetail.kernel.estimate.Estimate
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.dovetail.explain.Trace
import org.apache.spark.sql.dovetail.plan.{GroupOrdering, JoinGroup, Planner, Preparation}
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, StoredTables}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.types.{DataType, DoubleType, StringType}

/**
 * Rows that a query would return, estimated as the rule does it: the row behind `dovetail_estimate`. The query is planned, not run.
 *
 * A group of inner joins at the top gets what the search takes for the set of all its relations, also where there are only two, which the search leaves
 * alone; any other plan what the rule takes for a leaf of a group.
 */
object EstimateQuery {
  val columns: Seq[(String, DataType)] = Seq("value" -> DoubleType, "lower" -> DoubleType, "upper" -> DoubleType, "source" -> StringType)

  def apply(session: SparkSession, sql: String): Seq[Any] = {
    val state      = session.sessionState
    val (_, trace) = Trace.collecting(state.executePlan(state.sqlParser.parsePlan(sql), CommandExecutionMode.SKIP).optimizedPlan)
    val plan       = trace.input.getOrElse(throw new IllegalArgumentException(s"dovetail_estimate: Spark does not optimize this statement: $sql"))
    val rows       = estimate(session, plan)
    // an unknown bound is NULL, not a made-up number
    Seq(rows.value, rows.lower, if (rows.upper >= Estimate.Ceiling) null else rows.upper, rows.source.name)
  }

  private def estimate(session: SparkSession, plan: LogicalPlan): Estimate = {
    val prepared = Preparation(session, plan)
    val planner  = new Planner(session.sessionState.conf, session)
    val ordering = new GroupOrdering(planner, new PlanStatistics(session.sessionState.conf, planner.histograms, new StoredTables(session)))
    Seq(plan, prepared).foreach(ordering.statistics.learnFrom)
    ordering.statistics.readAhead(prepared)
    top(prepared) match {
      case JoinGroup(group) => ordering.rows(group)
      case other            => ordering.statistics(other).rows
    }
  }

  /** Without projections, which change no rows. */
  @tailrec private def top(plan: LogicalPlan): LogicalPlan = plan match {
    case Project(_, child) => top(child)
    case other             => other
  }
}
