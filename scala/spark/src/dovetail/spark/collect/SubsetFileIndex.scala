package org.apache.spark.sql.dovetail.collect

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/** Some files of a table, in their original partitions: [[Collect]] reads only the files that have changed. */
final private[collect] class SubsetFileIndex(all: FileIndex, keep: Set[Path]) extends FileIndex {
  override def rootPaths: Seq[Path] = all.rootPaths

  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    all.listFiles(
      partitionFilters,
      dataFilters
    ).map(d => d.copy(files = d.files.filter(f => keep(f.getPath)))).filter(_.files.nonEmpty)

  private lazy val chosen = listFiles(Nil, Nil).flatMap(_.files)

  override def inputFiles: Array[String]   = chosen.map(_.getPath.toString).toArray
  override def refresh(): Unit             = all.refresh()
  override def sizeInBytes: Long           = chosen.map(_.getLen).sum
  override def partitionSchema: StructType = all.partitionSchema
}
