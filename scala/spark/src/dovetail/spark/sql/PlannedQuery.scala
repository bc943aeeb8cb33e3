package org.apache.spark.sql.dovetail.sql

import scala.annotation.tailrec

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.base.ErrorCondition.NotAQuery
import org.apache.spark.sql.dovetail.base.PlannedStatement
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.dovetail.plan.GroupOrdering
import org.apache.spark.sql.dovetail.report.Trace

/**
 * A query in the state in which the rule sees it: planned up to the rule, and not run.
 *
 * @param asker name of the statement or function that plans the query, for error messages
 */
final class PlannedQuery(session: SparkSession, sql: String, asker: String) {
  private val input = {
    val execution = PlannedStatement(session, sql)
    if (execution.analyzed.isInstanceOf[Command])
      throw NotAQuery(s"$asker takes a query (SELECT …), not a command: $sql", "asker" -> asker)
    val (_, trace) = Trace.collecting(execution.optimizedPlan)
    trace.input.getOrElse(
      throw NotAQuery(s"$asker: Spark does not optimize this statement: $sql", "asker" -> asker)
    )
  }
  private val prepared = Preparation(session, input)

  val ordering: GroupOrdering = GroupOrdering(session, session.sessionState.conf, input, prepared)

  /** The plan without the projections on top, which do not change the number of rows. */
  val top: LogicalPlan = PlannedQuery.top(prepared)
}

private object PlannedQuery {
  @tailrec def top(plan: LogicalPlan): LogicalPlan = plan match {
    case Project(_, child) => top(child)
    case other             => other
  }
}
