package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, IdentityHashMap, Set => JSet}

import dovetail.kernel.size.CardinalityModel
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, Window}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.GroupAtRun

/**
 * The joins of a running query that save a sort above them if they sort and merge: the next operator that needs an
 * order needs that of their keys. Such an operator is a window without an order of its own, a grouping whose functions
 * cannot be updated in a hash table (`max` of a text), or another sort-merge join ([[SortedRows]]).
 *
 * A hash table instead saves the sorts of both inputs of the join, and Spark sorts the joined rows. These are wider,
 * and they are many if each row has several partners. So a hash table is worth it only if few rows find a partner.
 */
private[plan] object OrderAbove {

  /**
   * The joins whose order is used and that should not get a hash table.
   *
   * @param ready whether both inputs of a join have been exchanged, so that it could get one
   */
  def apply(plan: LogicalPlan, ready: Join => Boolean): JSet[LogicalPlan] = {
    val found = Collections.newSetFromMap(new IdentityHashMap[LogicalPlan, java.lang.Boolean])
    plan.foreach { p =>
      PlanningTime.check()
      used(p).foreach { case j: Join => if (ready(j) && !dropsMost(j)) found.add(j); case _ => () }
    }
    found
  }

  /** The operators below whose order this one uses. */
  private def used(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case w: Window if w.orderSpec.isEmpty => SortedRows.source(w.child, w.partitionSpec).toSeq
    case a: Aggregate if sorts(a)         => SortedRows.source(a.child, a.groupingExpressions).toSeq
    case j: Join if isMerge(j)            => j.children.flatMap(SortedRows.source(j, _))
    case _                                => Nil
  }

  private def isMerge(j: Join): Boolean = !j.children.exists(AdaptiveInput.isBroadcast) && SparkBuildSide(j).isEmpty

  /**
   * Whether Spark sorts the rows of a grouping, because a value in the buffer of a function may change its length. A
   * function on objects has a hash table of its own. With DISTINCT, rows are grouped by more columns first.
   */
  private def sorts(a: Aggregate): Boolean = {
    val functions = a.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e })
    val onObjects = functions.exists(_.aggregateFunction.isInstanceOf[TypedImperativeAggregate[_]])
    !onObjects && !functions.exists(_.isDistinct) && functions.map(_.aggregateFunction).exists {
      case f @ (_: DeclarativeAggregate | _: ImperativeAggregate) =>
        f.aggBufferAttributes.exists(value => !UnsafeRow.isMutable(value.dataType))
      case _ => false
    }
  }

  /**
   * Most joined rows, as a share of the rows of both inputs, for which sorting after the join costs less than before.
   * Half of the rows with the columns of both inputs are about as many bytes, and sorting fewer rows takes fewer
   * comparisons.
   */
  private val MostRows = 0.5

  /**
   * Whether most rows of the join's inputs have no partner, by the estimates of the search. False if its group is not
   * known: plain Spark sorts and merges then, too.
   */
  private def dropsMost(j: Join): Boolean =
    GroupAtRun.of(j).iterator.flatMap(g => GroupsAtRun.graph(g).map(g -> _)).map { case (group, graph) =>
      val sides = j.children.map(side => group.relationsOf(ChainDecision.columns(side)))
      // the estimates do not apply to rows that are grouped early
      if (sides.exists(_.isEmpty) || sides.reduce(_ & _).nonEmpty || ChainDecision.groupsEarly(j)) None
      else {
        val sizes              = new CardinalityModel(graph)
        def rows(of: Set[Int]) = sizes.estimate(of.toArray.sorted).value
        Some(rows(sides.reduce(_ ++ _)) <= MostRows * sides.map(rows).sum)
      }
    }.collectFirst { case Some(drops) => drops }.getOrElse(false)
}
