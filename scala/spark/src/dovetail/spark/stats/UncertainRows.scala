package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Estimate, Sampling, Source}
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.sample.{CountableInput, RowCount}

/**
 * How uncertain the estimated rows of an input are, and a count of these rows. [[PlanStatistics]] then uses the count
 * instead of the estimate.
 */
final class UncertainRows(statistics: PlanStatistics, leaves: FilteredLeaves) {
  import UncertainRows._

  /** A count of the input's rows; None if they are known already or cannot be counted while a query is planned. */
  def count(plan: LogicalPlan): Option[RowCount] = plan match {
    case CountableInput(leaf, conjuncts) if !statistics(plan).rows.isExact =>
      leaves.count(leaf, conjuncts.filterNot(FilterStatistics.holds(_, statistics(leaf))))
    case _ => None
  }

  /** Fewest and most rows that the input likely has. */
  def likely(plan: LogicalPlan): (Double, Double) = {
    val rows        = statistics(plan).rows
    val (few, many) = tried(plan).getOrElse((rows.value / Unsampled, rows.value * Unsampled))
    (math.max(math.min(few, rows.value), rows.lower), math.min(math.max(many, rows.value), rows.upper))
  }

  /** The likely rows by the rows of a sample that pass the input's filters. */
  private def tried(plan: LogicalPlan): Option[(Double, Double)] = plan match {
    case CountableInput(leaf, conjuncts) =>
      for {
        before <- statistics.samples(leaf)
        after  <- statistics.samples(plan) if after.untried.forall(FilterStatistics.holds(_, statistics(leaf)))
        (share, drawn) = before.left(after)
        all            = statistics(leaf).rows.value
        (few, many)    = Sampling.likely(share * drawn, drawn)
        unread         = FilterStatistics.ofUnread(statistics(leaf), conjuncts)
      } yield (few * all, (many + unread) * all)
    case _ => None
  }

  /** Uses counted rows instead of the estimate from now on. */
  def learn(plan: LogicalPlan, counted: Long): Unit = plan match {
    case CountableInput(leaf, conjuncts) =>
      val rows = Estimate.exactly(counted.toDouble, Source.Exact)
      val read = AttributeSet(conjuncts.flatMap(_.references))
      statistics.learn(plan, FilterStatistics.left(statistics(plan), statistics(leaf), read, rows))
    case _ => ()
  }
}

private object UncertainRows {

  /** Factor by which an estimate without a sample is likely wrong in either direction. */
  private val Unsampled = 10.0
}
