package org.apache.spark.sql.dovetail

import org.apache.spark.SparkConf
import org.apache.spark.sql.dovetail.cluster.Executors
import org.scalatest.funsuite.AnyFunSuite

/**
 * The number of executors, from the configuration alone. The Python tests (`test_cluster.py`) cover a running cluster.
 */
class ExecutorsSuite extends AnyFunSuite {
  private def executors(master: String, settings: (String, String)*): Int =
    Executors.configured(master, master.startsWith("local["), new SparkConf(false).setAll(settings))

  test("none in local mode, whatever is set") {
    assert(executors("local[4]", "spark.executor.instances" -> "7") == 0)
  }

  test("the workers of a cluster on one machine") {
    assert(executors("local-cluster[2,1,1024]") == 2)
    assert(executors("local-cluster[ 3 , 2 , 512 ]", "spark.executor.instances" -> "7") == 3)
  }

  test("what is asked for, first of all a fixed number") {
    assert(executors("yarn", "spark.executor.instances" -> "7", "spark.dynamicAllocation.minExecutors" -> "2") == 7)
    assert(executors("k8s://x", "spark.dynamicAllocation.minExecutors" -> "2") == 2)
    assert(executors(
      "k8s://x",
      "spark.dynamicAllocation.initialExecutors" -> "0",
      "spark.dynamicAllocation.minExecutors"     -> "2"
    ) == 2)
  }

  test("as many as usual if Spark allocates them as it needs them, or the configured maximum") {
    val dynamic = "spark.dynamicAllocation.enabled" -> "true"
    assert(executors("yarn", dynamic) == 16)
    assert(executors("yarn", dynamic, "spark.dynamicAllocation.maxExecutors" -> "5") == 5)
    assert(executors("yarn", dynamic, "spark.dynamicAllocation.minExecutors" -> "2") == 16)
    assert(executors("yarn", dynamic, "spark.dynamicAllocation.minExecutors" -> "40") == 40)
    assert(executors("yarn", "spark.dynamicAllocation.maxExecutors" -> "5") == 1)
  }

  test("of a standalone cluster the cores asked for, by those of an executor") {
    assert(executors("spark://x:7077", "spark.cores.max" -> "12", "spark.executor.cores" -> "4") == 3)
    assert(executors("spark://x:7077", "spark.cores.max" -> "2", "spark.executor.cores" -> "4") == 1)
  }

  test("tasks of one executor: the threads of local mode, whatever the default parallelism is") {
    def tasks(master: String, settings: (String, String)*) =
      Executors.tasksOfOne(master, new SparkConf(false).setAll(settings), ifUnknown = 99)
    assert(tasks("local", "spark.default.parallelism" -> "7") == 1)
    assert(tasks("local[16]", "spark.default.parallelism" -> "1", "spark.executor.cores" -> "2") == 16)
    assert(tasks("local[4, 3]", "spark.task.cpus" -> "2") == 2)
    assert(tasks("local[*]") == Runtime.getRuntime.availableProcessors)
    assert(tasks("local-cluster[2,3,1024]", "spark.executor.cores" -> "8") == 3)
    assert(tasks("yarn") == 1 && tasks("k8s://x", "spark.executor.cores" -> "5") == 5)
    // an executor that takes all cores of its machine
    assert(tasks("spark://x:7077") == 99 && tasks("mesos://x:5050") == 99)
    assert(tasks("spark://x:7077", "spark.executor.cores" -> "8", "spark.task.cpus" -> "4") == 2)
  }

  test("one where nothing is known") {
    assert(executors("spark://x:7077", "spark.cores.max" -> "12") == 1)
    assert(executors("yarn") == 1)
    assert(executors("yarn", "spark.executor.instances" -> "many") == 1)
  }
}
