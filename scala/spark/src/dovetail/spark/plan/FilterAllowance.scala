package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.Reducer
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}
import org.apache.spark.sql.dovetail.base.RecursiveStep
import org.apache.spark.sql.internal.StaticSQLConf

/**
 * How much room for Bloom filters is left on the driver for one query, and for key ranges in Spark's pool of
 * subqueries. All join groups of a query share it: a union of a hundred joins must not have a hundred filters.
 *
 * A subquery gets none. Spark computes a filter as a subquery, too, and subqueries run in a pool of 16 threads for all
 * sessions: if 16 subqueries wait for filters of their own, none of these filters is ever started. Nor does a plan that
 * fills a cache, because 16 subqueries may read this cache while it is filled. Nor does a step of a recursion, which a
 * subquery may run, nor a query of which Spark may merge parts into a subquery ([[SubplanMerging]]).
 *
 * @param plan   the query, or a subquery of it
 * @param memory bytes of the driver's heap
 * @param result most bytes that the driver may receive from a stage; 0 if there is no limit
 */
final class FilterAllowance(plan: LogicalPlan, memory: Long, result: Long = 0L) {
  import FilterAllowance._

  /** Whether the plan may wait for subqueries that Dovetail adds. */
  def allowsSubqueries: Boolean = !mayBeInSubquery

  private lazy val mayBeInSubquery =
    plan.isInstanceOf[Subquery] || RuleScope.fillsCache(plan.conf) || copiesInputs || RecursiveStep.isPlanned ||
      merges || hasFewThreads

  /** Whether Spark may compute parts of the query together, as it came. */
  lazy val merges: Boolean = SubplanMerging.mayMerge(plan)

  /** Whether Spark may make a subquery of an input, to prune partitions by its keys. */
  private def copiesInputs =
    plan.conf.dynamicPartitionPruningEnabled && !plan.conf.dynamicPartitionPruningReuseBroadcastOnly

  /**
   * Whether there are few threads for broadcasts. An input that is broadcast waits in such a thread for its filter, and
   * the keys of the filter may come from a join with another broadcast, which needs a further thread.
   */
  private def hasFewThreads =
    plan.conf.getConf(StaticSQLConf.BROADCAST_EXCHANGE_MAX_THREAD_THRESHOLD) < LeastBroadcastThreads

  private var bytes = if (mayBeInSubquery) 0L else (memory * HeapShare / Copies).toLong

  /** Most keys that one more filter may have room for; 0 if there is no room for another filter. */
  def items: Long = {
    val one  = bytes / Reducer.MostOfGroup
    val room = (if (result > 0L) math.min(one, result / ResultShare) else one) * 8L / Reducer.BitsPerItem
    if (room < LeastItems) 0L else room
  }

  /** Number of key ranges that the query may have beside those that it has. Each is two subqueries. */
  def ranges: Int = if (mayBeInSubquery) 0 else MostRanges - taken

  private var taken = 0

  def takeRanges(number: Int): Unit = taken += number

  /** Reserves the room of filters that a plan has. */
  def take(filters: Vector[Reducer]): Unit = bytes -= filters.map(_.bits / 8L).sum
}

object FilterAllowance {

  /** Share of the driver's heap that the filters of one query may take. */
  private val HeapShare = 0.1

  /**
   * Copies of a filter on the driver, until the query ends: the row that the subquery returns, the literal made of it,
   * the filter that is read from the literal, and the task that has it as a part.
   */
  private val Copies = 4

  /**
   * Most key ranges of a query: more than any query of TPC-DS gets. Queries of other sessions wait for the same 16
   * threads.
   */
  private val MostRanges = 20

  /** Divisor of the driver's limit on results that gives the most bytes of a filter, which is the result of a task. */
  private val ResultShare = 2L

  /**
   * Fewest threads for broadcasts with which a query has filters, as many as Spark has for subqueries: so many filtered
   * inputs would have to be broadcast at a time. By default, there are 128.
   */
  private val LeastBroadcastThreads = 16

  /** Keys for which a filter is worth while; fewer keys are a broadcast. */
  private val LeastItems = 10000L
}
