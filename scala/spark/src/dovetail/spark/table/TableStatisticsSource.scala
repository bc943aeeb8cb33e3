package org.apache.spark.sql.dovetail.table

import org.apache.spark.sql.catalyst.plans.logical.LeafNode

/**
 * The statistics that Dovetail has collected for the table behind a leaf of a plan, and the row count that the user has
 * set for it. If partitions were pruned, the statistics are those of the partitions that are left.
 */
trait TableStatisticsSource {
  def find(leaf: LeafNode): Option[TableStatistics]

  /** Looks up all of these leaves at once, if that is cheaper than one by one. */
  def findAll(leaves: Seq[LeafNode]): Unit = ()

  /** Rows of that table, if the user has set them. */
  def rows(leaf: LeafNode): Option[Double] = None
}

object TableStatisticsSource {
  val none: TableStatisticsSource = _ => None
}
