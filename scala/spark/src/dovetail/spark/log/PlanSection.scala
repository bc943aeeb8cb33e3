package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.report.ReportText
import org.apache.spark.sql.execution.SparkPlan

/**
 * What the log knows of a physical plan, for `df.explain()` and the SQL tab of Spark's user interface; empty where it
 * knows nothing.
 */
object PlanSection {
  val Title: String = "Dovetail"

  def apply(plan: SparkPlan): String = FailOpen("explaining a plan", (_: String) => "") {
    SparkSession.getActiveSession.fold("") { session =>
      val found = QueryLog(session).entriesOf(plan)
      if (found.isEmpty) ""
      else
        ReportText(
          BuildInfo.version,
          DovetailConf.Enabled.get(session.sessionState.conf),
          found.flatMap(_.groups),
          Vector("total" -> found.map(_.millis).sum)
        )
    }
  }
}
