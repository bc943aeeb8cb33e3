package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.{Outcome, Shape}

/**
 * The decision on a join group, and its reasons.
 *
 * @param outcome result of the search: the best plan and the written one
 * @param taken   whether the outcome's best plan is used rather than the written order
 * @param notes   further remarks for the report: reduced inputs, requested orders that are not used
 * @param asked   description of the request (hint, setting or pin) if a requested order is used
 * @param barred  reason why no other order may be used, however much it saves
 */
final case class Decision(
    outcome: Outcome,
    taken: Boolean,
    notes: Vector[String],
    asked: Option[String],
    barred: Option[String] = None
) {

  /** Share of the written plan's cost that the best plan saves. */
  def gain: Double = Decision.gain(outcome)

  /** Whether an order of the search is taken. It may still be refused, unlike one that the user asked for. */
  def mayBeRefused: Boolean = taken && asked.isEmpty

  /** The decision for the written order, for this reason. */
  def bar(why: String): Decision = copy(taken = false, barred = Some(why))

  /** The same without what only details need, which keeps the search in memory. */
  def light: Decision = copy(outcome = outcome.light)

  def shape: Shape = (if (taken) outcome.best else outcome.original).shape
}

object Decision {
  def gain(outcome: Outcome): Double =
    1.0 - outcome.best.cost.total / math.max(outcome.original.cost.total, Double.MinPositiveValue)
}

/**
 * The parameters that decisions on groups depend on, for reports. The last two take time to compute and not every
 * report needs them, so they are computed on demand.
 *
 * @param minGain            least share of the cost that another order must save
 * @param broadcastThreshold bytes up to which Spark broadcasts by itself; a negative value means never
 * @param memory             most bytes of memory that a broadcast may take
 * @param costs              name of the cost model
 */
final class DecisionBasis(val minGain: Double, val broadcastThreshold: Long, memory: => Double, costs: => String) {
  lazy val broadcastMemory: Double = memory
  lazy val costModel: String       = costs
}
