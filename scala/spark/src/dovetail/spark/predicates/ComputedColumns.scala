package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression, NamedExpression}

/** The columns that a projection or a grouping computes or passes on. */
object ComputedColumns {

  /** Expressions over the output of an operator, as expressions over its input. */
  def replaced(expressions: Seq[Expression], output: Seq[NamedExpression]): Seq[Expression] = {
    val computed = AttributeMap(output.collect { case a: Alias => a.toAttribute -> a.child })
    expressions.map(_.transform { case a: Attribute => computed.getOrElse(a, a) })
  }

  /** The input column that an output column passes on unchanged; None if it is computed. */
  def passedOn(column: Attribute, output: Seq[NamedExpression]): Option[Attribute] =
    output.find(_.exprId == column.exprId).collect {
      case a: Attribute           => a
      case Alias(a: Attribute, _) => a
    }
}
