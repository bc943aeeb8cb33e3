package org.apache.spark.sql.dovetail.plan

import scala.collection.mutable

import dovetail.kernel.cost.GroupReduction
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, SubqueryCopies}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.ComputedColumns.passedOn
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.report.ReportNumbers
import org.apache.spark.sql.dovetail.stats.PlanStatistics

/**
 * Semi-join reduction of groupings. If `SELECT k, avg(x) … GROUP BY k` is joined by k with a small, restricted table,
 * the query reads only the groups of that table's keys. A semi join below the grouping removes all other rows early.
 * Spark turns a correlated subquery (TPC-H q17, q2, q20) into such a grouping when it rewrites the subquery as a join.
 *
 * It runs before a join group is ordered, and preserves the group: it has the same leaves with the same columns, but a
 * reduced leaf has fewer rows. The semi join reads the table by a copy of its plan under new names. Spark's exchange
 * reuse finds that both plans are equal, so the table is broadcast once.
 */
final class SemiJoinReduction(statistics: PlanStatistics, planner: Planner) {
  import SemiJoinReduction._

  /** The leaves of a group with the semi joins that reduce them, and a sentence about each reduced leaf. */
  def apply(group: JoinGroup, predicates: JoinPredicates): (Vector[LogicalPlan], Vector[String]) =
    if (
      group.marked || !group.distinct || !planner.reducesGroups || !group.leaves.exists(isGrouping) ||
      group.leaves.exists(RowPlaces.mustBeRead)
    ) (group.leaves, Vector.empty)
    else {
      // Spark makes the broadcast of a table that reduces several groupings once
      val broadcast = mutable.Set.empty[Int]
      val found     = group.leaves.indices.toVector.map { leaf =>
        val reduction = best(group, predicates, leaf, broadcast)
        reduction.map(_.other).filter(broadcast.add).map(group.leaves).foreach(table =>
          planner.broadcasts.take(planner.roomOf(table, statistics(table)))
        )
        reduction
      }
      (
        group.leaves.zip(found).map { case (leaf, r) => r.fold(leaf)(reduced(leaf, _)) },
        found.flatten.map(note(group, _))
      )
    }

  /** @param broadcast tables whose broadcasts have got their memory */
  private def best(
      group: JoinGroup,
      predicates: JoinPredicates,
      leaf: Int,
      broadcast: Int => Boolean
  ): Option[Reduction] = {
    val all = for {
      members <- predicates.members
      mine    <- members.filter(_.relation == leaf)
      its     <- members.filter(_.relation != leaf)
      r       <- reduction(group.leaves, leaf, mine.expression, its.relation, its.expression, broadcast)
    } yield r
    all.filter(r => planner.pays(r.work)).sortBy(_.work.kept).headOption
  }

  private def reduction(
      leaves: Vector[LogicalPlan],
      leaf: Int,
      mine: Expression,
      other: Int,
      its: Expression,
      broadcast: Int => Boolean
  ): Option[Reduction] =
    (mine, its) match {
      case (column: Attribute, partner: Attribute)
          if RereadInput.isKey(column.dataType) && column.dataType == partner.dataType =>
        for {
          (aggregate, key) <- grouping(leaves(leaf), column)
          table = leaves(other)
          if leaves(leaf).deterministic && !isSorted(aggregate)
          if table.outputSet.contains(partner) && RereadInput(table) && !reducedBefore(aggregate, key, table)
          profile = statistics(table)
          columns = table.output.map(_.exprId.id)
          // in this order: canonical forms take longer
          if (broadcast(other) || planner.fitsBroadcast(table, profile)) && !planner.repeated(aggregate)
        } yield {
          val (groups, size) = (statistics(aggregate), profile.rows.value)
          val rows           = statistics(aggregate.child).rows.value
          val kept       = statistics(semiJoin(aggregate.child, key, table, partner)).rows.value / math.max(rows, 1.0)
          val groupBytes = groups.bytes(aggregate.output.map(_.exprId.id)) / math.max(groups.rows.value, 1.0)
          Reduction(
            leaf,
            other,
            aggregate,
            key,
            table,
            partner,
            GroupReduction(rows, groups.rows.value, groupBytes, math.min(kept, 1.0), size, profile.bytes(columns))
          )
        }
      case _ => None
    }

  /** Whether rows are sorted before they are grouped, for functions like `first`: Spark drops sorts below a join. */
  private def isSorted(aggregate: Aggregate): Boolean = aggregate.child.exists(_.isInstanceOf[Sort])

  private def reducedBefore(aggregate: Aggregate, key: Attribute, table: LogicalPlan): Boolean =
    aggregate.child.exists {
      case j: Join =>
        j.joinType == LeftSemi && j.condition.exists(_.references.contains(key)) && tableOf(j.right) == tableOf(table)
      case _ => false
    }

  private def reduced(plan: LogicalPlan, r: Reduction): LogicalPlan =
    if (plan eq r.aggregate) {
      val (table, names) = copied(r.table)
      statistics.learnCopy(r.table, table)
      val join = semiJoin(r.aggregate.child, r.key, table, names(r.partner))
      plan.withNewChildren(Seq(join.copy(hint = JoinDecision.hint(join, Some(BuildRight)))))
    } else plan.mapChildren(reduced(_, r))

  private def note(group: JoinGroup, r: Reduction): String = {
    val names = GroupNames(group)
    val kept  = ReportNumbers.tenths(r.work.kept * 100)
    s"${names(r.leaf)} is computed only for the keys of ${names(r.other)}, about $kept of its rows " +
      "(semi-join reduction)"
  }
}

object SemiJoinReduction {

  /**
   * @param leaf      leaf that contains the grouping
   * @param other     leaf that restricts it
   * @param aggregate the grouping
   * @param key       key of the grouping, as a column of its input
   * @param partner   column of `table` that the key is equal to
   */
  final private case class Reduction(
      leaf: Int,
      other: Int,
      aggregate: Aggregate,
      key: Attribute,
      table: LogicalPlan,
      partner: Attribute,
      work: GroupReduction
  )

  private def tableOf(plan: LogicalPlan): Option[String] = LeafNames.below(plan).flatMap(LeafNames.identity)

  /** Whether a leaf is a grouping, possibly below projections and filters. */
  private def isGrouping(leaf: LogicalPlan): Boolean = leaf match {
    case _: Aggregate           => true
    case _: Project | _: Filter => isGrouping(leaf.children.head)
    case _                      => false
  }

  private def semiJoin(left: LogicalPlan, key: Attribute, table: LogicalPlan, partner: Attribute): Join =
    Join(left, table, LeftSemi, Some(EqualTo(key, partner)), JoinHint.NONE)

  /**
   * The lowest grouping in a leaf that has `column` among its keys, and this key as a column of the grouping's input.
   */
  private def grouping(leaf: LogicalPlan, column: Attribute): Option[(Aggregate, Attribute)] = leaf match {
    case whole if SubqueryCopies.isWhole(whole) => None
    case p: Project                             => passedOn(column, p.projectList).flatMap(grouping(p.child, _))
    case f: Filter                              => grouping(f.child, column)
    case a: Aggregate                           =>
      val key = passedOn(column, a.aggregateExpressions).filter(k => a.groupingExpressions.exists(_.semanticEquals(k)))
      key.map(k => grouping(a.child, k).getOrElse(a -> k))
    case _ => None
  }

  /** The same rows in columns of other names, and the mapping to these names. */
  private def copied(plan: LogicalPlan): (LogicalPlan, AttributeMap[Attribute]) = plan match {
    case Project(list, child) =>
      val (below, names) = copied(child)
      val columns        = list.map {
        case Alias(e, name) => Alias(renamed(e, names), name)()
        case column         => names(column.toAttribute)
      }
      withNames(plan, Project(columns, below))
    case Filter(condition, child) =>
      val (below, names) = copied(child)
      withNames(plan, Filter(renamed(condition, names), below))
    case leaf: MultiInstanceRelation => withNames(plan, leaf.newInstance())
    case other                       =>
      throw new IllegalStateException(s"the plan node ${other.nodeName} cannot be copied for a second read")
  }

  private def withNames(from: LogicalPlan, to: LogicalPlan) = to -> AttributeMap(from.output.zip(to.output))

  private def renamed(e: Expression, names: AttributeMap[Attribute]): Expression = e.transform { case a: Attribute =>
    names(a)
  }
}
