package org.apache.spark.sql.dovetail.cluster

import dovetail.kernel.cost.{HashTable, SortMemory}
import org.apache.spark.internal.config.{
  MAX_RESULT_SIZE,
  MEMORY_FRACTION,
  MEMORY_OFFHEAP_ENABLED,
  MEMORY_OFFHEAP_SIZE,
  MEMORY_STORAGE_FRACTION
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.SparkContext

/**
 * What memory tasks can count on, as the configuration has it: not what is there right now, for plans must not change
 * while executors come and go.
 */
final class TaskMemory(context: SparkContext, conf: SQLConf) {
  import TaskMemory._

  // a copy, each time it is asked for
  private val cluster = context.getConf

  /**
   * What tasks may build hash tables of: with Spark's memory manager, a task of n that run at a time gets 1/2n of the
   * memory that storage cannot hold back.
   *
   * @param joins that may meet in a task: it holds the tables of all of them until it ends
   */
  def hashTable(joins: Int = 1): HashTable = HashTable(
    pool * (1.0 - cluster.get(MEMORY_STORAGE_FRACTION)) / tasks / 2.0 / math.max(TablesOfTask, joins.toDouble)
  )

  /**
   * Bytes of a broadcast that was not Spark's own choice: a share of the driver's heap, which collects and builds it,
   * and of an executor's, which gets a copy, and no more than the driver takes as a result.
   */
  def broadcast: Double = {
    val heaps  = Seq(Runtime.getRuntime.maxMemory.toDouble, heap).map(h => math.max(0.0, h - Reserved) / BroadcastShare)
    val result = cluster.get(MAX_RESULT_SIZE).toDouble
    (heaps ++ Some(result).filter(_ > 0.0)).min
  }

  /**
   * What tasks sort in: one of n that run at a time gets 1/n of the memory, for the sorts of both inputs of its join.
   * More, and it writes to disk.
   */
  def sorts: SortMemory = {
    val merges = conf.adaptiveExecutionEnabled && conf.coalesceShufflePartitionsEnabled
    SortMemory(pool / tasks / 2.0, conf.numShufflePartitions, if (merges) taskInput else 0.0)
  }

  /** Bytes of one executor that execution and storage share. */
  private def pool: Double = {
    val onHeap = math.max(0.0, heap - Reserved) * cluster.get(MEMORY_FRACTION)
    if (cluster.get(MEMORY_OFFHEAP_ENABLED)) math.min(onHeap, cluster.get(MEMORY_OFFHEAP_SIZE).toDouble) else onHeap
  }

  /** Bytes of an executor; in local mode it is the driver. */
  private def heap: Double =
    if (context.isLocal) Runtime.getRuntime.maxMemory.toDouble else context.executorMemory * MiB

  private def tasks: Int        = Executors.tasksOfOne(context, cluster)
  private def taskInput: Double = conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES).toDouble
}

object TaskMemory {
  private val MiB = 1024.0 * 1024

  /**
   * Hash tables that a task may hold at a time, at least: those of two joins, whose results meet in a third without
   * another exchange.
   */
  private val TablesOfTask = 2.0

  /**
   * Part of a heap that one broadcast may take. While it is made, its rows are there as they were collected, as the
   * table that grows, and as the copy that is sent: about two and a half times what the table takes in the end, and
   * tasks that run at that time need the other half.
   */
  private val BroadcastShare = 5.0

  /** Bytes of a heap that Spark's memory manager keeps for itself. */
  private val Reserved = 300 * MiB
}
