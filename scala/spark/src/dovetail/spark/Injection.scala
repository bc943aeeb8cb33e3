package org.apache.spark.sql.dovetail

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.plan.{JoinChoice, PredicateOrder, ReorderAtRunTime, ReorderJoins}
import org.apache.spark.sql.dovetail.steer.FrameHints
import org.apache.spark.sql.dovetail.sql.{CommandParser, TableFunctions, TableFunctionStrategy}

/**
 * Adds Dovetail's rules, strategies and functions to a session.
 *
 * Spark calls the builders often (the rule's once per optimizer run and subquery, the strategy's once per planned
 * node), so they return cheap objects and do not touch the session.
 *
 * The setting may list the class twice, for example in a configuration file and in a builder. Each rule would then run
 * twice, so only the first call has an effect.
 */
object Injection {
  private val injected = Collections.synchronizedSet(
    Collections.newSetFromMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean])
  )

  def apply(extensions: SparkSessionExtensions): Unit = if (injected.add(extensions)) inject(extensions)

  private def inject(extensions: SparkSessionExtensions): Unit = {
    DovetailConf.register()
    // The table functions come first: even if a later step fails, users can still ask whether Dovetail is installed.
    TableFunctions.all.foreach(extensions.injectTableFunction)
    extensions.injectPlannerStrategy(_ => TableFunctionStrategy)
    // Injected strategies come before Spark's own.
    extensions.injectPlannerStrategy(session => new JoinChoice(session))
    extensions.injectResolutionRule(_ => FrameHints)
    extensions.injectParser { (session, parser) =>
      // Spark builds the parser with the state of the session, when the program uses the session for the first time
      WarmPlanning.start(session)
      CommandParser(parser)
    }
    // Pre-CBO: after operator optimization and filter inference, before dynamic partition pruning and runtime filters.
    // An operator-optimization rule would run to a fixed point against Spark's own ReorderJoin. No later injection
    // point comes before partition pruning.
    extensions.injectPreCBORule(session => new ReorderJoins(session))
    extensions.injectPreCBORule(_ => PredicateOrder)
    extensions.injectRuntimeOptimizerRule(session => new ReorderAtRunTime(session))
  }
}
