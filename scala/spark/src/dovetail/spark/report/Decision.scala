package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.{Outcome, Shape}

/**
 * What is done with a group of joins, and why.
 *
 * @param taken   the outcome's best plan is used, and not the group as it is written
 * @param notes   what else was done or not done: inputs with fewer rows, orders that somebody asked for and that are
 *                not used
 * @param asked   who asked for the order that is used
 * @param barred  why no other order is taken, however much it saves
 */
final case class Decision(
    outcome: Outcome,
    taken: Boolean,
    notes: Vector[String],
    asked: Option[String],
    barred: Option[String] = None
) {

  /** Share of the written plan's cost that the best one saves. */
  def gain: Double = Decision.gain(outcome)

  def shape: Shape = (if (taken) outcome.best else outcome.original).shape
}

object Decision {
  def gain(outcome: Outcome): Double =
    1.0 - outcome.best.cost.total / math.max(outcome.original.cost.total, Double.MinPositiveValue)
}

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
