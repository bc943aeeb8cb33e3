package dovetail

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.dovetail.log.PlanSection
import org.apache.spark.sql.execution.SparkPlan

/**
 * The class that users of Spark 4 name in `spark.sql.extendedExplainProviders`. It adds a Dovetail section to
 * `df.explain()` and to the SQL tab.
 */
class DovetailExplain extends ExtendedExplainGenerator {
  override def title: String                                 = PlanSection.Title
  override def generateExtendedInfo(plan: SparkPlan): String = PlanSection(plan)
}
