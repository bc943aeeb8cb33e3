package org.apache.spark.sql.dovetail.advise

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.Command
import org.apache.spark.sql.dovetail.base.{DovetailConf, ErrorCondition, FailOpen}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.{ActualRows, GroupReport, ReportJson, ReportText, Trace}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution, SQLExecution}

/**
 * Plans a query and reports what Dovetail did; with `actual` it runs the query too, and reports the rows that came out
 * of its joins.
 */
object ExplainQuery {
  val Formats: Seq[String] = Seq("text", "json")
  val Runs: Seq[String]    = Seq("planned", "actual")

  def apply(session: SparkSession, sql: String, format: String, run: String): String = {
    if (!Formats.contains(format)) refuse(s"there is no format '$format'. Allowed: ${Formats.mkString(", ")}")
    if (!Runs.contains(run)) refuse(s"'$run' is not known. Allowed: ${Runs.mkString(", ")} (the query is run)")
    val state = session.sessionState
    // without SKIP, a statement that writes or drops would do so when it is planned
    val execution  = state.executePlan(state.sqlParser.parsePlan(sql), CommandExecutionMode.SKIP)
    val (_, trace) = Trace.collecting(execution.optimizedPlan)
    val planned    = withMissing(session, trace)
    val groups     = if (run == "actual") ActualRows(executed(execution), planned) else planned
    val enabled    = DovetailConf.Enabled.get(state.conf)
    if (format == "json")
      ReportJson(BuildInfo.version, enabled, DovetailConf.CostModel.get(state.conf), groups, trace.millis)
    else ReportText(BuildInfo.version, enabled, groups, trace.millis)
  }

  /**
   * Every group with the statistics whose lack its estimates suffer from, those of the dearest joins first. Explain
   * does without where these fail.
   */
  private def withMissing(session: SparkSession, trace: Trace): Vector[GroupReport] =
    FailOpen("looking for missing statistics", (_: String) => trace.groups) {
      val doubtful =
        if (trace.groups.exists(_.before.isDefined))
          PlanningTime.ofItsOwn(session.sessionState.conf)(AdviseQuery.adviceFor(
            session,
            trace
          )).getOrElse(Vector.empty).filter(a =>
            a.doubtful && a.statement.isDefined
          )
        else Vector.empty
      trace.groups.map { g =>
        val tables = g.relations.flatMap(_.tables).toSet
        g.copy(missing = doubtful.filter(_.identity.exists(tables)).sortBy(-_.costShare.getOrElse(0.0)))
      }
    }

  /** The plan after it has run; its rows go nowhere. */
  private def executed(execution: QueryExecution) = {
    if (execution.analyzed.isInstanceOf[Command]) refuse("'actual' works only for queries, not for commands")
    SQLExecution.withNewExecutionId(execution, Some("dovetail explain, actual rows"))(execution.toRdd.foreach(_ => ()))
    execution.executedPlan
  }

  private def refuse(why: String): Nothing = throw ErrorCondition.InvalidArgument(
    s"dovetail_explain: $why.",
    "function" -> "dovetail_explain"
  )
}
