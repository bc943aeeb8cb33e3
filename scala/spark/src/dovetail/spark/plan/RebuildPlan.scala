package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{JoinTree, Shape}
import org.apache.spark.sql.catalyst.expressions.{And, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.{Cross, Inner}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember

/**
 * Join tree → logical plan: each predicate at the lowest join that has all its columns, one equality per equivalence class and join (a written one where
 * there is one, else an implied one), the mark on every join, and the group's output unchanged.
 *
 * The predicates of a class that are left out are implied: within each input the members of the class are equal already (by the joins below, or by the
 * local predicates that [[JoinPredicates]] adds to a relation with two members), so one equality across makes all of them equal.
 */
final class RebuildPlan(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates) {

  /** The plan of a search's result, with its broadcasts. */
  def apply(tree: JoinTree): LogicalPlan = {
    val methods = tree.joins.map(j => j.relations.toSet -> j.method).toMap
    rebuilt(tree.shape, relations => methods.get(relations).flatMap(JoinChoice.side))
  }

  /** The plan of a bare order. */
  def apply(shape: Shape): LogicalPlan = rebuilt(shape, _ => None)

  private def rebuilt(shape: Shape, broadcast: Set[Int] => Option[BuildSide]): LogicalPlan = {
    val joined   = build(shape, broadcast)
    val filtered = predicates.constant.reduceOption(And(_, _)).fold(joined)(Filter(_, joined))
    if (filtered.output == group.top.output) filtered else Project(group.top.output, filtered)
  }

  private def build(shape: Shape, broadcast: Set[Int] => Option[BuildSide]): LogicalPlan = shape match {
    case Shape.Leaf(r)    => leaves(r)
    case Shape.Join(l, r) =>
      val (left, right) = (l.leaves.toSet, r.leaves.toSet)
      val condition     = conditions(left, right).reduceOption(And(_, _))
      val join          = Join(build(l, broadcast), build(r, broadcast), if (condition.isEmpty && group.crossed) Cross else Inner, condition, JoinGroup.Mark)
      broadcast(left ++ right).foreach(join.setTagValue(JoinChoice.Tag, _))
      join
  }

  private def conditions(left: Set[Int], right: Set[Int]): Vector[Expression] = {
    val links = predicates.members.indices.toVector.flatMap { c =>
      val written = predicates.originals(c).find(e => across(e.left.relation, e.right.relation, left, right)).map(_.expression)
      def implied = for (a <- memberIn(c, left); b <- memberIn(c, right)) yield EqualTo(a.expression, b.expression)
      written.orElse(implied)
    }
    val others = predicates.complex.filter { p =>
      p.relations.forall(r => left(r) || right(r)) && p.relations.exists(left) && p.relations.exists(right)
    }
    links ++ others.map(_.expression)
  }

  private def memberIn(c: Int, relations: Set[Int]): Option[ClassMember] = predicates.members(c).find(m => relations(m.relation))

  private def across(a: Int, b: Int, left: Set[Int], right: Set[Int]): Boolean = (left(a) && right(b)) || (left(b) && right(a))
}
