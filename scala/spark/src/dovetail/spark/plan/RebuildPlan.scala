package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.{JoinTree, Shape}
import dovetail.kernel.graph.{Step, WideSet}
import org.apache.spark.sql.catalyst.expressions.{And, AttributeMap, AttributeReference, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{Cross, Inner}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.{JoinGroup, WrittenJoin}
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember

/**
 * Converts a join tree to a logical plan. Each predicate goes to the lowest join that has all of its columns. Per join
 * and equivalence class there is one equality (a written one if there is one, otherwise an implied one). Every join
 * gets Dovetail's mark, reducers ([[ReducerFilters]]) go on the inputs, and the output of the group does not change.
 * Joins that are not inner keep exactly their written condition; a predicate that becomes applicable at such a join
 * becomes a filter above it.
 *
 * The other predicates of a class are implied: within each input, the members of the class are equal already (by the
 * joins below, or by the local predicates that [[JoinPredicates]] adds to a relation with two members). So one equality
 * between the inputs makes all of them equal.
 *
 * An input that the search does not count as broadcast must not be broadcast, nor a join that may take more memory than
 * there is. Spark decides by the bytes of files, and takes a semi join for as large as its left input, so the hint of
 * the join keeps Spark from it.
 */
final class RebuildPlan(ready: PreparedGroup) {
  import RebuildPlan.Methods
  import ready.{graph, group, leaves, memory, predicates}

  private val starts = new StartOrder(leaves)

  /** Makes the joins of inputs that filters take their keys from. */
  val keys: KeySource = new KeySource(leaves, links)

  /**
   * The plan of a search result, with its broadcasts.
   *
   * @param more further filters on inputs
   */
  def apply(tree: JoinTree, more: Vector[(Int, Expression)] = Vector.empty): LogicalPlan = {
    val joins      = tree.joins.map(j => j.relations.toSet -> j).toMap
    val broadcasts = ready.broadcasts(tree).fitting
    val methods    = Methods(joins.get(_).flatMap(broadcasts.get), joins(_).memory > memory)
    val filters    = new ReducerFilters(ready.keys, keys)(tree.reducers)
    val inputs     = leaves.indices.toVector.map(i =>
      (filters.getOrElse(i, Vector.empty) ++ more.collect { case (`i`, filter) => filter })
        .foldLeft(leaves(i))((input, filter) => Filter(filter, input))
    )
    rebuilt(tree.shape, inputs, methods)
  }

  /** The plan of an order without broadcasts and reducers. */
  def apply(shape: Shape): LogicalPlan = rebuilt(shape, leaves, Methods(_ => None, _ => false))

  private def rebuilt(shape: Shape, inputs: Vector[LogicalPlan], methods: Methods): LogicalPlan = {
    val joined   = build(shape, inputs, methods)
    val filtered = predicates.constant.map(_.expression).reduceOption(And(_, _)).fold(joined)(Filter(_, joined))
    if (filtered.output == group.top.output) filtered else Project(group.top.output, filtered)
  }

  private def build(shape: Shape, inputs: Vector[LogicalPlan], methods: Methods): LogicalPlan = shape match {
    case Shape.Leaf(r)    => inputs(r)
    case Shape.Join(l, r) =>
      val (left, right) = (l.leaves.toSet, r.leaves.toSet)
      val (a, b)        = (build(l, inputs, methods), build(r, inputs, methods))
      val step          = if (graph.operators.isEmpty) Step.Inner
      else graph.joinable.between(WideSet(graph.size, l.leaves), WideSet(graph.size, r.leaves)).get
      val swapped = step.operator.isEmpty && starts.swaps(l, r)
      val join    = step.operator match {
        case None =>
          val on = links(left, right) ++ others(left, right)
          if (swapped) inner(b, a, on) else inner(a, b, on)
        case Some(o) =>
          if (step.swapped) operator(group.operators(o.index), b, a) else operator(group.operators(o.index), a, b)
      }
      val side = methods.broadcast(left ++ right).map(s => if (swapped) JoinChoice.other(s) else s)
      val kept = Vector(l -> a, r -> b).collect {
        case (input, plan) if heavy(input, methods) => if (plan eq join.left) BuildLeft else BuildRight
      }
      val decided = if (side.isEmpty && kept.isEmpty) join else join.copy(hint = JoinDecision.hint(join, side, kept))
      if (step.operator.isEmpty) decided else filtered(others(left, right), decided)
  }

  /**
   * Whether Spark would broadcast an input by itself that must not be broadcast. Of a join, Spark takes the size after
   * it has removed columns that are not read above, so its size as it is now says nothing.
   */
  private def heavy(input: Shape, methods: Methods): Boolean = input match {
    case Shape.Leaf(i) =>
      !graph.relations(i).broadcastable && SparkBroadcast(leaves(i), leaves(i).conf.autoBroadcastJoinThreshold)
    case Shape.Join(l, r) => methods.exceed((l.leaves ++ r.leaves).toSet)
  }

  private def inner(left: LogicalPlan, right: LogicalPlan, conditions: Vector[Expression]): Join = {
    val condition = conditions.reduceOption(And(_, _)).map(over(_, left, right))
    Join(left, right, if (condition.isEmpty && group.crossed) Cross else Inner, condition, JoinGroup.Mark)
  }

  private def operator(o: WrittenJoin, left: LogicalPlan, right: LogicalPlan): Join =
    Join(left, right, o.joinType, o.condition.map(over(_, left, right)), JoinGroup.Mark)

  private def filtered(conditions: Vector[Expression], plan: LogicalPlan): LogicalPlan =
    conditions.reduceOption(And(_, _)).fold(plan)(c => Filter(over(c, plan), plan))

  /** Adjusts the nullability of columns: if outer joins move, a column may be nullable at a place where it was not. */
  private def over(e: Expression, inputs: LogicalPlan*): Expression =
    if (graph.operators.isEmpty) e
    else {
      val nullable = AttributeMap(inputs.flatMap(_.output).map(a => a -> a.nullable))
      e.transform { case a: AttributeReference => a.withNullability(nullable.getOrElse(a, a.nullable)) }
    }

  private def links(left: Set[Int], right: Set[Int]): Vector[Expression] =
    predicates.members.indices.toVector.flatMap { c =>
      val written =
        predicates.originals(c).find(e => across(e.left.relation, e.right.relation, left, right)).map(_.expression)
      def implied = for (a <- memberIn(c, left); b <- memberIn(c, right)) yield EqualTo(a.expression, b.expression)
      written.orElse(implied)
    }

  /** The other predicates whose columns are all available at this join, but not below it. */
  private def others(left: Set[Int], right: Set[Int]): Vector[Expression] =
    graph.joinable.predicatesAt(left.toVector.sorted, right.toVector.sorted).map(p =>
      predicates.complex(p.index).expression
    )

  private def memberIn(c: Int, relations: Set[Int]): Option[ClassMember] =
    predicates.members(c).find(m => relations(m.relation))

  private def across(a: Int, b: Int, left: Set[Int], right: Set[Int]): Boolean =
    (left(a) && right(b)) || (left(b) && right(a))
}

private object RebuildPlan {

  /**
   * How the joins of a plan are executed, by their relations.
   *
   * @param broadcast side of a join that is broadcast
   * @param exceed    whether a broadcast of the join itself may take more memory than there is
   */
  final private case class Methods(broadcast: Set[Int] => Option[BuildSide], exceed: Set[Int] => Boolean)
}

/** Builds the plan of a group that keeps its written order. */
object WrittenOrder {

  /**
   * The group as written, over its optimized leaves. If Spark's own cost-based reordering is on, the joins are marked,
   * because Dovetail has decided on their order.
   */
  def apply(group: JoinGroup, optimized: Vector[LogicalPlan], marks: Boolean): LogicalPlan = {
    val replacement = new java.util.IdentityHashMap[LogicalPlan, LogicalPlan]
    group.leaves.zip(optimized).foreach { case (leaf, o) => replacement.put(leaf, o) }
    def put(p: LogicalPlan): LogicalPlan =
      if (replacement.containsKey(p)) replacement.get(p)
      else {
        val plan = p.mapChildren(put)
        if (marks) marked(plan) else plan
      }
    put(group.top)
  }

  /** Marks a plan with Dovetail's mark if it is a join without a hint. */
  def marked(plan: LogicalPlan): LogicalPlan = plan match {
    case j: Join if j.hint == JoinHint.NONE => val join = j.copy(hint = JoinGroup.Mark); join.copyTagsFrom(j); join
    case other                              => other
  }
}
