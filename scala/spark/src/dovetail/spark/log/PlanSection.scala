package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{Callers, FailOpen}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.report.ReportText
import org.apache.spark.sql.execution.SparkPlan

/**
 * The section on Dovetail in Spark's own explain and in the SQL tab of Spark's UI, from the query log. It is empty if
 * the log has no entry for the plan. `EXPLAIN` and the UI show the full text. `df.explain()` shows only what happened
 * and the orders, in every mode, because Spark passes the plan but not the mode.
 */
object PlanSection {
  val Title: String = "Dovetail"

  def apply(plan: SparkPlan): String = FailOpen("explaining a plan", (_: String) => "") {
    SparkSession.getActiveSession.fold("") { session =>
      val found  = filled(QueryLog(session).entriesOf(plan))
      val groups = found.flatMap(_.groups)
      // the log has only queries that were planned with Dovetail on
      def text = new ReportText(BuildInfo.version, enabled = true, verbose = false)
      if (found.isEmpty) ""
      else if (inFull()) text(groups, Vector("total" -> found.map(_.millis).sum))
      else text.short(groups)
    }
  }

  /**
   * Those of the entries that the log's thread has filled. It has just begun when a query starts, so it gets a moment;
   * the query itself waits here for its text in the UI.
   */
  private def filled(entries: Vector[LoggedQuery]): Vector[LoggedQuery] = {
    if (!entries.forall(_.details.isMade))
      Aside.start("dovetail-section", () => entries.foreach(_.details.value)).join(WaitMillis)
    entries.filter(_.details.isMade)
  }

  /** Milliseconds that a query waits for its text. Making it takes some, and in a new JVM a few hundred. */
  private val WaitMillis = 1000L

  /** Whether the caller is an EXPLAIN statement or Spark's UI, which show the full text. */
  private def inFull(): Boolean = Callers.include(Whole: _*)

  private val Whole =
    Vector("org.apache.spark.sql.execution.command.ExplainCommand", "org.apache.spark.sql.execution.SQLExecution")
}
