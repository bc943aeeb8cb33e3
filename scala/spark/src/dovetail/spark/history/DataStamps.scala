package org.apache.spark.sql.dovetail.history

import java.util.IdentityHashMap

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.TextHash
import org.apache.spark.sql.dovetail.deadline.{ListedFiles, PlanningTime, TableVersion}
import org.apache.spark.sql.dovetail.leaf.HiddenRows
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.dovetail.report.DataStamp
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation, PartitionDirectory}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.types.StructType

/**
 * Computes stamps of the data that a plan reads, from its files or from the snapshot of its table format. Other sources
 * have no stamps and no history, because they do not report when their data changes.
 *
 * One object serves one planning run. The run asks for a leaf several times, but its files are listed once.
 */
final class DataStamps {
  import DataStamps._

  private val listed = new IdentityHashMap[LeafNode, Option[Data]]
  private val stored = new IdentityHashMap[FileIndex, Option[Data]]

  /** The stamp of all data that a plan reads; None if the state of some leaf is unknown. */
  def apply(plan: LogicalPlan): Option[DataStamp] = leaves(plan).map(_.map(_.stamp).reduce(_ + _))

  /**
   * The factor by which the data has grown since an earlier stamp, if files were only added. None if the data has
   * changed otherwise.
   */
  def growth(plan: LogicalPlan, since: DataStamp): Option[Double] =
    leaves(plan).filter(_.map(_.before(since.newest)).reduce(_ + _) == since)
      .map(_.map(_.stamp.bytes).sum.toDouble / math.max(since.bytes, 1L))

  /** Whether files were only added to the data of these plans since an earlier stamp of all of it. */
  def onlyGrew(plans: Seq[LogicalPlan], since: DataStamp): Boolean = {
    val all                           = plans.map(leaves)
    def sum(stamp: Data => DataStamp) = all.flatten.flatten.map(stamp).foldLeft(DataStamp.none)(_ + _)
    all.forall(_.isDefined) && (sum(_.stamp) == since || sum(_.before(since.newest)) == since)
  }

  private def leaves(plan: LogicalPlan): Option[Vector[Data]] = {
    val all =
      plan.collectLeaves().toVector.map { case l: LeafNode => listed.computeIfAbsent(l, read(_)); case _ => None }
    if (all.nonEmpty && all.forall(_.isDefined)) Some(all.flatten) else None
  }

  private def read(leaf: LeafNode): Option[Data] = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation if HiddenRows.possible(f) => snapshot(f.location)
        case f: HadoopFsRelation                           => files(f.location)
        case _                                             => None
      }
    case v: DataSourceV2ScanRelation => v.scan match {
        case f: FileScan => files(f.fileIndex)
        case _           => IcebergSnapshot(v).map(id => OfSnapshot(TextHash(id)))
      }
    case _ => None
  }

  /** The files of an index, which the leaves of one table share. */
  private def files(index: FileIndex): Option[Data] = stored.computeIfAbsent(
    index,
    _ => {
      PlanningTime.check()
      val partitions = index.partitionSchema
      listing(index).map(all =>
        OfFiles(all.iterator.flatMap { directory =>
          val values = if (partitions.isEmpty) TextHash.Seed else hash(directory.values, partitions)
          directory.files.iterator.map(f => StampedFile(f.fileStatus, values))
        }.toVector)
      )
    }
  )

  /** A directory may become that of another partition. */
  private def hash(values: InternalRow, partitions: StructType): Long =
    TextHash(values.toSeq(partitions).mkString("\u0000"))

  /**
   * Nothing is listed beside a query that runs: the listing would be a job before the query's own jobs. If further
   * queries wait to be logged, a listing under way is not waited for.
   */
  private def listing(index: FileIndex): Option[Seq[PartitionDirectory]] =
    if (PlanningTime.isLimited) ListedFiles(index) else ListedFiles.atHand(index, waits = !QueryLog.othersWait)
}

private object DataStamps {

  /** The files of a table, or its snapshot. */
  sealed private trait Data {
    def stamp: DataStamp

    /** The stamp of the files that have not been modified after this time. */
    def before(newest: Long): DataStamp
  }

  /** @param partition hash of the values of the partition columns */
  final private case class StampedFile(status: FileStatus, partition: Long)

  final private case class OfFiles(files: Vector[StampedFile]) extends Data {
    lazy val stamp: DataStamp                    = of(files)
    override def before(newest: Long): DataStamp = of(files.filter(_.status.getModificationTime <= newest))

    private def of(some: Vector[StampedFile]): DataStamp = some.foldLeft(DataStamp.none) { (sum, file) =>
      val f = file.status
      // a table has thousands of files, and a URI caches its hash code
      val named = XXH64.hashInt(f.getPath.toUri.hashCode, file.partition)
      sum + DataStamp(
        XXH64.hashLong(f.getModificationTime, XXH64.hashLong(f.getLen, named)),
        1,
        f.getLen,
        f.getModificationTime
      )
    }
  }

  /** Data identified by its snapshot. Another snapshot is other data, because the common part of both is unknown. */
  final private case class OfSnapshot(id: Long) extends Data {
    override val stamp: DataStamp                = DataStamp(id, 0, 0L, 0L)
    override def before(newest: Long): DataStamp = stamp
  }

  /** None if the index lists the latest version, which may be a later one when the query runs. */
  private def snapshot(index: FileIndex): Option[Data] =
    TableVersion.fixed(index).map(v => OfSnapshot(TextHash(s"${v.roots} ${v.table} ${v.version}")))

}
