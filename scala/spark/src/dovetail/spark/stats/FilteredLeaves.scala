package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.catalyst.expressions.{And, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.footers.FooterStatistics
import org.apache.spark.sql.dovetail.leaf.HiddenRows
import org.apache.spark.sql.dovetail.predicates.PrunedPredicate
import org.apache.spark.sql.dovetail.sample.{FileSamples, PassingRows, RowCount}
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Reads of all files of a leaf that find exactly the rows which conjuncts keep: their number ([[RowCount]]), or the
 * rows themselves ([[PassingRows]]). None if the files cannot be read, if queries see other rows than those in the
 * files, or if the user has set the number of rows.
 *
 * @param prunedBy columns by which partitions were pruned: predicates on them hold for all rows that are read
 */
final class FilteredLeaves(
    known: TableStatisticsSource,
    footers: FooterStatistics,
    files: FileSamples,
    prunedBy: LogicalRelation => AttributeSet
) {
  import FilteredLeaves._

  /** A count of the rows; None also if the number of the leaf's rows does not come from its files. */
  def count(leaf: LeafNode, conjuncts: Vector[Expression]): Option[RowCount] =
    condition(leaf, conjuncts).flatMap(files.count(leaf, _))

  /**
   * The rows. Of a table with collected statistics, the footers are read for this; None if files have changed since.
   *
   * @param keys   columns of join keys, without which the rows are of no use
   * @param others further columns to keep
   */
  def passing(
      leaf: LeafNode,
      conjuncts: Vector[Expression],
      keys: AttributeSet,
      others: AttributeSet
  ): Option[PassingRows] =
    if (!known.find(leaf).forall(_.counted)) None
    else
      condition(leaf, conjuncts).filter(PassingRows.tests).flatMap { c =>
        footers.readFew(leaf, MostFiles)
        files.passing(leaf, c, keys, others)
      }

  private def condition(leaf: LeafNode, conjuncts: Vector[Expression]): Option[Expression] = leaf match {
    case r: LogicalRelation if known.rows(r).isEmpty && !HiddenRows.possible(r) =>
      val pruned = prunedBy(r)
      conjuncts.filterNot(PrunedPredicate(_, pruned)).reduceOption(And(_, _))
    case _ => None
  }
}

private object FilteredLeaves {

  /** Most files whose footers are read to find a table's rows. Each takes about half a millisecond. */
  private val MostFiles = 64
}
