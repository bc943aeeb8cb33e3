package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}
import org.apache.spark.sql.dovetail.group.JoinGroup

/** A group that keeps the order it was written in. */
object WrittenOrder {

  /**
   * The group as written, over its optimized leaves. Where Spark's own cost-based reordering is on, the joins are
   * marked: the order was decided here.
   */
  def apply(group: JoinGroup, optimized: Vector[LogicalPlan], marks: Boolean): LogicalPlan = {
    val replacement = new java.util.IdentityHashMap[LogicalPlan, LogicalPlan]
    group.leaves.zip(optimized).foreach { case (leaf, o) => replacement.put(leaf, o) }
    def put(p: LogicalPlan): LogicalPlan =
      if (replacement.containsKey(p)) replacement.get(p)
      else
        p.mapChildren(put) match {
          case j: Join if marks && j.hint == JoinHint.NONE => marked(j)
          case other                                       => other
        }
    put(group.top)
  }

  private def marked(j: Join): Join = { val join = j.copy(hint = JoinGroup.Mark); join.copyTagsFrom(j); join }
}
