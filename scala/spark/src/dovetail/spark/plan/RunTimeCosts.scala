package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.report.GroupAtRun
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.Cost
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.internal.SQLConf

/**
 * Compares the plans of a running query. Adaptive execution adopts a new plan only if it has no more exchanges than the
 * current one. An order that [[ReorderAtRunTime]] has just chosen may have more, because they were part of its cost. So
 * a plan with a later decision of this rule is cheaper than one without it. For all other plans, the comparison is
 * Spark's own.
 */
object RunTimeCosts {

  /** Class that users name in the setting; see [[dovetail.DovetailCostEvaluator]]. */
  private val Evaluator = "dovetail.DovetailCostEvaluator"

  /** How to switch this on. */
  val Advice: String = s"${SQLConf.ADAPTIVE_CUSTOM_COST_EVALUATOR_CLASS.key}=$Evaluator"

  def isOn(conf: SQLConf): Boolean = conf.getConf(SQLConf.ADAPTIVE_CUSTOM_COST_EVALUATOR_CLASS).contains(Evaluator)

  def of(plan: SparkPlan): Cost = new RunTimeCost(
    bySpark(plan),
    FailOpen("comparing plans at run time", (_: String) => 0L)(
      GroupAtRun.newOrders(plan).map(_.number).foldLeft(0L)(math.max)
    )
  )

  /**
   * Spark's own cost of the plan. The jar of another Spark line may name a constructor that this Spark does not have.
   * The setting still applies then, although Dovetail is off, so the exchanges are counted here.
   */
  private def bySpark(plan: SparkPlan): Cost =
    try SparkCosts(SQLConf.get).evaluateCost(plan)
    catch {
      case e: LinkageError =>
        FailOpen.warnOnce(Evaluator, s"$Evaluator counts the exchanges of a plan by itself, because Spark differs: $e")
        ExchangeCount(plan.collect { case s: ShuffleExchangeLike => s }.size)
    }

  final private case class ExchangeCount(exchanges: Int) extends Cost {
    override def compare(that: Cost): Int = that match {
      case c: ExchangeCount => Integer.compare(exchanges, c.exchanges)
      case _                => 0
    }
  }

  /**
   * Spark asks whether the cost of a new plan is less than that of the current plan, or equal to it. If only the
   * current plan has the latest decision, for example because an input turned out empty, Spark's cost decides.
   *
   * @param decision number of the latest decision in the plan; 0 if there is none
   */
  final private class RunTimeCost(val spark: Cost, val decision: Long) extends Cost {
    override def compare(that: Cost): Int = that match {
      case c: RunTimeCost if decision > c.decision => -1
      case c: RunTimeCost                          => spark.compare(c.spark)
      case c                                       => spark.compare(c)
    }

    override def equals(that: Any): Boolean = that match {
      case c: RunTimeCost => spark == c.spark
      case _              => false
    }
    override def hashCode: Int    = spark.hashCode
    override def toString: String = s"$spark, decision $decision"
  }
}
