package org.apache.spark.sql.dovetail.store

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.Path
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.expressions.{Expression, XXH64}
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.unsafe.Platform
import org.apache.spark.sql.dovetail.sketch.ColumnSketch

/**
 * A file of a table in its current state.
 *
 * @param fingerprint hash of the path, length and modification time; it changes when the contents change
 */
final case class DataFile(path: Path, length: Long, fingerprint: Long) {

  /** The name of the file in a running task. */
  def taskName: String = SparkPath.fromPath(path).urlEncoded
}

object DataFile {

  /** The files of a table, ordered by path. With filters, only the files of matching partitions. */
  def filesIn(index: FileIndex, partitionFilters: Seq[Expression] = Nil): Vector[DataFile] =
    of(index.listFiles(partitionFilters, Nil)).map(f => f.path.toString -> f).sortBy(_._1).map(_._2)

  /**
   * The files of a listing, in its order.
   *
   * @param check called for each file, so that work on a million files can end early
   */
  def of(listing: Seq[PartitionDirectory], check: () => Unit = () => ()): Vector[DataFile] =
    listing.iterator.flatMap(_.files).map { f =>
      check()
      val path  = f.getPath.toString.getBytes(UTF_8)
      val named = XXH64.hashUnsafeBytes(path, Platform.BYTE_ARRAY_OFFSET.toLong, path.length, ColumnSketch.Seed)
      DataFile(f.getPath, f.getLen, XXH64.hashLong(f.getModificationTime, XXH64.hashLong(f.getLen, named)))
    }.toVector
}
