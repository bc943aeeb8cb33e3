package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * What a query calls the inputs of a group. Spark drops the nodes of aliases and views before it optimizes a plan; the
 * references to their columns keep the names as qualifiers. Of a view in SQL, and of a common table expression that is
 * read twice, they do not: Spark puts the columns of its query in their place. There the text of the condition tells
 * ([[WrittenNames]]).
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
    val columns          = (joining ++ local).flatMap(named)
    outputs.zip(inputs).map { case (output, plan) =>
      columns.collectFirst { case (a, name) if output.contains(a) => name }.orElse(
        plan.expressions.flatMap(_.references).find(a => output.contains(a) && qualifier(a).isDefined).flatMap(qualifier)
      )
    }
  }

  /** Some expression within a plan calls its input this: the name is not that of the plan itself. */
  def within(plan: LogicalPlan, alias: String): Boolean =
    plan.exists(_.expressions.exists(_.references.exists(_.qualifier.lastOption.contains(alias))))

  /** The columns of a condition, each with the name that stands before it. */
  private def named(e: Expression): Seq[(Attribute, String)] = {
    val written = WrittenNames(e)
    e.references.toSeq.flatMap { a =>
      val told = written.get(a.exprId)
      // the same name in the letter case of its declaration
      qualifier(a).filter(q => told.forall(_.equalsIgnoreCase(q))).orElse(told).map(a -> _)
    }
  }

  /** The name that Spark keeps with a column; it makes names for subqueries that have none. */
  private def qualifier(a: Attribute): Option[String] = a.qualifier.lastOption.filterNot(_.startsWith("__auto_generated"))
}
