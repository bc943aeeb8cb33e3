package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.{HashTable, SortMemory}
import org.apache.spark.internal.config.{MEMORY_FRACTION, MEMORY_OFFHEAP_ENABLED, MEMORY_OFFHEAP_SIZE, MEMORY_STORAGE_FRACTION}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.{SparkConf, SparkContext}

/** What memory tasks can count on, as the configuration has it: not what is there right now, for plans must not change while executors come and go. */
object TaskMemory {

  /** What tasks may build hash tables of: with Spark's memory manager, a task of n that run at a time gets 1/2n of the memory that storage cannot hold back. */
  def hashTable(context: SparkContext, conf: SQLConf): HashTable = {
    // a copy, each time it is asked for
    val cluster = context.getConf
    val certain = pool(context, cluster) * (1.0 - cluster.get(MEMORY_STORAGE_FRACTION))
    HashTable(certain / (2.0 * Executors.tasksOfOne(context, cluster)), taskInput(conf))
  }

  /** What tasks sort in: one of n that run at a time gets 1/n of the memory, for the sorts of both inputs of its join. More, and it writes to disk. */
  def sorts(context: SparkContext, conf: SQLConf): SortMemory = {
    val cluster = context.getConf
    val merges  = conf.adaptiveExecutionEnabled && conf.coalesceShufflePartitionsEnabled
    SortMemory(pool(context, cluster) / (2.0 * Executors.tasksOfOne(context, cluster)), conf.numShufflePartitions, if (merges) taskInput(conf) else 0.0)
  }

  /** Bytes of one executor that execution and storage share. */
  private def pool(context: SparkContext, cluster: SparkConf): Double = {
    val heap   = if (context.isLocal) Runtime.getRuntime.maxMemory.toDouble else context.executorMemory * MiB
    val onHeap = math.max(0.0, heap - Reserved) * cluster.get(MEMORY_FRACTION)
    if (cluster.get(MEMORY_OFFHEAP_ENABLED)) math.min(onHeap, cluster.get(MEMORY_OFFHEAP_SIZE).toDouble) else onHeap
  }

  private def taskInput(conf: SQLConf): Double = conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES).toDouble

  private val MiB = 1024.0 * 1024

  /** Bytes of a heap that Spark's memory manager keeps for itself. */
  private val Reserved = 300 * MiB
}
