package org.apache.spark.sql.dovetail.cluster

import scala.util.Try

import org.apache.spark.{SparkConf, SparkContext}

/**
 * How many executors a broadcast is copied to, and how many tasks run at a time, as far as the configuration says:
 * never those that happen to be alive, for the same query must get the same plan while executors come and go.
 */
object Executors {

  // Spark's master for tests of a cluster on one machine: workers, cores of each, memory of each; every worker starts
  // one executor
  private val LocalCluster = """local-cluster\[\s*(\d+)\s*,.*""".r
  private val ItsCores     = """local-cluster\[\s*\d+\s*,\s*(\d+)\s*,.*""".r

  /** None in local mode, where the driver's copy is the only one; one where nothing is known. */
  def configured(master: String, local: Boolean, conf: SparkConf): Int = master match {
    case _ if local            => 0
    case LocalCluster(workers) => Try(workers.toInt).filter(_ > 0).getOrElse(1)
    case _                     => instances(conf).orElse(shareOfCores(conf)).getOrElse(1)
  }

  /** Tasks that run at a time, on all executors together. */
  def tasks(context: SparkContext, conf: SparkConf): Int =
    tasksOfOne(context, conf) * math.max(1, configured(context.master, context.isLocal, conf))

  /** Tasks that one executor runs at a time. */
  def tasksOfOne(context: SparkContext, conf: SparkConf): Int = {
    val each =
      if (context.isLocal) context.defaultParallelism
      else cores(context.master, conf).getOrElse(if (context.master.startsWith("spark:")) UnknownCores else 1)
    math.max(1, each / number(conf, "spark.task.cpus").getOrElse(1))
  }

  /** Cores of an executor of a standalone cluster that does not limit them: all of a worker's, more than most have. */
  private val UnknownCores = 16

  /** Cores of one, where the configuration says so. */
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

  /** A standalone cluster is asked for cores, not for executors. */
  private def shareOfCores(conf: SparkConf): Option[Int] =
    for (all <- number(conf, "spark.cores.max"); each <- number(conf, "spark.executor.cores"))
      yield math.max(1, all / each)

  /** A setting's number, if it has one above 0. */
  private def number(conf: SparkConf, key: String): Option[Int] =
    conf.getOption(key).flatMap(v => Try(v.trim.toInt).toOption).filter(_ > 0)
}
