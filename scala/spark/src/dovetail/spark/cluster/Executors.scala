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
    case _ => (instances(conf).orElse(shareOfCores(conf)) ++ allocated(conf)).reduceOption(_ max _).getOrElse(1)
  }

  /** Number of tasks that run at a time on all executors together. */
  def tasks(context: SparkContext, conf: SparkConf): Int =
    tasksOfOne(context, conf) * math.max(1, configured(context.master, context.isLocal, conf))

  /** Number of tasks that one executor runs at a time, as far as it is known: for costs. */
  def tasksOfOne(context: SparkContext, conf: SparkConf): Int = tasksOfOne(context.master, conf, UsualCores)

  /** Number of tasks that one executor runs at a time at most: for memory, which these tasks share. */
  def mostTasksOfOne(context: SparkContext, conf: SparkConf): Int = tasksOfOne(context.master, conf, MostCores)

  private[dovetail] def tasksOfOne(master: String, conf: SparkConf, ifUnknown: Int): Int = {
    val each = threads(master).orElse(cores(master, conf)).getOrElse(if (takesAll(master)) ifUnknown else 1)
    math.max(1, each / number(conf, "spark.task.cpus").getOrElse(1))
  }

  /**
   * Threads of local mode, as Spark reads the master. Its default parallelism is another number, if
   * `spark.default.parallelism` is set.
   */
  private def threads(master: String): Option[Int] = master match {
    case "local"         => Some(1)
    case LocalThreads(n) => Some(if (n == "*") Runtime.getRuntime.availableProcessors else n.toInt)
    case _               => None
  }

  /** Whether an executor takes all cores of its machine if the configuration does not limit them. */
  private def takesAll(master: String): Boolean = master.startsWith("spark:") || master.startsWith("mesos:")

  private val LocalThreads = """local\[\s*([0-9]{1,6}|\*)\s*(?:,.*)?\]""".r

  /** Assumed cores of an executor that takes all cores of its machine: a machine of usual size. */
  private val UsualCores = 16

  /** The same where too few are dangerous: a large machine. */
  private val MostCores = 128

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

  /** Number of executors that Spark allocates as it needs them. */
  private def allocated(conf: SparkConf): Option[Int] =
    if (!conf.get("spark.dynamicAllocation.enabled", "").trim.equalsIgnoreCase("true")) None
    else Some(number(conf, "spark.dynamicAllocation.maxExecutors").fold(UsualExecutors)(math.min(_, UsualExecutors)))

  /** Assumed executors of a cluster that grows with its work: a large query gets more, a small one fewer. */
  private val UsualExecutors = 16

  /** The value of a setting, if it is an integer above 0. */
  private def number(conf: SparkConf, key: String): Option[Int] =
    conf.getOption(key).flatMap(v => Try(v.trim.toInt).toOption).filter(_ > 0)
}
