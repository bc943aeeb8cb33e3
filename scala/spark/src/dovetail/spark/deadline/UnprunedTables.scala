package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.atomic.AtomicBoolean

/**
 * Whether the query that is being planned may read partitioned tables of a catalog of which Dovetail does not know the
 * partitions: their predicates call code of the user, which runs once, when Spark prunes the partitions later. Asking
 * such a table for its files would list all of its partitions, in a metastore and a file system, while Spark needs a
 * few of them ([[ListedFiles]]).
 */
object UnprunedTables {
  private val ofQueries = new PerQuery[AtomicBoolean]

  private def ofQuery: AtomicBoolean = ofQueries(new AtomicBoolean)

  /** Notes it for the query that this thread plans. */
  def mark(): Unit = ofQuery.set(true)

  def mayBeThere: Boolean = ofQuery.get
}
