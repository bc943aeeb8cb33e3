package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression, NamedExpression}
import org.apache.spark.sql.dovetail.deadline.PlanningTime

/** The columns that a projection or a grouping computes or passes on. */
object ComputedColumns {

  /**
   * Expressions over the output of an operator, as expressions over its input; None if these are very large. They
   * double with each projection that reads a column of the one below it twice, as in a loop of `withColumn`.
   */
  def replaced(expressions: Seq[Expression], output: Seq[NamedExpression]): Option[Seq[Expression]] = {
    PlanningTime.check()
    val computed = AttributeMap(output.collect { case a: Alias => a.toAttribute -> a.child })
    val nodes    = expressions.iterator.flatMap(_.collect { case a: Attribute => computed.get(a) }).flatten.map(
      ExpressionSize(_)
    ).sum
    if (nodes > MostNodes) None
    else Some(expressions.map(_.transform { case a: Attribute => computed.getOrElse(a, a) }))
  }

  /** The input column that an output column passes on unchanged; None if it is computed. */
  def passedOn(column: Attribute, output: Seq[NamedExpression]): Option[Attribute] =
    output.find(_.exprId == column.exprId).collect {
      case a: Attribute           => a
      case Alias(a: Attribute, _) => a
    }

  /** Maximum number of nodes of the expressions that replace columns: far more than a key that a user writes has. */
  private val MostNodes = 1000L
}
