package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.sample.{CountableInput, PassingRows}

/**
 * Inputs of which samples have too few rows to tell their join keys. A filter for one product keeps one row of a
 * thousand tables, and a sample of the table rarely has this row. The product that a query asks for is often one that
 * many facts refer to, so the average product says little about it.
 */
final class RareRows(statistics: PlanStatistics, leaves: FilteredLeaves) {
  import RareRows._

  /**
   * The rows of an input, to be read from its files; None if its sample has enough of them, if they seem to be too
   * many, or if they cannot be read.
   *
   * @param copies number of inputs that share the sample
   * @param keys   columns of join keys
   * @param others further columns that joins read
   */
  def apply(plan: LogicalPlan, copies: Int, keys: AttributeSet, others: AttributeSet): Option[PassingRows] =
    plan match {
      case CountableInput(leaf, conjuncts) if conjuncts.nonEmpty && keys.nonEmpty =>
        val table   = statistics(leaf)
        def tooMany = statistics(plan).rows.value > PassingRows.MostKept || table.rows.value > PassingRows.MostRead
        if (tooMany || !isRare(plan, table, copies)) None
        else leaves.passing(leaf, conjuncts.filterNot(FilterStatistics.holds(_, table)), keys, others)
      case _ => None
    }

  private def isRare(plan: LogicalPlan, table: RelationProfile, copies: Int): Boolean =
    statistics.samples(plan).forall { s =>
      !s.complete && (s.kept.size < Enough * copies || !s.untried.forall(FilterStatistics.holds(_, table)))
    }

  /** Uses all rows that pass as the input's sample from now on, and their number instead of the estimate. */
  def learn(plan: LogicalPlan, rows: PassingRows): Option[Long] = plan match {
    case CountableInput(leaf, _) => rows.rows.map { found =>
        statistics.uncertain.learn(plan, found.of)
        statistics.samples.learn(plan, found, leaf.output)
        found.of
      }
    case _ => None
  }
}

private object RareRows {

  /** Sampled rows that are enough: the keys of a predicate that keeps more are counted well on them. */
  private val Enough = 500
}
