package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.deadline.SharedFileIndex
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}

/**
 * Files of a table that a query reads twice, because Dovetail has added a read of its keys ([[RereadInput]]).
 *
 * The queries of a session share the list of files of a catalog table without partitions, or of a view of files, and an
 * INSERT of this session renews it. An INSERT that ends between the two reads of one query would give them different
 * rows: the filter made of the keys would drop partners of the new rows. So these reads share the list that the first
 * of them to run finds ([[SharedFileIndex]]).
 */
object SameFiles {

  /** The plan, if Dovetail has added reads to it, with one list of files for all reads of a table. */
  def apply(session: SparkSession, before: LogicalPlan, after: LogicalPlan): LogicalPlan =
    if (after eq before) after
    else {
      val (had, has) = (reads(before), reads(after))
      val lists      = new IdentityHashMap[FileIndex, SharedFileIndex]
      has.forEach { (index, n) =>
        if (n > had.getOrDefault(index, 0)) index match {
          case _: SharedFileIndex                => ()
          case files: PartitioningAwareFileIndex => lists.put(index, new SharedFileIndex(files, session)); ()
          case _                                 => ()
        }
      }
      if (lists.isEmpty) after
      else
        after.transformWithSubqueries {
          case Table(r, files) if lists.containsKey(files.location) =>
            r.copy(relation = files.copy(location = lists.get(files.location))(files.sparkSession))
        }
    }

  /** Reads of each list. */
  private def reads(plan: LogicalPlan): IdentityHashMap[FileIndex, Int] = {
    val found = new IdentityHashMap[FileIndex, Int]
    plan.collectWithSubqueries { case Table(_, files) => found.merge(files.location, 1, _ + _) }
    found
  }

  private object Table {
    def unapply(plan: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] = plan match {
      case r: LogicalRelation => Some(r.relation).collect { case files: HadoopFsRelation => r -> files }
      case _                  => None
    }
  }
}
