package org.apache.spark.sql.dovetail.report

/**
 * What a decision on a group was made by, as reports tell it. The last two cost something to work out, and not every
 * report asks.
 *
 * @param minGain            share of the cost that another order has to save
 * @param broadcastThreshold bytes up to which Spark broadcasts by itself; negative never
 * @param memory             bytes of memory that a broadcast may take at most
 * @param costs              name of the cost model
 */
final class DecisionBasis(val minGain: Double, val broadcastThreshold: Long, memory: => Double, costs: => String) {
  lazy val broadcastMemory: Double = memory
  lazy val costModel: String       = costs
}
