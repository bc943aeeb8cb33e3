package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.deadline.{FilesInMemory, SharedFileIndex}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

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
      val indexes    = has._1
      // a subquery, which is planned before its query, may have added reads already
      val known = indexes.collect { case list: SharedFileIndex => list }
      val added = indexes.filter(index => has._2.get(index) > had._2.getOrDefault(index, 0))
      // also those that are only equal: Spark must recognize that both reads have the same result
      val shared = (added ++ known).map(SharedFileIndex.source(_)).toSet
      val lists  = new IdentityHashMap[FileIndex, SharedFileIndex]
      if (shared.nonEmpty) indexes.foreach {
        case FilesInMemory(files) if shared(files) && !lists.containsKey(files) =>
          lists.put(files, known.find(_.source eq files).getOrElse(new SharedFileIndex(files, session)))
        case _ => ()
      }
      val other = known.filterNot(list => lists.get(list.source) eq list)
      // Spark does not replace a list by an equal one, so the other lists make way for their sources first
      val opened = if (other.isEmpty) after else located(after)(index => other.find(_ eq index).map(_.source))
      if (lists.isEmpty) after else located(opened)(index => Option(lists.get(index)))
    }

  private def located(plan: LogicalPlan)(to: FileIndex => Option[FileIndex]): LogicalPlan =
    plan.transformWithSubqueries { case Table(r, files) =>
      to(files.location).fold(r)(index => r.copy(relation = files.copy(location = index)(files.sparkSession)))
    }

  /** The lists of files in the order in which the plan reads them, and the number of reads of each. */
  private def reads(plan: LogicalPlan): (Vector[FileIndex], IdentityHashMap[FileIndex, Int]) = {
    val counts  = new IdentityHashMap[FileIndex, Int]
    val indexes = plan.collectWithSubqueries { case Table(_, files) => files.location }
    (indexes.filter(counts.merge(_, 1, _ + _) == 1).toVector, counts)
  }

  private object Table {
    def unapply(plan: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] = plan match {
      case r: LogicalRelation => Some(r.relation).collect { case files: HadoopFsRelation => r -> files }
      case _                  => None
    }
  }
}
