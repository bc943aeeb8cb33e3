package org.apache.spark.sql.dovetail.advise

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.Command
import org.apache.spark.sql.dovetail.base.{DovetailConf, ErrorCondition, FailOpen, Nanoseconds, PlannedStatement}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.{HintedJoins, WronglyHashed}
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.dovetail.report.{
  ActualReducers,
  ActualRows,
  ExecutedRun,
  ExecutedStep,
  ExecutedSteps,
  GroupReport,
  ReportJson,
  ReportText,
  Trace
}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

/**
 * Plans a query and reports what Dovetail did. With `actual` it also runs the query and reports the rows that its joins
 * returned. For a number it reports what the log contains about the query with this number in `dovetail_queries()`.
 */
object ExplainQuery {
  val Formats: Seq[String] = Seq("text", "verbose", "json")
  val Runs: Seq[String]    = Seq("planned", "actual")

  /** No query begins so; a negative number is told that it is the number of no query. */
  private val Number = "-?\\d+".r

  def apply(session: SparkSession, sql: String, format: String, run: String): String = {
    if (!Formats.contains(format)) refuse(s"there is no format '$format'. Allowed: ${Formats.mkString(", ")}")
    if (!Runs.contains(run))
      refuse(s"'$run' is not allowed here. Allowed: ${Runs.mkString(", ")} ('actual' runs the query)")
    if (Number.pattern.matcher(sql.trim).matches) past(session, sql.trim, format, run)
    else planned(session, sql, format, run)
  }

  /** Reports what the session's log contains about a past query. */
  private def past(session: SparkSession, number: String, format: String, run: String): String = {
    if (run == "actual")
      refuse("'actual' is not for past queries: explain shows their actual rows anyway, if they have run")
    QueryLog.settle(session)
    val logged = QueryLog(session).all
    val known  = if (logged.isEmpty) "it is empty" else s"it has ${logged.head.id} to ${logged.last.id}"
    val query  = logged.find(_.id.toString == number).getOrElse(
      refuse(s"dovetail_queries() has no query $number: $known (spark.dovetail.log.queries is the number it keeps)")
    )
    // the log has only queries that were planned with Dovetail on
    report(session, enabled = true, format, query.groups, Vector("total" -> query.millis), Vector.empty, None)
  }

  private def planned(session: SparkSession, sql: String, format: String, run: String): String = {
    val enabled    = DovetailConf.Enabled.get(session.sessionState.conf)
    val statement  = PlannedStatement(session, sql)
    val execution  = PlannedStatement.queryOf(statement)
    val (_, trace) = Trace.collecting(execution.optimizedPlan)
    val informed   = withMissing(session, trace)
    if (run != "actual") report(session, enabled, format, informed, trace.millis, notes(trace), None)
    else {
      refuseCommand(statement)
      val start = System.nanoTime()
      val plan  = executed(execution)
      val ran   = Nanoseconds.toMillis(System.nanoTime() - start)
      val steps = FailOpen("reading the metrics of a run", (_: String) => Vector.empty[ExecutedStep])(
        ExecutedSteps(plan, informed)
      )
      val counted = ActualReducers(plan, ActualRows(plan, informed))
      report(session, enabled, format, counted, trace.millis, notes(trace), Some(ExecutedRun(ran, steps)))
    }
  }

  /** @param enabled whether Dovetail was on when the query was planned */
  private def report(
      session: SparkSession,
      enabled: Boolean,
      format: String,
      groups: Vector[GroupReport],
      millis: Vector[(String, Double)],
      notes: Vector[String],
      run: Option[ExecutedRun]
  ): String = {
    def text(verbose: Boolean) = new ReportText(BuildInfo.version, enabled, verbose)(groups, millis, notes, run)
    format match {
      case "json" =>
        val texts = Seq("text" -> text(verbose = false), "verbose" -> text(verbose = true))
        ReportJson(BuildInfo.version, enabled, costModel(session, groups), groups, millis, notes, run, texts)
      case other => text(verbose = other == "verbose")
    }
  }

  /** The cost model that priced the groups; if it priced none, the session's. */
  private def costModel(session: SparkSession, groups: Vector[GroupReport]): String =
    groups.flatMap(_.costModel).headOption.getOrElse(DovetailConf.CostModel.get(session.sessionState.conf))

  /** Remarks on what keeps joins out of groups: hints, and faults of Spark. */
  private def notes(trace: Trace): Vector[String] =
    FailOpen("looking for joins outside of groups", (_: String) => Vector.empty[String]) {
      trace.input.fold(Vector.empty[String])(plan => HintedJoins(plan) ++ WronglyHashed.note(plan))
    }

  /**
   * Adds to every group the missing statistics that its estimates need, those of the most expensive joins first. If
   * this fails, explain leaves them out.
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

  private def refuseCommand(statement: QueryExecution): Unit =
    if (statement.analyzed.exists(_.isInstanceOf[Command])) refuse("'actual' works only for queries, not for commands")

  /** Runs the query, discards its rows, and returns the executed plan. */
  private def executed(execution: QueryExecution) = {
    SQLExecution.withNewExecutionId(execution, Some("dovetail explain, actual rows"))(execution.toRdd.foreach(_ => ()))
    execution.executedPlan
  }

  private def refuse(why: String): Nothing = throw ErrorCondition.InvalidArgument(
    s"dovetail_explain: $why.",
    "function" -> "dovetail_explain"
  )
}
