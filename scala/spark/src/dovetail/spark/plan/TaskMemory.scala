package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.HashTable
import org.apache.spark.internal.config.{MEMORY_FRACTION, MEMORY_OFFHEAP_ENABLED, MEMORY_OFFHEAP_SIZE, MEMORY_STORAGE_FRACTION}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.SparkContext

/** What memory tasks can count on, as the configuration has it: not what is there right now, for plans must not change while executors come and go. */
object TaskMemory {

  /** What tasks may build hash tables of: with Spark's memory manager, a task of n that run at a time gets 1/2n of the memory that storage cannot hold back. */
  def hashTable(context: SparkContext, conf: SQLConf): HashTable = {
    val heap    = if (context.isLocal) Runtime.getRuntime.maxMemory.toDouble else context.executorMemory * MiB
    val onHeap  = math.max(0.0, heap - Reserved) * context.getConf.get(MEMORY_FRACTION)
    val pool    = if (context.getConf.get(MEMORY_OFFHEAP_ENABLED)) math.min(onHeap, context.getConf.get(MEMORY_OFFHEAP_SIZE).toDouble) else onHeap
    val certain = pool * (1.0 - context.getConf.get(MEMORY_STORAGE_FRACTION))
    HashTable(certain / (2.0 * tasks(context)), conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES).toDouble)
  }

  /** Tasks that an executor runs at a time. */
  private def tasks(context: SparkContext): Int = {
    val cores = context.master match {
      case _ if context.isLocal      => context.defaultParallelism
      case LocalCluster(_, cores, _) => cores.toInt
      case m                         => number(context, "spark.executor.cores").getOrElse(if (m.startsWith("spark:")) UnknownCores else 1)
    }
    math.max(1, cores / number(context, "spark.task.cpus").filter(_ > 0).getOrElse(1))
  }

  private def number(context: SparkContext, key: String): Option[Int] = context.getConf.getOption(key).flatMap(v => scala.util.Try(v.trim.toInt).toOption)

  private val LocalCluster = """local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*]""".r

  private val MiB = 1024.0 * 1024

  /** Bytes of a heap that Spark's memory manager keeps for itself. */
  private val Reserved = 300 * MiB

  /** Cores of an executor of a standalone cluster that does not limit them: all of a worker's, more than most have. */
  private val UnknownCores = 16
}
