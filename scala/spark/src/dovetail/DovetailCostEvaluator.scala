package dovetail

import org.apache.spark.sql.dovetail.plan.RunTimeCosts
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator}

/**
 * The class that users name in `spark.sql.adaptive.customCostEvaluatorClass`, so that Spark accepts join orders at run
 * time that need another exchange (`spark.dovetail.adaptive.reorder`). It changes no other decision of Spark.
 */
class DovetailCostEvaluator extends CostEvaluator {
  override def evaluateCost(plan: SparkPlan): Cost = RunTimeCosts.of(plan)
}
