package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, Estimate, Sampling, Source}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.sample.{CountableInput, RowCount}

/**
 * How uncertain the estimated rows of an input are, and a count of these rows. [[PlanStatistics]] then uses the count
 * instead of the estimate.
 */
final class UncertainRows(statistics: PlanStatistics, leaves: LeafStatistics) {
  import UncertainRows._

  /** A count of the input's rows; None if they are known already or cannot be counted while a query is planned. */
  def count(plan: LogicalPlan): Option[RowCount] = plan match {
    case CountableInput(leaf, conjuncts) if !isKnown(statistics(plan).rows) =>
      leaves.count(leaf, conjuncts.filterNot(PlanStatistics.holds(_, statistics(leaf))))
    case _ => None
  }

  /** Fewest and most rows that the input likely has. */
  def likely(plan: LogicalPlan): (Double, Double) = {
    val rows = statistics(plan).rows
    tried(plan).fold((rows.value / Unsampled, rows.value * Unsampled)) { case (few, many) =>
      (math.min(few, rows.value), math.max(many, rows.value))
    } match { case (few, many) => (math.max(few, rows.lower), math.min(many, rows.upper)) }
  }

  /** The likely rows by the rows of a sample that pass the input's filters. */
  private def tried(plan: LogicalPlan): Option[(Double, Double)] = plan match {
    case CountableInput(leaf, _) =>
      for {
        before <- statistics.samples(leaf)
        after  <- statistics.samples(plan) if after.untried.forall(PlanStatistics.holds(_, statistics(leaf)))
        (share, drawn) = before.left(after)
        all            = statistics(leaf).rows.value
        (few, many)    = Sampling.likely(share * drawn, drawn)
      } yield (few * all, many * all)
    case _ => None
  }

  /** Uses counted rows instead of the estimate from now on. */
  def learn(plan: LogicalPlan, counted: Long): Unit = plan match {
    case CountableInput(leaf, conjuncts) =>
      val (found, table) = (statistics(plan), statistics(leaf))
      val rows           = Estimate.exactly(counted.toDouble, Source.Exact)
      val restricted     = conjuncts.flatMap((e: Expression) => e.references.map(_.exprId.id)).toSet
      val columns        = found.columns.map { case (id, c) =>
        val all = if (restricted(id)) c.ndv else table.column(id).ndv
        val ndv = all.map(n => if (restricted(id)) n else Assumptions.distinctAfter(n, table.rows.value, rows.value))
        id -> c.copy(ndv = ndv.map(math.min(_, math.max(rows.value, 1.0))))
      }
      statistics.learn(plan, found.copy(rows = rows, columns = columns))
    case _ => ()
  }

  private def isKnown(rows: Estimate) = rows.lower == rows.upper
}

private object UncertainRows {

  /** Factor by which an estimate without a sample is likely wrong in either direction. */
  private val Unsampled = 10.0
}
