package org.apache.spark.sql.dovetail.history

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.{BuildInfo, FailOpen}
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.sql.dovetail.explain.ReportText
import org.apache.spark.sql.execution.SparkPlan

/** What the log knows of a physical plan, for `df.explain()` and the SQL tab of Spark's user interface; empty where it knows nothing. */
object PlanSection {
  val Title: String = "Dovetail"

  def apply(plan: SparkPlan): String = FailOpen("explaining a plan", (_: String) => "") {
    val found = SparkSession.getActiveSession.fold(Vector.empty[LoggedQuery])(QueryLog(_).of(plan))
    if (found.isEmpty) ""
    else {
      val enabled = SparkSession.getActiveSession.forall(s => DovetailConf.Enabled.get(s.sessionState.conf))
      ReportText(BuildInfo.version, enabled, found.flatMap(_.groups), Vector("total" -> found.map(_.millis).sum))
    }
  }
}
