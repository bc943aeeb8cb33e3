package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, EqualNullSafe, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.{FragileColumns, JoinGroup}
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Movable}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage => AdaptiveStage}

/**
 * Successive joins of one input, the probe, in a plan of adaptive execution. Each join has another input that is
 * broadcast or is about to be. Between the joins there are at most projections of columns.
 *
 * Such joins may run in any order. Each join computes its output rows from one row of the probe, by the columns of this
 * row alone. So two of them commute unless one reads columns that the other one adds. This holds for inner joins, for
 * outer joins that preserve the probe's rows, and for semi, anti and existence joins with the probe on their left. A
 * condition that may throw ends the chain, because in another order it would be evaluated on other rows. A user's hint
 * ends the chain, too. If the probe computes a column by an expression that may throw, there is no chain: generated
 * code computes this column only for rows that the joins have left.
 *
 * @param top   plan that the chain replaces
 * @param probe plan below all joins of the chain
 * @param joins joins in the order in which they run
 */
final class BroadcastChain private (top: LogicalPlan, val probe: LogicalPlan, val joins: Vector[BroadcastChain.Link]) {

  /**
   * Whether all broadcasts of the chain are complete. Until then the joins wait for them, and a new order would be a
   * guess.
   */
  def ready: Boolean = joins.forall(_.ready)

  /** Per join, the other joins whose columns it reads, as a bit set. */
  val needs: Vector[Long] = joins.map { j =>
    joins.indices.filter(i => (joins(i) ne j) && joins(i).added.exists(j.join.references.contains))
      .foldLeft(0L)((m, i) => m | 1L << i)
  }

  /**
   * The same joins in another order. Between the joins, only columns that are still read remain, because no later rule
   * prunes columns.
   *
   * @param mark called with every join of the new plan
   */
  def inOrder(order: Vector[Int], mark: Join => Unit): LogicalPlan = {
    // columns that are read after each join of the new order
    val read = order.map(joins(_).join.references).scanRight(AttributeSet(top.output))(_ ++ _).tail
    val plan = order.zip(read).foldLeft(probe) { case (below, (i, later)) =>
      val join = joins(i).over(below)
      mark(join)
      val kept = join.output.filter(later.contains)
      if (i == order.last || kept.size == join.output.size) join else Project(kept, join)
    }
    if (plan.output == top.output) plan else Project(top.output, plan)
  }
}

object BroadcastChain {

  /** One join of a chain. @param side side of its broadcast input */
  final class Link(val join: Join, side: BuildSide) {
    val build: AdaptiveStage = JoinChoice.input(join, side).asInstanceOf[AdaptiveStage]
    def probe: LogicalPlan   = JoinChoice.input(join, JoinChoice.other(side))

    def ready: Boolean = build.physicalPlan match {
      case b: BroadcastQueryStageExec => b.isMaterialized
      case _                          => false
    }

    /** Columns that the join adds to the rows of the probe. */
    val added: AttributeSet = join.joinType match {
      case LeftSemi | LeftAnti => AttributeSet.empty
      case ExistenceJoin(flag) => AttributeSet(flag)
      case _                   => build.outputSet
    }

    def over(probe: LogicalPlan): Join = {
      val moved = if (side == BuildLeft) join.copy(right = probe) else join.copy(left = probe)
      moved.copyTagsFrom(join)
      moved
    }
  }

  /**
   * The chain whose last join is the top of a plan, if it has at least two joins.
   *
   * @param known whether the join with a given broadcast input may be part of the chain
   */
  def apply(top: LogicalPlan, known: LogicalPlan => Boolean): Option[BroadcastChain] = {
    val found = links(top, known)
    if (found.size < 2 || found.size >= java.lang.Long.SIZE) None
    else Some(new BroadcastChain(top, found.last.probe, found.reverse)).filter(c => FragileColumns(c.probe).isEmpty)
  }

  /** The joins of the chain, from the top down. */
  private def links(plan: LogicalPlan, known: LogicalPlan => Boolean): Vector[Link] = plan match {
    case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) => links(child, known)
    case j: Join => link(j, known).fold(Vector.empty[Link])(l => l +: links(l.probe, known))
    case _       => Vector.empty
  }

  private def link(j: Join, known: LogicalPlan => Boolean): Option[Link] =
    if (JoinGroup.hasStrategy(j.hint) || !j.condition.exists(Movable(_))) None
    else Seq(BuildRight, BuildLeft).find { side =>
      val (build, probe) = (JoinChoice.input(j, side), JoinChoice.input(j, JoinChoice.other(side)))
      JoinChoice.builds(j.joinType, side) && isBroadcast(build) && !isBroadcast(probe) &&
      j.condition.exists(Conjuncts(_).exists(hashes(_, build, probe))) && known(build)
    }.map(new Link(j, _))

  /**
   * Whether the conjunct is an equality between the two sides, so that the join looks up a hash table of the build
   * side.
   */
  private def hashes(e: Expression, build: LogicalPlan, probe: LogicalPlan): Boolean = {
    def across(a: Expression, b: Expression) = a.references.nonEmpty && b.references.nonEmpty &&
      ((a.references.subsetOf(build.outputSet) && b.references.subsetOf(probe.outputSet)) ||
        (b.references.subsetOf(build.outputSet) && a.references.subsetOf(probe.outputSet)))
    e match {
      case EqualTo(a, b)       => across(a, b)
      case EqualNullSafe(a, b) => across(a, b)
      case _                   => false
    }
  }

  private def isBroadcast(plan: LogicalPlan): Boolean = plan match {
    case s: AdaptiveStage => s.physicalPlan.isInstanceOf[BroadcastQueryStageExec]
    case _                => false
  }
}
