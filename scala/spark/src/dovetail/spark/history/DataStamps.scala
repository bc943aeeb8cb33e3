package org.apache.spark.sql.dovetail.history

import java.util.IdentityHashMap

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.deadline.{ListedFiles, TableVersion}
import org.apache.spark.sql.dovetail.leaf.HiddenRows
import org.apache.spark.sql.dovetail.report.DataStamp
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The state of the data that a plan reads: by its files, or by the snapshot that a table format names. Other sources
 * have none, and no history: nobody says when their data changes.
 *
 * One object serves one planning run, which asks for a leaf several times: its files are listed once.
 */
final class DataStamps {
  import DataStamps._

  private val listed = new IdentityHashMap[LeafNode, Option[Data]]

  /** None where the state of some leaf cannot be told. */
  def apply(plan: LogicalPlan): Option[DataStamp] = leaves(plan).map(_.map(_.stamp).reduce(_ + _))

  /**
   * By what factor the data has grown since it had another stamp: to all that was there, files were added. None where
   * it is other data.
   */
  def growth(plan: LogicalPlan, since: DataStamp): Option[Double] =
    leaves(plan).filter(_.map(_.before(since.newest)).reduce(_ + _) == since)
      .map(_.map(_.stamp.bytes).sum.toDouble / math.max(since.bytes, 1L))

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
        case _           => Option(v.relation.table.properties.get(IcebergSnapshot)).map(id => OfSnapshot(hash(id)))
      }
    case _ => None
  }

  private def files(index: FileIndex): Option[Data] =
    ListedFiles(index).map(all => OfFiles(all.iterator.flatMap(_.files).map(_.fileStatus).toVector))
}

private object DataStamps {

  /** The files of a table, or its snapshot. */
  sealed private trait Data {
    def stamp: DataStamp

    /** Of what has not been modified since. */
    def before(newest: Long): DataStamp
  }

  final private case class OfFiles(files: Vector[FileStatus]) extends Data {
    lazy val stamp: DataStamp                    = of(files)
    override def before(newest: Long): DataStamp = of(files.filter(_.getModificationTime <= newest))

    private def of(some: Vector[FileStatus]): DataStamp = some.foldLeft(DataStamp(0L, 0, 0L, 0L)) { (sum, f) =>
      // a table has thousands of files, and a path knows the hash of its URI
      val named = XXH64.hashInt(f.getPath.toUri.hashCode, Seed)
      sum + DataStamp(
        XXH64.hashLong(f.getModificationTime, XXH64.hashLong(f.getLen, named)),
        1,
        f.getLen,
        f.getModificationTime
      )
    }
  }

  /** Another snapshot is other data: how much of it is the same is not told. */
  final private case class OfSnapshot(id: Long) extends Data {
    override val stamp: DataStamp                = DataStamp(id, 0, 0L, 0L)
    override def before(newest: Long): DataStamp = stamp
  }

  /** A property of Iceberg's tables. */
  private val IcebergSnapshot = "current-snapshot-id"

  private def snapshot(index: FileIndex): Option[Data] =
    TableVersion.analyzed(index).map(v => OfSnapshot(hash(s"${v.roots} ${v.table} ${v.version}")))

  def hash(text: String): Long = XXH64.hashUTF8String(UTF8String.fromString(text), Seed)

  /** Any number: what is stored depends on it. */
  private val Seed = 42L
}
