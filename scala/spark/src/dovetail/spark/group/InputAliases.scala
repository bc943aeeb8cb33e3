package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * What a query calls the inputs of a group. Spark drops the nodes of aliases and views before it optimizes a plan; the
 * references to their columns keep the names as qualifiers.
 */
private[group] object InputAliases {

  /**
   * Per input its alias or the name of its view, if an expression reads a column of it.
   *
   * @param outputs per input the columns that it is known by
   * @param read    what joins the inputs: these expressions were written where the inputs have their outermost names
   * @param inputs  what an input filters or computes, for inputs of which `read` has no column
   */
  def apply(
      outputs: Vector[AttributeSet],
      read: Seq[Expression],
      inputs: Vector[LogicalPlan]
  ): Vector[Option[String]] = {
    val (joining, local) = read.partition(e => outputs.count(o => e.references.exists(o.contains)) > 1)
    val columns          = (joining ++ local).flatMap(_.references).filter(a => written(a).isDefined)
    outputs.zip(inputs).map { case (output, plan) =>
      columns.find(output.contains).orElse(
        plan.expressions.flatMap(_.references).find(a => output.contains(a) && written(a).isDefined)
      ).flatMap(written)
    }
  }

  /** Some expression within a plan calls its input this: the name is not that of the plan itself. */
  def within(plan: LogicalPlan, alias: String): Boolean =
    plan.exists(_.expressions.exists(_.references.exists(_.qualifier.lastOption.contains(alias))))

  /** The name that stands before a column; Spark makes names for subqueries that have none. */
  private def written(a: Attribute): Option[String] = a.qualifier.lastOption.filterNot(_.startsWith("__auto_generated"))
}
