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
  def apply(j: Join, input: LogicalPlan): Boolean = {
    val side = if (input eq j.left) 0 else 1
    val keys = JoinCondition.keys(j).map(_.over(side))
    keys.nonEmpty && sorted(input, keys)
  }

  private def sorted(plan: LogicalPlan, keys: Seq[Expression]): Boolean = plan match {
    case p: Project => ComputedColumns.replaced(keys, p.projectList).forall(sorted(p.child, _))
    case f: Filter  => sorted(f.child, keys)
    case j: Join    =>
      SparkBuildSide(j) match {
        // a hash join keeps the order of the side that it does not broadcast
        case Some(side) => SparkBuildSide.hasKeys(j) && sorted(JoinChoice.input(j, JoinChoice.other(side)), keys)
        case None       =>
          val pairs = JoinCondition.keys(j)
          pairs.size == keys.size && pairs.forall(pair =>
            keys.exists(k => k.semanticEquals(pair.left.expression) || k.semanticEquals(pair.right.expression))
          )
      }
    case _ => false
  }
}
