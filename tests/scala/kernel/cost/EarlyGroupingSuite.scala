package dovetail.kernel.cost

import org.scalactic.Tolerance._
import org.scalatest.funsuite.AnyFunSuite

/** Costs of a grouping below joins and of the work above it, computed by hand. */
class EarlyGroupingSuite extends AnyFunSuite {
  private val constants = CostConstants(
    rowProduced = 120.0,
    hashProbe = 60.0,
    hashBuild = 80.0,
    sortCompare = 10.0,
    merge = 50.0,
    exchangeRow = 300.0,
    exchangeByte = 4.0
  )

  private def grouping(rows: Double, groups: Double, above: Double = 1e6, parts: Double = 1.0, cores: Int = 0) =
    EarlyGrouping(rows, groups, 25.0, above, parts, cores)

  test("rows are put into groups, groups are exchanged and merged, and the work above falls with the rows") {
    // 1,000 rows of all 10 groups in the only task: 80,000 for the rows, 480 for each group
    val one = grouping(1000.0, 10.0)
    assert(math.abs(one.exchanged - 10.0) < 1e-9)
    assert(math.abs(one.gain(constants) - (1e6 * 0.99 - 80000.0 - 4800.0) / 1e6) < 1e-9)
    assert(grouping(1000.0, 1000.0).gain(constants) < 0.0)
    assert(grouping(0.0, 0.0, above = 0.0).gain(constants) <= 0.0)
  }

  test("each task has groups of its own: at most as many as rows, and no fewer than one task has") {
    val groups = Seq(1.0, 4.0, 100.0, 10000.0).map(parts => grouping(1000.0, 100.0, parts = parts).exchanged)
    assert(groups == groups.sorted && groups.head > 99.0 && groups.last <= 1000.0)
  }

  test("one more stage takes its time on every core") {
    val work = grouping(1e6, 10.0, above = 1e9)
    assert(work.saving(constants) - work.copy(cores = 4).saving(constants) === 2e8 +- 1.0)
  }

  test("joins above: looked up where the other side is broadcast, else exchanged, sorted and merged") {
    assert(EarlyGrouping.joined(constants, 1024.0, 8000.0, 10.0, stay = true) == 1024.0 * 60.0)
    assert(EarlyGrouping.joined(constants, 1024.0, 8000.0, 10.0, stay = false) ==
      1024.0 * (300.0 + 100.0 + 50.0) + 32000.0 + 1200.0)
    assert(EarlyGrouping.grouped(constants, 10.0) == 800.0)
  }
}
