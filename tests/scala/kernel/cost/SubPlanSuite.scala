package dovetail.kernel.cost

import org.scalatest.funsuite.AnyFunSuite

/** Which alternatives a set of relations keeps. */
class SubPlanSuite extends AnyFunSuite {
  private val repartition = 100.0

  private def plan(offers: (Double, Long)*): SubPlan = {
    val p = new SubPlan(SubPlan.NoRelation, 10, 100, 7L, broadcast = false)
    offers.foreach { case (cost, partitioning) =>
      p.offer(cost, partitioning, JoinMethod.SortMerge, null, 0, null, 0, repartition)
    }
    p
  }
  private def kept(p: SubPlan) = (0 until p.alternatives).map(i => (p.cost(i), p.partitioning(i))).toSet

  test("the cheapest is the best, the first of equals") {
    val p = plan((50.0, 1L), (30.0, 2L), (30.0, 4L))
    assert(p.cost(p.best) == 30.0 && p.partitioning(p.best) == 2L)
  }

  test("a dearer plan is kept for its partitioning, unless an exchange of the best one gets it for less") {
    assert(kept(plan((10.0, 0L), (109.0, 1L))) == Set((10.0, 0L), (109.0, 1L)))
    assert(kept(plan((10.0, 0L), (110.0, 1L))) == Set((10.0, 0L)))
    assert(kept(plan((109.0, 1L), (10.0, 0L))) == Set((10.0, 0L), (109.0, 1L)))
    assert(kept(plan((110.0, 1L), (10.0, 0L))) == Set((10.0, 0L)))
  }

  test("a plan of no partitioning is useless beside one that is as cheap, and goes when that comes later") {
    assert(kept(plan((10.0, 1L), (10.0, 0L))) == Set((10.0, 1L)))
    assert(kept(plan((10.0, 0L), (10.0, 1L))) == Set((10.0, 1L)))
    assert(kept(plan((10.0, 1L), (20.0, 1L), (5.0, 1L))) == Set((5.0, 1L)))
  }

  test("a plan that is partitioned but not sorted stays only while it is cheaper") {
    val p                                       = new SubPlan(SubPlan.NoRelation, 10, 100, 7L, broadcast = false)
    def offer(cost: Double, method: JoinMethod) = p.offer(cost, 1L, method, null, 0, null, 0, repartition)
    offer(30.0, JoinMethod.SortMerge)
    offer(20.0, JoinMethod.ShuffledHash)
    offer(40.0, JoinMethod.ShuffledHash)
    assert((0 until p.alternatives).map(i => (p.cost(i), p.sorted(i))).toSet == Set((30.0, true), (20.0, false)))
    offer(10.0, JoinMethod.SortMerge)
    assert((0 until p.alternatives).map(i => (p.cost(i), p.sorted(i))) == Seq((10.0, true)))
  }

  test("no more than a few are kept: the cheapest") {
    val partitionings = (1 to 7).map(i => (10.0 + (i * 5) % 7, 1L << i))
    assert(kept(plan(partitionings: _*)) == partitionings.sortBy(_._1).take(SubPlan.Alternatives).toSet)
  }

  test("useless plans make room: the table is as full as it is useful") {
    val p = plan((50.0, 1L), (51.0, 2L), (52.0, 4L), (53.0, 8L), (1.0, 16L), (60.0, 32L))
    // beside the plan of cost 1.0, the plans that cost less than one exchange more stay: the best four
    assert(kept(p) == Set((50.0, 1L), (51.0, 2L), (52.0, 4L), (1.0, 16L)))
    assert(kept(plan((150.0, 1L), (151.0, 2L), (152.0, 4L), (153.0, 8L), (1.0, 16L), (60.0, 32L))) == Set(
      (1.0, 16L),
      (60.0, 32L)
    ))
  }
}
