package org.apache.spark.sql.dovetail.cluster

import scala.util.Try

import dovetail.kernel.cost.{HashTable, SortMemory}
import org.apache.spark.internal.config.{
  MAX_RESULT_SIZE,
  MEMORY_FRACTION,
  MEMORY_OFFHEAP_ENABLED,
  MEMORY_OFFHEAP_SIZE,
  MEMORY_STORAGE_FRACTION
}
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.SparkContext

/**
 * The memory that tasks can count on, according to the configuration. The memory that is free at the moment does not
 * matter, because plans must not change while executors come and go.
 */
final class TaskMemory(context: SparkContext, conf: SQLConf) {
  import TaskMemory._

  // not getConf, which copies the configuration
  private val cluster = context.conf

  /**
   * Memory for the hash tables of a task. Spark's memory manager guarantees a task at least 1/2n of the memory that
   * storage cannot occupy, if n tasks run at a time.
   *
   * @param joins number of joins that may be in one task, which keeps the tables of all of them until it ends
   */
  def hashTable(joins: Int = 1): HashTable = HashTable(
    pool * (1.0 - cluster.get(MEMORY_STORAGE_FRACTION)) / Executors.mostTasksOfOne(context, cluster) / 2.0 / math.max(
      TablesOfTask,
      joins.toDouble
    )
  )

  /**
   * Most bytes of a broadcast that Dovetail chooses: a share of the heap of the driver, which collects and builds it,
   * and of the heap of an executor, which gets a copy. It is also at most the driver's limit on results, and Spark's
   * limit on broadcasts, which is a setting from Spark 4.1 on: a broadcast beyond it fails the query.
   */
  def broadcast: Double = {
    val heaps  = Seq(Runtime.getRuntime.maxMemory.toDouble, heap).map(h => math.max(0.0, h - Reserved) / BroadcastShare)
    val result = cluster.get(MAX_RESULT_SIZE).toDouble
    val table  =
      Option(conf.getConfString(MaxBroadcast, null)).flatMap(b => Try(JavaUtils.byteStringAsBytes(b)).toOption)
    (heaps ++ Some(result).filter(_ > 0.0) :+ table.getOrElse(SparksLimit).toDouble).min
  }

  /**
   * Memory for the sorts of a task. If n tasks run at a time, a task gets 1/n of the memory, which the sorts of both
   * inputs of its join share. Larger sorts spill to disk.
   */
  def sorts: SortMemory = {
    val merges = conf.adaptiveExecutionEnabled && conf.coalesceShufflePartitionsEnabled
    SortMemory(pool / tasks / 2.0, conf.numShufflePartitions, if (merges) taskInput else 0.0)
  }

  /** Bytes of one executor's memory that execution and storage share. */
  private def pool: Double = {
    val onHeap = math.max(0.0, heap - Reserved) * cluster.get(MEMORY_FRACTION)
    if (cluster.get(MEMORY_OFFHEAP_ENABLED)) math.min(onHeap, cluster.get(MEMORY_OFFHEAP_SIZE).toDouble) else onHeap
  }

  /** Bytes of an executor's heap. In local mode the driver is the executor. */
  private def heap: Double =
    if (context.isLocal) Runtime.getRuntime.maxMemory.toDouble else context.executorMemory * MiB

  private def tasks: Int        = Executors.tasksOfOne(context, cluster)
  private def taskInput: Double = conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES).toDouble
}

object TaskMemory {
  private val MiB = 1024.0 * 1024

  private val MaxBroadcast = "spark.sql.maxBroadcastTableSize"

  /** Most bytes of a broadcast in Spark, if the setting is not set or the line does not have it. */
  private val SparksLimit = 8L << 30

  /**
   * Least number of hash tables to expect in a task: those of two joins whose results are joined by a third one without
   * another exchange.
   */
  private val TablesOfTask = 2.0

  /**
   * Divisor of a heap that gives the most bytes of one broadcast. While the broadcast is built, memory holds the
   * collected rows, the growing table, and the copy that is sent. Together they take about two and a half times the
   * final table, and running tasks need the other half of the heap.
   */
  private val BroadcastShare = 5.0

  /** Bytes of a heap that Spark's memory manager reserves. */
  private val Reserved = 300 * MiB
}
