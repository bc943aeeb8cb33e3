package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.predicates.{ComputedColumns, JoinCondition}

/**
 * Inputs whose rows a sort-merge join reads as they come, because they are sorted by its keys already: the result of
 * another sort-merge join by the same keys. The join stops reading them after the last key of its other input, so it
 * may spare rows on which an expression would fail ([[SparedInputs]]). Most other inputs are sorted first, and for that
 * they are read completely.
 */
private[plan] object SortedRows {

  /** Whether the join reads this one of its inputs as it comes. */
  def apply(j: Join, input: LogicalPlan): Boolean = source(j, input).isDefined

  /** The operator whose order lets the join read this one of its inputs as it comes. */
  def source(j: Join, input: LogicalPlan): Option[LogicalPlan] = {
    val side = if (input eq j.left) 0 else 1
    source(input, JoinCondition.keys(j).map(_.over(side)))
  }

  /**
   * The operator that returns the rows of a plan sorted by these keys: a sort-merge join, or a projection that computes
   * the keys and is too large to look through. None if the rows are not sorted by them.
   */
  def source(plan: LogicalPlan, keys: Seq[Expression]): Option[LogicalPlan] = plan match {
    case _ if keys.isEmpty => None
    case p: Project        =>
      ComputedColumns.replaced(keys, p.projectList).fold[Option[LogicalPlan]](Some(p))(source(p.child, _))
    case f: Filter => source(f.child, keys)
    case j: Join   =>
      SparkBuildSide(j) match {
        // a hash join keeps the order of the side that it does not broadcast
        case Some(side) if SparkBuildSide.hasKeys(j) => source(JoinChoice.input(j, JoinChoice.other(side)), keys)
        case Some(_)                                 => None
        case None                                    =>
          val pairs  = JoinCondition.keys(j)
          val sorted = pairs.size == keys.size && pairs.forall(pair =>
            keys.exists(k => k.semanticEquals(pair.left.expression) || k.semanticEquals(pair.right.expression))
          )
          if (sorted) Some(j) else None
      }
    case _ => None
  }
}
