package org.apache.spark.sql.dovetail.explain

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.sql.execution.CommandExecutionMode

/** Plans a query, without running it, and reports what Dovetail did. */
object ExplainQuery {
  val Formats: Seq[String] = Seq("text", "json")

  def apply(session: SparkSession, sql: String, format: String): String = {
    require(Formats.contains(format), s"dovetail_explain: unknown format '$format'. Allowed: ${Formats.mkString(", ")}.")
    val state = session.sessionState
    // without SKIP, a statement that writes or drops would do so when it is planned
    val (_, trace) = Trace.collecting(state.executePlan(state.sqlParser.parsePlan(sql), CommandExecutionMode.SKIP).optimizedPlan)
    val enabled    = DovetailConf.Enabled.get(state.conf)
    if (format == "json") ReportJson(BuildInfo.version, enabled, DovetailConf.CostModel.get(state.conf), trace)
    else ReportText(BuildInfo.version, enabled, trace)
  }
}
