package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.FragileColumns

/**
 * Successive joins of one input, the probe, with other inputs, the builds, in a plan of adaptive execution. Between the
 * joins there are at most projections of columns.
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
final class JoinChain private (top: LogicalPlan, val probe: LogicalPlan, val joins: Vector[ChainLink]) {

  /** Whether all builds are broadcasts. The joins of such a chain are one step, which waits for all broadcasts. */
  val allBroadcast: Boolean = joins.forall(_.isBroadcast)

  /** Per join, the other joins whose columns it reads, as a bit set. */
  val needs: Vector[Long] = joins.map { j =>
    joins.indices.filter(i => (joins(i) ne j) && joins(i).added.exists(j.join.references.contains))
      .foldLeft(0L)((m, i) => m | 1L << i)
  }

  /** The partitionings that the joins need. */
  lazy val partitionings: ChainPartitionings = new ChainPartitionings(probe, joins)

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

object JoinChain {

  /** Most joins of a chain; the joins below them are part of the probe. */
  private val MostJoins = java.lang.Long.SIZE - 1

  /**
   * The chains whose last join is the top of a plan, if they have at least two joins. There may be two, because the two
   * inputs of the lowest join can both be the probe.
   *
   * @param known whether the join with a given build may be part of the chain
   */
  def ending(top: LogicalPlan, known: LogicalPlan => Boolean): Vector[JoinChain] = {
    val found = links(top, known, Vector.empty)
    if (found.size < 2) Vector.empty
    else
      (Vector(found) ++ turned(found.last, known).map(found.init :+ _))
        .map(ls => new JoinChain(top, ls.last.probe, ls.reverse)).filter(c => FragileColumns(c.probe).isEmpty)
  }

  /** The joins of the chain, from the top down. */
  private def links(plan: LogicalPlan, known: LogicalPlan => Boolean, found: Vector[ChainLink]): Vector[ChainLink] =
    if (found.size == MostJoins) found
    else
      plan match {
        case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) => links(child, known, found)
        case j: Join => link(j, known).fold(found)(l => links(l.probe, known, found :+ l))
        case _       => found
      }

  /** The join as a link, with the side that has further joins as the probe. */
  private def link(j: Join, known: LogicalPlan => Boolean): Option[ChainLink] = {
    val links = Vector(BuildRight, BuildLeft).flatMap(ChainLink(j, _)).filter(l => known(l.build))
    links.find(_.isBroadcast).orElse(links.find(l => hasJoin(l.probe))).orElse(links.headOption)
  }

  /** The lowest join of a chain with its sides exchanged, if both of its inputs are exchanged. */
  private def turned(lowest: ChainLink, known: LogicalPlan => Boolean): Option[ChainLink] =
    if (lowest.isBroadcast || lowest.join.joinType != Inner) None
    else ChainLink(lowest.join, JoinChoice.other(lowest.side)).filter(l => !l.isBroadcast && known(l.build))

  private def hasJoin(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => hasJoin(child)
    case _: Join           => true
    case _                 => false
  }
}
