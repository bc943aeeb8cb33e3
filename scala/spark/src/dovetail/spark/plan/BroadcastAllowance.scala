package org.apache.spark.sql.dovetail.plan

import java.lang.ref.SoftReference

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.deadline.PerQuery
import org.apache.spark.sql.dovetail.leaf.CanonicalForms

/**
 * How much memory is left for broadcasts in one query. All join groups of a query share it, those of its subqueries
 * included: adaptive execution starts the broadcasts of all branches of a union at once, and Spark runs up to 16
 * subqueries at a time.
 *
 * A copy of an earlier group gets what that one got, such as the second use of a common table expression: Spark
 * computes both once only if they have the same plan.
 *
 * @param one    bytes of memory that one broadcast may take
 * @param reuses whether Spark computes equal plans once
 */
final class BroadcastAllowance(one: Double, reuses: Boolean = true) {
  private var room = BroadcastRoom.of(one)

  // Groups with broadcasts, with the memory that was left for them. A plan may hold the query's tracker, by a cache or
  // by a function of the program; the reference is soft, because the tracker is the weak key of this object.
  private val before = mutable.ArrayBuffer.empty[(SoftReference[LogicalPlan], BroadcastRoom)]

  /** The memory that is left. */
  def left: BroadcastRoom = room

  /** Whether nothing has been reserved yet. */
  def isUnused: Boolean = room == BroadcastRoom.of(one)

  /**
   * The memory that is left for a group.
   *
   * @param top top join of the group, as written
   */
  def left(top: LogicalPlan): BroadcastRoom = earlier(top).getOrElse(room)

  /** Reserves the memory of broadcasts. */
  def take(taken: BroadcastRoom): Unit = room =
    BroadcastRoom(math.max(0.0, room.most - taken.most), math.max(0.0, room.expected - taken.expected))

  /** Reserves the memory of a group's broadcasts, unless it is a copy of an earlier group. */
  def take(top: LogicalPlan, taken: BroadcastRoom): Unit =
    if (taken.most > 0.0 && earlier(top).isEmpty) {
      before += new SoftReference(top) -> room
      take(taken)
    }

  private def earlier(top: LogicalPlan): Option[BroadcastRoom] =
    if (!reuses) None
    else before.collectFirst {
      case (plan, left) if Option(plan.get).exists(CanonicalForms.certainlySame(_, top)) => left
    }
}

object BroadcastAllowance {
  private val queries = new PerQuery[BroadcastAllowance]

  /** The allowance that all runs of the rule for one query share. */
  def ofQuery(one: Double, reuses: Boolean): BroadcastAllowance = queries(new BroadcastAllowance(one, reuses))
}

/**
 * Memory for several broadcasts, in bytes.
 *
 * @param most     by the upper bounds of their sizes
 * @param expected by the estimates
 */
final case class BroadcastRoom(most: Double, expected: Double) {

  /** Whether broadcasts of this memory fit. */
  def fits(memory: BroadcastRoom): Boolean = memory.most <= most && memory.expected <= expected
}

object BroadcastRoom {

  /**
   * The memory of all broadcasts of a query. Their expected memory must fit into what one may take. One takes its
   * maximum only if its estimate is wrong by far, and two of them seldom do so in one query.
   *
   * @param one bytes that one broadcast may take
   */
  def of(one: Double): BroadcastRoom = BroadcastRoom(one * Together, one)

  /** Memory of all broadcasts at most, in parts of what one may take. */
  private val Together = 2.0
}
