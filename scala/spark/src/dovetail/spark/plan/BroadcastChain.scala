package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, EqualNullSafe, EqualTo, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.{FragileColumns, JoinGroup}
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Movable}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage => AdaptiveStage}

/**
 * Joins of adaptive execution's plan that follow one another on one input, the probe, each with an input that is
 * broadcast, or is about to be. Between them there are at most projections of columns.
 *
 * Such joins may be done in any order. Each makes of a row of the probe, by the columns of this row alone, the rows
 * that come out: two of them commute unless one reads columns that the other one adds. That holds for inner joins, for
 * outer joins that keep the probe's rows, and for semi, anti and existence joins with the probe on their left. A
 * condition that may throw ends the chain, for it would see other rows; so does a hint of the user's. Where the probe
 * computes a column by an expression that may throw there is no chain: compiled code computes it for rows that the
 * joins have left.
 *
 * @param top   the plan that the chain takes the place of
 * @param probe what is below all of its joins
 * @param joins in the order in which they run
 */
final class BroadcastChain private (top: LogicalPlan, val probe: LogicalPlan, val joins: Vector[BroadcastChain.Link]) {

  /** All of its broadcasts are there. Until then the joins wait for them, and another order would be a guess. */
  def ready: Boolean = joins.forall(_.ready)

  /** Of each join, the others whose columns it reads, as bits. */
  val needs: Vector[Long] = joins.map { j =>
    joins.indices.filter(i => (joins(i) ne j) && joins(i).added.exists(j.join.references.contains))
      .foldLeft(0L)((m, i) => m | 1L << i)
  }

  /**
   * The same joins in another order, with the columns alone that are still read (nobody prunes columns after this).
   *
   * @param mark to be told of every join of the new plan
   */
  def inOrder(order: Vector[Int], mark: Join => Unit): LogicalPlan = {
    // what is read after each join of the new order
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

  /** One join of a chain. @param side where its broadcast input stands */
  final class Link(val join: Join, side: BuildSide) {
    val build: AdaptiveStage = JoinChoice.input(join, side).asInstanceOf[AdaptiveStage]
    def probe: LogicalPlan   = JoinChoice.input(join, JoinChoice.other(side))

    def ready: Boolean = build.physicalPlan match {
      case b: BroadcastQueryStageExec => b.isMaterialized
      case _                          => false
    }

    /** Columns that the rows of the probe have more after it. */
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
   * The chain that ends in a plan, if it has two joins or more.
   *
   * @param known says of a broadcast input whether its join may be one of the chain
   */
  def apply(top: LogicalPlan, known: LogicalPlan => Boolean): Option[BroadcastChain] = {
    val found = links(top, known)
    if (found.size < 2 || found.size >= java.lang.Long.SIZE) None
    else Some(new BroadcastChain(top, found.last.probe, found.reverse)).filter(c => FragileColumns(c.probe).isEmpty)
  }

  /** From the top down. */
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

  /** Looked up in a table of the build's keys. */
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
