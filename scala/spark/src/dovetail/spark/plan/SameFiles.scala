package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex,
  PartitionSpec
}

/**
 * Files of a table that a query reads twice, because Dovetail has added a read of its keys ([[RereadInput]]).
 *
 * All queries of a session share the list of files of a catalog table without partitions, and an INSERT of this session
 * renews it. An INSERT that ends between the two reads of one query would give them different rows: the filter made of
 * the keys would drop partners of the new rows. So these reads share the list that the first of them to run finds. A
 * query still sees all rows that were there when it started to read, even if it was planned before.
 */
object SameFiles {

  /** The plan, if Dovetail has added reads to it, with one list of files for all reads of a table. */
  def apply(session: SparkSession, before: LogicalPlan, after: LogicalPlan): LogicalPlan =
    if (after eq before) after
    else {
      val (had, has) = (reads(before), reads(after))
      val lists      = new IdentityHashMap[FileIndex, FirstList]
      has.forEach { (index, n) =>
        if (n > had.getOrDefault(index, 0)) index match {
          case files: PartitioningAwareFileIndex => lists.put(index, new FirstList(files, session)); ()
          case _                                 => ()
        }
      }
      if (lists.isEmpty) after
      else
        after.transformWithSubqueries {
          case Table(r, files) if lists.containsKey(files.location) =>
            val listed = files.copy(location = lists.get(files.location))(files.sparkSession)
            val table  = r.copy(relation = listed)
            table.copyTagsFrom(r)
            table
        }
    }

  /** Reads of each list that an INSERT may renew. */
  private def reads(plan: LogicalPlan): IdentityHashMap[FileIndex, Int] = {
    val found = new IdentityHashMap[FileIndex, Int]
    plan.collectWithSubqueries { case Table(_, files) => found.merge(files.location, 1, _ + _) }
    found
  }

  /** A catalog table without partitions. Partitions are listed for each query, and files by path for each DataFrame. */
  private object Table {
    def unapply(plan: LogicalPlan): Option[(LogicalRelation, HadoopFsRelation)] = plan match {
      case r: LogicalRelation if r.catalogTable.isDefined =>
        r.relation match {
          case files: HadoopFsRelation if files.partitionSchema.isEmpty => Some(r -> files)
          case _                                                        => None
        }
      case _ => None
    }
  }

  /** The files of another index as they were when the first scan asked for them. */
  final private[plan] class FirstList(of: PartitioningAwareFileIndex, session: SparkSession)
      extends PartitioningAwareFileIndex(session, Map.empty, None) {
    private lazy val files = of.allFiles()

    override def allFiles(): Seq[FileStatus]    = files
    override def rootPaths: Seq[Path]           = of.rootPaths
    override def partitionSpec(): PartitionSpec = PartitionSpec.emptySpec
    override def refresh(): Unit                = of.refresh()

    // planning asks for these, and is no scan
    override def sizeInBytes: Long         = of.sizeInBytes
    override def inputFiles: Array[String] = of.inputFiles

    override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
      mutable.LinkedHashMap(files.map(f => f.getPath -> f): _*)
    override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
      files.groupBy(_.getPath.getParent).map { case (directory, inside) => directory -> inside.toArray }

    // two parts of a query with the same table are still equal, so that Spark reads it once for both
    override def equals(that: Any): Boolean = that match {
      case other: FirstList => other.shares(of)
      case _                => false
    }
    override def hashCode: Int                                     = of.hashCode
    private def shares(index: PartitioningAwareFileIndex): Boolean = index eq of
  }
}
