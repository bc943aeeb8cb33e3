package org.apache.spark.sql.dovetail.report

import java.util.{Collections, LinkedHashMap, Map => JMap}

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/**
 * Marks groupings that Dovetail has put below joins, to distinguish them from the query's own. Operators above such a
 * grouping have fewer rows than a join of the relations below them, so their row counts must not be used for that join.
 *
 * A tag alone would not do: when Spark pushes a filter below a grouping (dynamic pruning, a Bloom filter) or a
 * projection into it, it copies the grouping without its tags. The columns that it groups by keep their IDs, so the
 * groupings of the latest queries are also known by these.
 */
object EarlyMark {
  private val Tag = TreeNodeTag[Unit]("dovetail.early grouping")

  private val taken = Collections.synchronizedMap(new LinkedHashMap[Set[ExprId], Unit] {
    override def removeEldestEntry(eldest: JMap.Entry[Set[ExprId], Unit]): Boolean = size > MostGroupings
  })

  def apply(grouping: Aggregate): Aggregate = { grouping.setTagValue(Tag, ()); grouping }

  /** Notes that the grouping becomes part of a plan, so that copies of it are recognized. */
  def remember(grouping: Aggregate): Unit = { taken.put(keys(grouping), ()); () }

  def isOn(plan: LogicalPlan): Boolean = plan.getTagValue(Tag).isDefined || (plan match {
    case a: Aggregate => a.groupingExpressions.nonEmpty && taken.containsKey(keys(a))
    case _            => false
  })

  private def keys(grouping: Aggregate): Set[ExprId] =
    grouping.groupingExpressions.flatMap(_.references).map(_.exprId).toSet

  /** More groupings than the queries have that run at the same time. Each takes a few hundred bytes. */
  private val MostGroupings = 10000

  /** Whether the operator is one of those that Spark's planner makes of a marked grouping. */
  def isOn(plan: SparkPlan): Boolean = plan match {
    case a: BaseAggregateExec => a.logicalLink.exists(isOn(_: LogicalPlan))
    case _                    => false
  }
}
