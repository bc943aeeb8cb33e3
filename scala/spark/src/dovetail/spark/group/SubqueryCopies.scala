package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, AttributeSet, NamedExpression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/**
 * Tells copies of a subquery apart. From `a.k IN (…)` and `a.k = b.k`, Spark infers `b.k IN (…)`. Both semi joins then
 * have the same columns on their right side, so within one join group a column does not say which copy it belongs to.
 *
 * Each copy becomes one leaf of its group as a whole ([[SubqueryCopies.isWhole]]), and all but the first get new column
 * names. The first copy is wrapped too, so that all copies are ordered in the same way and Spark computes them once.
 * Spark later removes renamings that change nothing and projections that do nothing.
 */
object SubqueryCopies {
  private val Whole = TreeNodeTag[Unit]("dovetail.whole")

  /** Whether a plan is a leaf as a whole, whatever operators it has. */
  def isWhole(plan: LogicalPlan): Boolean = plan.getTagValue(Whole).isDefined

  def apply(plan: LogicalPlan): LogicalPlan = {
    val looked = plan.collect { case j: Join if looksOnly(j.joinType) => j.right.outputSet.toSeq }.flatten
    val copied = AttributeSet(looked.groupBy(_.exprId).values.filter(_.size > 1).map(_.head))
    if (copied.isEmpty) plan else new Renaming(copied)(plan)
  }

  private def looksOnly(joinType: JoinType): Boolean = joinType match {
    case LeftSemi | LeftAnti | ExistenceJoin(_) => true
    case _                                      => false
  }

  final private class Renaming(copied: AttributeSet) {
    private var seen = AttributeSet.empty

    def apply(plan: LogicalPlan): LogicalPlan = plan match {
      case j: Join if looksOnly(j.joinType) && j.right.outputSet.exists(copied.contains) =>
        val left    = apply(j.left)
        val again   = j.right.outputSet.exists(seen.contains)
        val columns = j.right.output.map(a => a -> (if (again) Alias(a, a.name)() else a))
        val names   = AttributeMap(columns.map { case (a, c) => a -> c.toAttribute })
        seen = seen ++ j.right.outputSet
        j.copy(
          left = left,
          right = whole(Project(columns.map(_._2: NamedExpression), j.right)),
          condition = j.condition.map(_.transform { case a: Attribute => names.getOrElse(a, a) })
        )
      case other => other.mapChildren(apply)
    }

    private def whole(project: Project): Project = { project.setTagValue(Whole, ()); project }
  }
}
