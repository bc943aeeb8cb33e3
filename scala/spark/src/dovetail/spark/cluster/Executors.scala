package org.apache.spark.sql.dovetail.cluster

import scala.util.Try

import org.apache.spark.{SparkConf, SparkContext}

/**
 * The number of executors that a broadcast is copied to, and the number of tasks that run at a time, according to the
 * configuration. The executors that are alive do not matter, because a query must get the same plan while executors
 * come and go.
 */
object Executors {

  // Spark's master for tests of a cluster on one machine: workers, cores per worker, memory per worker; each worker
  // starts one executor
  private val LocalCluster = """local-cluster\[\s*(\d+)\s*,.*""".r
  private val ItsCores     = """local-cluster\[\s*\d+\s*,\s*(\d+)\s*,.*""".r

  /** Number of executors: 0 in local mode, where the driver has the only copy; 1 if nothing is configured. */
  def configured(master: String, local: Boolean, conf: SparkConf): Int = master match {
    case _ if local            => 0
    case LocalCluster(workers) => Try(workers.toInt).filter(_ > 0).getOrElse(1)
    case _                     => instances(conf).orElse(shareOfCores(conf)).getOrElse(1)
  }

  /** Number of tasks that run at a time on all executors together. */
  def tasks(context: SparkContext, conf: SparkConf): Int =
    tasksOfOne(context, conf) * math.max(1, configured(context.master, context.isLocal, conf))

  /** Number of tasks that one executor runs at a time. */
  def tasksOfOne(context: SparkContext, conf: SparkConf): Int = {
    val each =
      if (context.isLocal) context.defaultParallelism
      else cores(context.master, conf).getOrElse(if (context.master.startsWith("spark:")) UnknownCores else 1)
    math.max(1, each / number(conf, "spark.task.cpus").getOrElse(1))
  }

  /**
   * Assumed cores of an executor in a standalone cluster that does not limit them. Such an executor takes all cores of
   * its worker; most workers have fewer than this.
   */
  private val UnknownCores = 16

  /** Number of cores per executor, if it is configured. */
  private def cores(master: String, conf: SparkConf): Option[Int] = master match {
    case ItsCores(cores) => Try(cores.toInt).toOption
    case _               => number(conf, "spark.executor.cores")
  }

  private def instances(conf: SparkConf): Option[Int] =
    Seq(
      "spark.executor.instances",
      "spark.dynamicAllocation.initialExecutors",
      "spark.dynamicAllocation.minExecutors"
    ).flatMap(number(conf, _)).headOption

  /** Number of executors of a standalone cluster, for which the configuration has cores instead of executors. */
  private def shareOfCores(conf: SparkConf): Option[Int] =
    for (all <- number(conf, "spark.cores.max"); each <- number(conf, "spark.executor.cores"))
      yield math.max(1, all / each)

  /** The value of a setting, if it is an integer above 0. */
  private def number(conf: SparkConf, key: String): Option[Int] =
    conf.getOption(key).flatMap(v => Try(v.trim.toInt).toOption).filter(_ > 0)
}
