package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * The names that a query uses for the inputs of a join group. Spark drops the nodes of aliases and views before it
 * optimizes a plan, but references to columns keep these names as qualifiers. There are two exceptions: views in SQL,
 * and common table expressions that are read twice. For these, Spark substitutes the columns of the underlying query.
 * In that case the text of the condition has the name ([[WrittenNames]]).
 */
private[group] object InputAliases {

  /**
   * Name of an input.
   *
   * @param written whether the name is in the text of a join condition; otherwise it may also be the name of one of the
   *                input's own inputs
   */
  final case class InputAlias(name: String, written: Boolean)

  /**
   * Per input, its alias or the name of its view, if an expression reads a column of it.
   *
   * @param outputs columns by which each input is known
   * @param read    expressions that join the inputs; these were written where the inputs have their outermost names
   * @param inputs  plans of the inputs; their own expressions name the inputs of which `read` has no column
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
      // the qualifiers of an operator's columns may be the names of its own inputs
      names.headOption.filter(LeafNames.below(plan).isDefined || _.written).orElse(names.find(_.written)).orElse(
        names.headOption
      ).orElse(
        plan.expressions.flatMap(_.references).filter(output.contains).flatMap(qualifier(_)).headOption
          .map(InputAlias(_, written = false))
      )
    }
  }

  /**
   * Whether an expression inside a plan uses the alias for one of the plan's own inputs, so that it does not name the
   * plan itself. For an alias from the text of a join condition, filters do not count, because Spark may have pushed
   * them down into the plan. In other operators such a name is that of an input of a correlated subquery.
   */
  def within(plan: LogicalPlan, alias: InputAlias): Boolean = plan.exists {
    case _: Filter if alias.written => false
    case p => p.expressions.exists(_.references.exists(_.qualifier.lastOption.contains(alias.name)))
  }

  /** The columns of a condition, each with the name that is written before it. */
  private def named(e: Expression): Seq[(Attribute, InputAlias)] = {
    val written = WrittenNames(e)
    e.references.toSeq.flatMap { a =>
      val told = written.get(a.exprId)
      // if both names are equal, take the qualifier: it has the letter case of the declaration
      val name = qualifier(a).filter(q => told.forall(_.equalsIgnoreCase(q))).orElse(told)
      name.map(n => a -> InputAlias(n, told.isDefined))
    }
  }

  /** The qualifier that Spark keeps with a column, without the names that Spark generates for unnamed subqueries. */
  private def qualifier(a: Attribute): Option[String] =
    a.qualifier.lastOption.filterNot(_.startsWith("__auto_generated"))
}
