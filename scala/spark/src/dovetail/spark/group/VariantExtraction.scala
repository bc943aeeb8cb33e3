package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, WindowFrame, WindowSpecDefinition}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, Movable}

/**
 * Spark's rule that moves extractions from VARIANT values out of joins, down to the scans (Spark 4.3). It runs after
 * Dovetail, also moves those that may fail on some rows, and recognizes joins that the query has as EXISTS until Spark
 * rewrites them, which Dovetail does early. So a new plan could make a query fail that plain Spark answers.
 */
object VariantExtraction {
  private val RuleName = ".PullOutVariantExtractions"

  /** Why the plan must stay unchanged, or None: a part of it, also of a subquery, may fail in a scan. */
  def failing(session: SparkSession, plan: LogicalPlan): Option[String] =
    if (!Preparation.scanRules(session, plan).exists(isIt)) None
    else
      plan.collectWithSubqueries { case p => p.expressions.flatMap(_.collectFirst { case e if mayFail(e) => e }) }
        .flatten.headOption.map(e => s"Spark may compute ${ExpressionText(e)} in a scan, where it may fail")

  /** Whether this is the rule. */
  def isIt(rule: Rule[LogicalPlan]): Boolean = rule.ruleName.endsWith(RuleName)

  private def mayFail(e: Expression): Boolean = e.children.exists(isVariant) && !Movable(e)

  /** VARIANT is no type of Spark 3.5, so it has its name here. Windows and their frames have no type. */
  private def isVariant(e: Expression): Boolean = e match {
    case _: WindowSpecDefinition | _: WindowFrame => false
    case _                                        => e.resolved && e.dataType.typeName == "variant"
  }
}
