package org.apache.spark.sql.dovetail.table

import org.apache.spark.sql.catalyst.plans.logical.LeafNode

/**
 * What Dovetail collected earlier of the table behind a leaf of a plan, of the partitions that are left where
 * partitions were pruned; and what it was told.
 */
trait TableStatisticsSource {
  def find(leaf: LeafNode): Option[TableStatistics]

  /** Looks for all of these at once, where that is cheaper than one by one. */
  def findAll(leaves: Seq[LeafNode]): Unit = ()

  /** Rows of that table, where the user has told of them. */
  def rows(leaf: LeafNode): Option[Double] = None
}

object TableStatisticsSource {
  val none: TableStatisticsSource = _ => None
}
