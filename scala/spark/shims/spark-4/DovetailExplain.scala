package dovetail

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.dovetail.log.PlanSection
import org.apache.spark.sql.execution.SparkPlan

/**
 * The class that users of Spark 4 name in `spark.sql.extendedExplainProviders`: a section of Dovetail's in
 * `df.explain()` and in the SQL tab.
 */
class DovetailExplain extends ExtendedExplainGenerator {
  override def title: String                                 = PlanSection.Title
  override def generateExtendedInfo(plan: SparkPlan): String = PlanSection(plan)
}
