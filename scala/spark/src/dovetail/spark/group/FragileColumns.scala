package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.Movable

/**
 * Columns of a plan that some projection in it computes by an expression that may throw ([[Movable]]). The expression
 * is not evaluated where it stands:
 *
 *  - A filter on such a column is the filter on the expression: Spark pushes it through the projection, and on through
 *    the joins below it.
 *  - In compiled code a broadcast join looks for the partner first, and a column that the join does not read is
 *    computed for rows that have one.
 *
 * So nothing of ours may filter by such a column inside of an input, and no join may be moved that has been sparing it
 * rows.
 */
object FragileColumns {

  def apply(plan: LogicalPlan): AttributeSet = plan match {
    case _: LeafNode  => AttributeSet.empty
    case p: Project   => computed(p.projectList, apply(p.child))
    case a: Aggregate => computed(a.aggregateExpressions, apply(a.child))
    case u: Union     =>
      val places = u.children.flatMap { c =>
        val found = apply(c); c.output.indices.filter(i => found.contains(c.output(i)))
      }.toSet
      AttributeSet(u.output.indices.filter(places).map(u.output(_)))
    case other => AttributeSet.fromAttributeSets(other.children.map(apply)).filter(other.outputSet.contains)
  }

  /** What an aggregate function makes is settled by the rows of its group. */
  private def computed(list: Seq[NamedExpression], below: AttributeSet): AttributeSet = AttributeSet(list.collect {
    case a: Attribute if below.contains(a)                                                     => a
    case a: Alias if !settled(a) && (!Movable(a.child) || a.references.exists(below.contains)) => a.toAttribute
  })

  private def settled(a: Alias): Boolean = a.child.isInstanceOf[AggregateExpression]
}
