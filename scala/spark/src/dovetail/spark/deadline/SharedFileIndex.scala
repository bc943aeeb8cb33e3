package org.apache.spark.sql.dovetail.deadline

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitioningAwareFileIndex, PartitionSpec}
import org.apache.spark.sql.types.StructType

/**
 * The files of another index as they were when the first scan asked for them, for all scans of one query. Planning asks
 * the [[SharedFileIndex.source]], so that a query which was planned before an INSERT reads what it has written.
 */
final class SharedFileIndex(val source: PartitioningAwareFileIndex, session: SparkSession)
    extends PartitioningAwareFileIndex(session, Map.empty, None) {
  private lazy val (partitions, files) = (source.partitionSpec(), source.allFiles())

  override def partitionSpec(): PartitionSpec = partitions
  override def allFiles(): Seq[FileStatus]    = files
  override def rootPaths: Seq[Path]           = source.rootPaths
  override def refresh(): Unit                = source.refresh()

  // these are asked while the query is planned
  override def partitionSchema: StructType = source.partitionSchema
  override def sizeInBytes: Long           = source.sizeInBytes
  override def inputFiles: Array[String]   = source.inputFiles

  // Spark asks for both again for each partition that it lists
  private lazy val byPath      = mutable.LinkedHashMap(files.map(f => f.getPath -> f): _*)
  private lazy val byDirectory =
    files.groupBy(_.getPath.getParent).map { case (directory, inside) => directory -> inside.toArray }

  override protected def leafFiles: mutable.LinkedHashMap[Path, FileStatus]   = byPath
  override protected def leafDirToChildrenFiles: Map[Path, Array[FileStatus]] = byDirectory

  private lazy val listed = source.allFiles().map(f => (f.getPath, f.getLen, f.getModificationTime)).toSet

  // What is equal for Spark stays equal, so that it reads a table once for two parts of a query. But Spark compares the
  // paths of directories alone, and two DataFrames may have listed one directory before and after a write. Reads that
  // Dovetail adds have few columns, so they are often equal in everything else.
  override def equals(that: Any): Boolean = that match {
    case other: SharedFileIndex => (other.source eq source) || (other.source == source && other.listed == listed)
    case _                      => false
  }
  override def hashCode: Int = source.hashCode
}

object SharedFileIndex {

  /** The index that lists the files now, whatever the scans of a query have found. */
  def source(index: FileIndex): FileIndex = index match {
    case shared: SharedFileIndex => shared.source
    case other                   => other
  }
}
