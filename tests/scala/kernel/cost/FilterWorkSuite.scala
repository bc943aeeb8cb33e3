package dovetail.kernel.cost

import org.scalatest.funsuite.AnyFunSuite

/** Costs of a Bloom filter, computed by hand. */
class FilterWorkSuite extends AnyFunSuite {
  private val constants = CostConstants()

  /** The cost of a filter of no bytes by the keys of a file of 128 MiB with two million rows. */
  private def cost(tasks: Double, parts: Double, cores: Int): Double =
    FilterWork(1e6, 128.0 * 1024 * 1024, Vector((10.0, 80.0)), 2e6, 2e6, 0.0, tasks, parts)
      .cost(constants, ClusterFacts(executors = 0, tasks = cores))

  private def by(waiting: Double, cores: Int): Double = {
    import constants._
    val made = 128.0 * 1024 * 1024 * scanByte + 2e6 * hashProbe + 2e6 * (rowProduced + hashBuild)
    1e6 * hashProbe + made * waiting + broadcast(10.0, 80.0, 0) + FilterWork.Latency * cores
  }

  private def same(a: Double, b: Double): Unit = { assert(math.abs(a - b) <= 1e-9 * b); () }

  test("the keys are read by the tasks that have row groups, and the other cores wait for these") {
    val unknown = Double.PositiveInfinity
    same(cost(tasks = 64.0, parts = unknown, cores = 64), by(1.0, 64))
    same(cost(tasks = 1000.0, parts = 1000.0, cores = 64), by(1.0, 64))
    same(cost(tasks = 32.0, parts = unknown, cores = 64), by(2.0, 64))
    // 33 tasks by its bytes, but its only row group is read by one of them
    same(cost(tasks = 33.0, parts = 1.0, cores = 64), by(64.0, 64))
    same(cost(tasks = 33.0, parts = 1.0, cores = 1), by(1.0, 1))
    same(cost(tasks = 1.0, parts = 0.0, cores = 2), by(2.0, 2))
  }
}
