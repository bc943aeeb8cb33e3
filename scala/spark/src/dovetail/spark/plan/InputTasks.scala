package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.FilesInMemory
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.execution.datasources.FileIndex

/** Number of tasks that read an input, by Spark's rules for files. */
object InputTasks {

  /** Whether one task reads an input without taking more than Spark gives to a task, however many tasks are free. */
  def fitIntoOne(leaf: LogicalPlan): Boolean =
    leaf.collectLeaves().map(bytesToRead).sum <= leaf.conf.filesMaxPartitionBytes.toDouble

  /**
   * Number of tasks that read an input, at most.
   *
   * @param atOnce tasks that run at a time
   */
  def atMost(leaf: LogicalPlan, atOnce: Int): Double =
    leaf.collectLeaves().map { table =>
      val bytes = bytesToRead(table)
      1.0 + bytes / bytesOfTask(table, bytes, atOnce)
    }.sum

  /** About how many tasks read the largest table below a plan, by its size alone. */
  def ofLargest(plan: LogicalPlan): Double =
    plan.collectLeaves().map(SparkBroadcast.bytes(_)).max / plan.conf.filesMaxPartitionBytes

  /**
   * About how many tasks return the rows of an input: those that read its files, if it is a table of files with filters
   * and projections. Infinite for other plans, and if the files are not listed yet.
   */
  def known(plan: LogicalPlan, atOnce: Int): Double = plan match {
    case Project(_, child)                => known(child, atOnce)
    case Filter(_, child)                 => known(child, atOnce)
    case leaf: LeafNode if isListed(leaf) =>
      val bytes = bytesToRead(leaf)
      // the last file of a task may exceed its limit by the cost of opening
      1.0 + math.floor((bytes - leaf.conf.filesOpenCostInBytes) / bytesOfTask(leaf, bytes, atOnce))
    case _ => Double.PositiveInfinity
  }

  /**
   * Most bytes that one task reads of a table. Spark makes tasks smaller than their limit if there would be fewer than
   * the cluster runs at a time (`FilePartition.maxSplitBytes`). A file takes as much of a task as opening costs,
   * however small it is.
   *
   * @param bytes bytes of the table ([[bytesToRead]])
   */
  private def bytesOfTask(table: LogicalPlan, bytes: Double, atOnce: Int): Double = {
    val least = table.conf.filesMinPartitionNum.getOrElse(atOnce)
    val even  = math.max(table.conf.filesOpenCostInBytes.toDouble, bytes / math.max(1, least))
    math.max(1.0, math.min(table.conf.filesMaxPartitionBytes.toDouble, even))
  }

  private def isListed(leaf: LeafNode): Boolean =
    RereadInput.files(leaf).exists(f => FilesInMemory.unapply(f.location).isDefined)

  /** Bytes of a table, with those that opening a file costs, in Spark's reckoning. */
  private def bytesToRead(table: LogicalPlan): Double = {
    val number =
      Some(table).collect { case l: LeafNode => l }.flatMap(RereadInput.files).fold(0)(f => listed(f.location))
    table.stats.sizeInBytes.toDouble + number * table.conf.filesOpenCostInBytes.toDouble
  }

  private def listed(index: FileIndex): Int = index match {
    case FilesInMemory(files) => files.allFiles().size
    case chosen               => chosen.inputFiles.length
  }
}
