package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.BuildInfo
import org.apache.spark.sql.dovetail.report.ReportText
import org.apache.spark.sql.execution.SparkPlan

/**
 * What the log knows of a physical plan, for Spark's own explain and the SQL tab of its user interface; empty where it
 * knows nothing. `EXPLAIN` and the user interface show all of it. `df.explain()`, in whatever mode, shows what happened
 * and the orders: Spark tells a provider the plan and not the mode.
 */
object PlanSection {
  val Title: String = "Dovetail"

  def apply(plan: SparkPlan): String = FailOpen("explaining a plan", (_: String) => "") {
    SparkSession.getActiveSession.fold("") { session =>
      val (found, conf) = (QueryLog(session).entriesOf(plan), session.sessionState.conf)
      val groups        = found.flatMap(_.groups)
      def text          =
        new ReportText(BuildInfo.version, DovetailConf.Enabled.get(conf), DovetailConf.CostModel.get(conf), false)
      if (found.isEmpty) ""
      else if (inFull()) text(groups, Vector("total" -> found.map(_.millis).sum))
      else text.short(groups)
    }
  }

  /** An EXPLAIN statement or the user interface asks. */
  private def inFull(): Boolean =
    StackWalker.getInstance().walk[java.lang.Boolean] { frames =>
      frames.anyMatch(f => Whole.exists(f.getClassName.startsWith))
    }

  private val Whole =
    Vector("org.apache.spark.sql.execution.command.ExplainCommand", "org.apache.spark.sql.execution.SQLExecution")
}
