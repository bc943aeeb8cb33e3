package dovetail.kernel.cost

import org.scalatest.funsuite.AnyFunSuite

/** When a filter by the smallest and the largest key of another input pays. */
class RangeWorkSuite extends AnyFunSuite {
  private val constants = CostConstants()

  private def pays(skipped: Double, read: Double, tasks: Int): Boolean =
    RangeWork(skipped, 20.0, read).pays(constants, ClusterFacts(tasks = tasks))

  /** Nanoseconds of the work that skipping so many rows saves. */
  private def saved(skipped: Double): Double = skipped * (20.0 * constants.scanByte + constants.hashProbe)

  test("it has to save twice the time for which all cores wait") {
    val waits = 2.0 * FilterWork.Latency * 2
    assert(pays(skipped = 1.01 * waits / saved(1.0), read = 0.0, tasks = 2))
    assert(!pays(skipped = 0.99 * waits / saved(1.0), read = 0.0, tasks = 2))
    assert(!pays(skipped = 0.0, read = 0.0, tasks = 1))
  }

  test("both ends read the source: on few cores as work, on many as time for which all of them wait for one task") {
    val rows = 1e8
    // the most bytes of a source for which it pays
    def most(tasks: Int): Double = (saved(rows) / 2.0 - FilterWork.Latency * tasks) / constants.scanByte
    for ((tasks, at) <- Seq(1 -> 2.0, 2 -> 2.0, 8 -> 8.0)) {
      assert(pays(rows, 0.99 * most(tasks) / at, tasks), tasks)
      assert(!pays(rows, 1.01 * most(tasks) / at, tasks), tasks)
    }
  }
}
