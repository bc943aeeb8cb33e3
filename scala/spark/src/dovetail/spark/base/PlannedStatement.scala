package org.apache.spark.sql.dovetail.base

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.command.{AlterViewAsCommand, CreateViewCommand}

/** SQL texts that are planned and not run, for statements and functions that look at a plan. */
object PlannedStatement {

  def apply(session: SparkSession, sql: String): QueryExecution =
    skipping(session, session.sessionState.sqlParser.parsePlan(sql))

  /**
   * The query that a statement runs. That of a CREATE TABLE AS or a CACHE TABLE AS is inside a command, and Spark plans
   * it when it runs the command.
   */
  def queryOf(statement: QueryExecution): QueryExecution =
    inside(statement.analyzed).fold(statement)(skipping(statement.sparkSession, _))

  // otherwise Spark would execute statements that write or drop
  private def skipping(session: SparkSession, plan: LogicalPlan): QueryExecution =
    session.sessionState.executePlan(plan, CommandExecutionMode.SKIP)

  private def inside(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case _: CreateViewCommand | _: AlterViewAsCommand => None // they do not run their query
    case c: Command if c.children.isEmpty             =>
      c.innerChildren.collectFirst { case query: LogicalPlan if query.resolved && query.output.nonEmpty => query }
    case _ => None
  }
}
