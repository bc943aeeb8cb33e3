package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.{Cross, InnerLike}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.Movable

/**
 * A maximal group of inner joins: first step from a logical plan to a join graph.
 *
 * Transparent are inner and cross joins without a strategy hint, projections of plain columns between them, and filters on top of them. All else is a
 * leaf of the group: outer, semi and anti joins, aggregates, limits, joins with a hint, and joins and
 * filters whose predicate must stay where it is ([[Movable]]).
 *
 * @param top        the plan that the group takes the place of
 * @param leaves     in order of appearance, which makes duplicated bodies of a common table expression come out equal
 * @param conditions join conditions and filters of the group
 * @param shape      the joins as written
 * @param crossed    some join is written as CROSS JOIN
 * @param marked     every join carries Dovetail's mark: the group is ordered already
 */
final case class JoinGroup(top: LogicalPlan, leaves: Vector[LogicalPlan], conditions: Vector[Expression], shape: Shape, crossed: Boolean, marked: Boolean)

object JoinGroup {

  /** Dovetail's mark on a join: a hint without a strategy. It means nothing to the planner, but Spark's own reordering leaves joins with a hint alone. */
  val Mark: JoinHint = JoinHint(Some(HintInfo()), None)

  def isMark(hint: JoinHint): Boolean = hint.leftHint.exists(_.strategy.isEmpty) && hint.rightHint.isEmpty

  def unapply(plan: LogicalPlan): Option[JoinGroup] =
    if (!transparent(plan) || !leadsToJoin(plan)) None
    else {
      val (shape, leaves, conditions) = flatten(plan, 0)
      val joins                       = joinsOf(plan)
      Some(JoinGroup(plan, leaves, conditions, shape, joins.exists(_.joinType == Cross), joins.forall(j => isMark(j.hint))))
    }

  private def flatten(plan: LogicalPlan, first: Int): (Shape, Vector[LogicalPlan], Vector[Expression]) = plan match {
    case Join(l, r, _, condition, _) if transparent(plan) =>
      val (ls, ll, lc) = flatten(l, first)
      val (rs, rl, rc) = flatten(r, first + ll.size)
      (Shape.Join(ls, rs), ll ++ rl, lc ++ rc ++ condition)
    case Filter(c, child) if transparent(plan) && leadsToJoin(child) =>
      val (s, ls, cs) = flatten(child, first)
      (s, ls, cs :+ c)
    case Project(_, child) if transparent(plan) && leadsToJoin(child) => flatten(child, first)
    case leaf                                                         => (Shape.Leaf(first), Vector(leaf), Vector.empty)
  }

  private def joinsOf(plan: LogicalPlan): Vector[Join] = plan match {
    case j: Join if transparent(j)                              => j +: (joinsOf(j.left) ++ joinsOf(j.right))
    case u: UnaryNode if transparent(u) && leadsToJoin(u.child) => joinsOf(u.child)
    case _                                                      => Vector.empty
  }

  private def transparent(plan: LogicalPlan): Boolean = plan match {
    case Join(_, _, _: InnerLike, condition, hint) => !hasStrategy(hint) && condition.forall(Movable(_))
    case Filter(c, _)                              => Movable(c)
    case Project(list, _)                          => list.forall(_.isInstanceOf[Attribute])
    case _                                         => false
  }

  private def leadsToJoin(plan: LogicalPlan): Boolean = plan match {
    case j: Join                        => transparent(j)
    case u: UnaryNode if transparent(u) => leadsToJoin(u.child)
    case _                              => false
  }

  private def hasStrategy(hint: JoinHint): Boolean = hint.leftHint.exists(_.strategy.isDefined) || hint.rightHint.exists(_.strategy.isDefined)
}
