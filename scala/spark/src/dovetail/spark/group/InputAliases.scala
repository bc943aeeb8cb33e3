package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * What a query calls the inputs of a group. Spark drops the nodes of aliases and views before it optimizes a plan; the
 * references to their columns keep the names as qualifiers. Of a view in SQL, and of a common table expression that is
 * read twice, they do not: Spark puts the columns of its query in their place. There the text of the condition tells
 * ([[WrittenNames]]).
 */
private[group] object InputAliases {

  /**
   * What an input is called.
   *
   * @param written in the text of what joins it: else it may also be what the input calls one of its own inputs
   */
  final case class InputAlias(name: String, written: Boolean)

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
  ): Vector[Option[InputAlias]] = {
    val known = outputs.zipWithIndex.flatMap { case (o, i) => o.toSeq.map(_.exprId -> i) }.groupBy(_._1)
    def inputsOf(a: Attribute): Vector[Int] = known.getOrElse(a.exprId, Vector.empty).map(_._2)
    val (joining, local)                    = read.partition(_.references.toSeq.flatMap(inputsOf).distinct.size > 1)
    val called = (joining ++ local).flatMap(named).flatMap { case (a, name) => inputsOf(a).map(_ -> name) }
      .groupBy(_._1)
    outputs.zip(inputs).zipWithIndex.map { case ((output, plan), i) =>
      val names = called.getOrElse(i, Nil).map(_._2)
      // of an operator, the columns may have the names of its own inputs
      names.headOption.filter(LeafNames.below(plan).isDefined || _.written).orElse(names.find(_.written)).orElse(
        names.headOption
      ).orElse(
        plan.expressions.flatMap(_.references).filter(output.contains).flatMap(qualifier(_)).headOption
          .map(InputAlias(_, written = false))
      )
    }
  }

  /**
   * Some expression within a plan calls its input this: the name is not that of the plan itself. One in the text of what
   * joins the plan may stand in a filter, which Spark pushes down; in other operators it is that of a correlated
   * subquery's own input.
   */
  def within(plan: LogicalPlan, alias: InputAlias): Boolean = plan.exists {
    case _: Filter if alias.written => false
    case p => p.expressions.exists(_.references.exists(_.qualifier.lastOption.contains(alias.name)))
  }

  /** The columns of a condition, each with the name that stands before it. */
  private def named(e: Expression): Seq[(Attribute, InputAlias)] = {
    val written = WrittenNames(e)
    e.references.toSeq.flatMap { a =>
      val told = written.get(a.exprId)
      // the same name in the letter case of its declaration
      val name = qualifier(a).filter(q => told.forall(_.equalsIgnoreCase(q))).orElse(told)
      name.map(n => a -> InputAlias(n, told.isDefined))
    }
  }

  /** The name that Spark keeps with a column; it makes names for subqueries that have none. */
  private def qualifier(a: Attribute): Option[String] =
    a.qualifier.lastOption.filterNot(_.startsWith("__auto_generated"))
}
