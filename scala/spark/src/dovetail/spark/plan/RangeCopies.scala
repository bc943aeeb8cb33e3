package org.apache.spark.sql.dovetail.plan

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.group.{JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.MovableCondition

/**
 * Tells which tables that a query has several times may be filtered by a key range ([[RangeFilters]]). Spark computes
 * equal parts of a query once (`ReuseExchange`), so equal parts must stay equal: all of them get the same range, or
 * none.
 *
 * Two parts with the table can be equal only if they have the sources of the range, too, joined with it below the first
 * exchange. If all such parts are groups of joins that Dovetail orders, it gives them the same range, because that
 * depends on nothing but these inputs. It may not do so for a part below a LIMIT or in a subquery, or for one that stays
 * as written.
 *
 * @param query plan with subqueries rewritten as joins
 */
final class RangeCopies(query: LogicalPlan, needed: NeededRows) {
  import RangeCopies._

  /** Whether every part of the query with inputs like these is treated in the same way. */
  def areAlike(inputs: Seq[LogicalPlan]): Boolean = {
    val forms = inputs.map(RepeatedInputs.form)
    forms.forall(_.nonEmpty) && {
      val wanted = forms.flatten
      parts.filter(p => wanted.forall(p.inputs)).forall(_.ordered)
    }
  }

  private lazy val parts: Vector[Part] = {
    val found = Vector.newBuilder[Part]
    collect(query, ordered = true, found)
    // a copy in a subquery is planned as a query of its own
    query.subqueriesAll.foreach(collect(_, ordered = false, found))
    found.result()
  }

  /** @param ordered whether Dovetail may order joins here, as far as the operators above tell */
  private def collect(plan: LogicalPlan, ordered: Boolean, into: mutable.Builder[Part, Vector[Part]]): Unit =
    plan match {
      case _: Join | _: Project | _: Filter if LeafNames.below(plan).isEmpty =>
        val (operators, inputs) = part(plan)
        val open                = ordered && !operators.exists(GroupWalk.keepsBelow)
        val group               = open && operators.forall(mayBeInGroup) && needed.all(plan)
        into += Part(inputs.flatMap(RepeatedInputs.form).toSet, group)
        inputs.foreach(collect(_, open, into))
      case other => other.children.foreach(collect(_, ordered && !GroupWalk.keepsBelow(other), into))
    }
}

private object RangeCopies {

  /**
   * Inputs that are joined with each other.
   *
   * @param ordered whether they are a group that Dovetail orders
   */
  final private case class Part(inputs: Set[RepeatedInputs.Form], ordered: Boolean)

  /** A plan and the joins, projections and filters below it, up to their inputs. */
  private def part(plan: LogicalPlan): (Vector[LogicalPlan], Vector[LogicalPlan]) = {
    val (operators, inputs) = plan.children.toVector.map { child =>
      if (goesOn(child)) part(child) else (Vector.empty, Vector(child))
    }.unzip
    (plan +: operators.flatten, inputs.flatten)
  }

  /** Whether joins above and below an operator may be parts of one group, or seem so in the plan that Spark executes. */
  private def goesOn(plan: LogicalPlan): Boolean = LeafNames.below(plan).isEmpty && (plan match {
    case _: Join      => true
    case p: Project   => p.deterministic
    case Filter(c, _) => MovableCondition(c)
    case _            => false
  })

  /** Whether an operator may be a part of a group of joins, or above one ([[JoinGroup]]). */
  private def mayBeInGroup(plan: LogicalPlan): Boolean = plan match {
    case Filter(c, _) => MovableCondition(c)
    case j: Join      => !JoinGroup.hasStrategy(j.hint) && j.condition.forall(MovableCondition(_))
    case _            => true
  }
}
