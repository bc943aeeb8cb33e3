package dovetail.kernel.cost

import org.scalatest.funsuite.AnyFunSuite

/** Costs of a grouping with and without a semi join below it, computed by hand. */
class GroupReductionSuite extends AnyFunSuite {
  private val constants =
    CostConstants(hashProbe = 60.0, hashBuild = 80.0, exchangeRow = 300.0, exchangeByte = 4.0, broadcastByte = 2.0)

  private def facts(executors: Int = 0, tasks: Int = 0) = ClusterFacts(executors = executors, tasks = tasks)

  // 1,000 rows in 100 groups of 25 bytes: 80,000 for the rows and 40,000 for the groups; nothing waits
  private def gain(kept: Double, tableRows: Double = 0.0, tableBytes: Double = 0.0, executors: Int = 0): Double =
    GroupReduction(1000.0, 100.0, 25.0, kept, tableRows, tableBytes).gain(constants, facts(executors))

  test("rows that are kept away are saved, all are looked up") {
    assert(gain(0.0) === 0.5)
    assert(gain(0.5) === 0.0)
    assert(gain(1.0) === -0.5)
  }

  test("the table is broadcast to every executor") {
    assert(gain(0.0, 10.0, 200.0) === 1.0 - (60000.0 + 800.0 + 400.0) / 120000.0)
    assert(gain(0.0, 10.0, 200.0, executors = 3) === 1.0 - (60000.0 + 4 * 1200.0) / 120000.0)
  }

  test("there are no more groups than rows, and no gain where there are no rows") {
    assert(GroupReduction(1000.0, 5000.0, 25.0, 0.0, 0.0, 0.0).gain(constants, facts()) === 1.0 - 60.0 / 480.0)
    assert(GroupReduction(0.0, 0.0, 25.0, 0.0, 1.0, 8.0).gain(constants, facts()) < 0.0)
  }

  test("all cores wait for the broadcast, so a small grouping gains nothing; not all of a large cluster count") {
    // half of the work of a grouping is saved: 60 ns per row
    def gain(rows: Double, tasks: Int) =
      GroupReduction(rows, rows / 10.0, 25.0, 0.0, 0.0, 0.0).gain(constants, facts(tasks = tasks))
    assert(gain(2e5, 2) < 0.0)
    assert(math.abs(gain(1e8, 2) - (0.5 - 2.0 * GroupReduction.Latency / (120.0 * 1e8))) < 1e-12)
    assert(gain(1e8, 2) > 0.49 && gain(2e6, 8) < 0.0)
    assert(gain(1e8, 200) == gain(1e8, 8) && gain(1e8, 200) > 0.4)
  }
}
