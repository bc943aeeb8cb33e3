package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.store.TableStatistics

/** What Dovetail collected earlier of the table behind a leaf of a plan; of the partitions that are left where partitions were pruned. */
trait KnownTables {
  def find(leaf: LeafNode): Option[TableStatistics]
}

object KnownTables {
  val none: KnownTables = _ => None
}
