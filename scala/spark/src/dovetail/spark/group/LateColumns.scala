package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.{HashedLeaf, SparkBroadcast}
import org.apache.spark.sql.dovetail.predicates.{ComputedColumns, JoinCondition}
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/**
 * Joins after which Spark computes fragile columns of one side ([[FragileColumns]]): in generated code, a broadcast
 * join computes a column that it does not read only for rows that have a join partner. Such a join keeps its place,
 * because another order may compute the column for other rows.
 *
 * Spark decides so when it plans the query, if the other side is small or if the join has no key. Adaptive execution
 * decides so later, for a side that needs no exchange of its own: one that is partitioned by the join's keys already.
 * The same holds for a shuffled hash join.
 */
private[group] object LateColumns {

  /** @param left fragile columns of the left side */
  def apply(j: Join, left: AttributeSet, right: AttributeSet): Boolean = j.conf.wholeStageEnabled && {
    lazy val keys = JoinCondition.keys(j)

    def streams(fragile: AttributeSet, side: Int): Boolean = fragile.nonEmpty && {
      val other = if (side == 0) j.right else j.left
      SparkBroadcast.ofSide(j, other, j.conf.autoBroadcastJoinThreshold) || keys.isEmpty ||
      ((j.conf.adaptiveExecutionEnabled || !j.conf.preferSortMergeJoin) && isClustered(
        if (side == 0) j.left else j.right,
        keys.map(_.over(side))
      ))
    }
    streams(left, 0) || streams(right, 1)
  }

  /**
   * Whether the rows of a plan are partitioned by these keys, so that a join by them needs no exchange of the plan. A
   * cache may be: adaptive execution decides on its partitions when it is filled.
   */
  private def isClustered(plan: LogicalPlan, keys: Seq[Expression]): Boolean = plan match {
    case p: Project   => ComputedColumns.replaced(keys, p.projectList).forall(isClustered(p.child, _))
    case f: Filter    => isClustered(f.child, keys)
    case a: Aggregate => ComputedColumns.replaced(keys, a.aggregateExpressions).forall(same(_, a.groupingExpressions))
    case w: Window    => same(keys, w.partitionSpec)
    // a broadcast join keeps the places of its rows
    case j: Join => comparesAll(j, keys) || j.children.exists(isClustered(_, keys))
    case u: UnaryNode if !u.isInstanceOf[RepartitionOperation] && HashedLeaf(u).isEmpty => isClustered(u.child, keys)
    case _: InMemoryRelation                                                            => true
    case other                                                                          => same(keys, HashedLeaf(other))
  }

  private def comparesAll(j: Join, keys: Seq[Expression]): Boolean =
    j.condition.exists(c => keys.forall(k => c.exists(_.semanticEquals(k))))

  private def same(keys: Seq[Expression], columns: Seq[Expression]): Boolean =
    columns.nonEmpty && keys.forall(k => columns.exists(_.semanticEquals(k))) &&
      columns.forall(c => keys.exists(_.semanticEquals(c)))
}
