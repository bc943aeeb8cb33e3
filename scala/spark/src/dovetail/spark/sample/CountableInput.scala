package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * Matches a leaf under filters and projections of columns: an input that a count of the rows of the leaf can size
 * ([[RowCount]]). Returns the leaf and the conjuncts of all filters. A dynamic pruning filter is left out, because it
 * is a copy of a join's filter.
 */
object CountableInput {
  def unapply(plan: LogicalPlan): Option[(LeafNode, Vector[Expression])] = plan match {
    case leaf: LeafNode                                  => Some((leaf, Vector.empty))
    case Filter(condition, CountableInput(leaf, before)) =>
      Some((leaf, before ++ Conjuncts(condition).filterNot(_.isInstanceOf[DynamicPruning])))
    case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) => unapply(child)
    case u: UnaryNode if PlanSamples.keepsRows(u)                       => unapply(u.child)
    case _                                                              => None
  }
}
