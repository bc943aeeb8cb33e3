package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.dovetail.plan.{ReorderAtRunTime, ReorderJoins}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}

/**
 * A second extension of the test session, in which a suite can install its own rule: one that fails, watches, or takes
 * a given join order.
 */
class TestExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPreCBORule(session =>
      TestExtensions.rule.fold[Rule[LogicalPlan]](TestExtensions.Nothing)(_(session))
    )
    // Spark asks for rules of adaptive execution once per session
    extensions.injectRuntimeOptimizerRule(session => new TestExtensions.AtRunTime(session))
  }
}

object TestExtensions {
  @volatile var rule: Option[SparkSession => ReorderJoins]          = None
  @volatile var atRunTime: Option[SparkSession => ReorderAtRunTime] = None

  private class AtRunTime(session: SparkSession) extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = atRunTime.fold(plan)(_(session)(plan))
  }

  object Nothing extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan
  }
}
