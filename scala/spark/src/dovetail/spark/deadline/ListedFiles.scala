package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.{ConcurrentHashMap, ExecutionException, FutureTask}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory, PartitioningAwareFileIndex}

/**
 * The files of an index, from memory if Spark has listed them. Any other index is asked in a separate thread
 * ([[Aside]]), because the time of a listing depends on a catalog and a file system. With Delta Lake, it can also take
 * a Spark job that replays the table's log.
 *
 * A version of a table is listed once, and by one query at a time. A listing that comes too late for that query is
 * there for the next one.
 */
object ListedFiles {

  /** All files of the index; None if the listing takes too long. It then continues in its own thread. */
  def apply(index: FileIndex): Option[Seq[PartitionDirectory]] = index match {
    case _: PartitioningAwareFileIndex => Some(index.listFiles(Nil, Nil))
    case _ => TableVersion.fixed(index).fold(aside(index)(index.listFiles(Nil, Nil)))(ofVersion(_, index))
  }

  /** The files of the partitions that pass the filters. */
  def apply(index: FileIndex, partitionFilters: Seq[Expression]): Option[Seq[PartitionDirectory]] = index match {
    case _: PartitioningAwareFileIndex => Some(index.listFiles(partitionFilters, Nil))
    case _ if partitionFilters.isEmpty => apply(index)
    case _                             => aside(index)(index.listFiles(partitionFilters, Nil))
  }

  /** The files that a scan will read, if they were chosen before the query was planned. */
  def chosen(index: FileIndex): Option[ChosenFiles] =
    ChosenFiles(index, MostFiles)(filters => aside(index)(index.listFiles(filters, Nil)))

  private def aside[A](index: FileIndex)(body: => A): Option[A] =
    Aside(index.rootPaths.headOption.fold("a listing of files")(p => s"the listing of $p"))(_ => body)

  private def ofVersion(version: TableVersion, index: FileIndex): Option[Seq[PartitionDirectory]] =
    kept.get(version).orElse(aside(index)(once(version, index)))

  private def once(version: TableVersion, index: FileIndex): Seq[PartitionDirectory] = {
    val mine = new FutureTask[Seq[PartitionDirectory]](() => kept.get(version).getOrElse(list(version, index)))
    val task = Option(underWay.putIfAbsent(version, mine)).getOrElse {
      try mine.run()
      finally underWay.remove(version, mine)
      mine
    }
    try task.get
    catch { case e: ExecutionException => throw e.getCause }
  }

  private def list(version: TableVersion, index: FileIndex): Seq[PartitionDirectory] = {
    val all = index.listFiles(Nil, Nil).toVector
    if (filesOf(all) <= MostFiles) kept.put(version, all)
    all
  }

  private def filesOf(listing: Seq[PartitionDirectory]): Long = listing.iterator.map(_.files.size.toLong).sum

  /**
   * Most files that are remembered, of all tables together: about 10 MB, at half a kilobyte for a path and its status.
   * A table of more files is listed for each query that asks for them.
   */
  private val MostFiles = 20000L

  private val kept = new BoundedCache[TableVersion, Seq[PartitionDirectory]]("files of table versions", MostFiles)(l =>
    math.max(1L, filesOf(l))
  )

  private val underWay = new ConcurrentHashMap[TableVersion, FutureTask[Seq[PartitionDirectory]]]
}
