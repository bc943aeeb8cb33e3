package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, AttributeSet, NamedExpression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/**
 * Tells copies of a subquery apart. Where Spark infers from `a.k IN (…)` and `a.k = b.k` that `b.k IN (…)` holds too,
 * both semi joins look at the same columns; in one group of joins nobody could tell which of the two a column is of.
 *
 * The copies become inputs of their group as a whole ([[SubqueryCopies.isWhole]]), all but the first under new names.
 * All of them, so that they are ordered in the same way and Spark computes them once: it drops names that change
 * nothing, and operators that do nothing, later on.
 */
object SubqueryCopies {
  private val Whole = TreeNodeTag[Unit]("dovetail.whole")

  /** Whether a plan is an input as it stands, whatever is in it. */
  def isWhole(plan: LogicalPlan): Boolean = plan.getTagValue(Whole).isDefined

  def apply(plan: LogicalPlan): LogicalPlan = {
    val looked = plan.collect { case j: Join if looksOnly(j.joinType) => j.right.outputSet }
    val copied = AttributeSet(looked.zipWithIndex.flatMap { case (s, i) =>
      looked.take(i).flatMap(s.intersect(_).toSeq)
    })
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
