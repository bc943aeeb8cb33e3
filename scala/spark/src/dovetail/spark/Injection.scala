package org.apache.spark.sql.dovetail

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.plan.{JoinChoice, ReorderAtRunTime, ReorderJoins}
import org.apache.spark.sql.dovetail.steer.FrameHints
import org.apache.spark.sql.dovetail.sql.{CommandParser, TableFunctions, TableFunctionStrategy}

/**
 * What Dovetail adds to a session, and where.
 *
 * Builders are called often (the rule's once per optimizer run and subquery, the strategy's once per planned node), so
 * they return cheap objects and do not touch the session.
 */
object Injection {
  def apply(extensions: SparkSessionExtensions): Unit = {
    DovetailConf.register()
    // The probe first: whatever else fails, one can ask whether Dovetail is here.
    TableFunctions.all.foreach(extensions.injectTableFunction)
    extensions.injectPlannerStrategy(_ => TableFunctionStrategy)
    // Injected strategies come before Spark's own.
    extensions.injectPlannerStrategy(session => new JoinChoice(session))
    extensions.injectResolutionRule(_ => FrameHints)
    extensions.injectParser((_, parser) => CommandParser(parser))
    // Pre-CBO: after operator optimization and filter inference, before dynamic partition pruning and runtime filters.
    // An operator-optimization rule would run to a fixed point against Spark's own ReorderJoin; later there is no place
    // to inject a rule before partition pruning.
    extensions.injectPreCBORule(session => new ReorderJoins(session))
    extensions.injectRuntimeOptimizerRule(session => new ReorderAtRunTime(session))
    WarmClasses.start()
  }
}
