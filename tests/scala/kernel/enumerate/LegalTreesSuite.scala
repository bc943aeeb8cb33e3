package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import dovetail.kernel.{PlanGraph, RandomPlans}

/**
 * All that the search may do with plans of all kinds of joins, carried out: every tree that the conflict rules allow gives the rows of the plan as it was
 * written. `DOVETAIL_PLANS` is the number of plans for a longer run.
 */
class LegalTreesSuite extends AnyFunSuite {
  private val plans = sys.env.get("DOVETAIL_PLANS").fold(800)(_.toInt)

  /** Trees per plan that are carried out, and tables that they are run on. */
  private val (trees, tables) = (12, 4)

  test("every tree that the conflict rules allow gives the rows of the plan as written") {
    var (moved, filled) = (0, 0)
    for (seed <- 1 to plans) {
      val random = new Random(seed)
      val plan   = RandomPlans(2 + random.nextInt(6), random)
      val graph  = plan.graph
      val legal  = new LegalTrees(graph, crossed = true)
      val ts     = Vector.fill(tables)(Vector.tabulate(graph.size)(RandomPlans.table(_, random)))
      val truth  = ts.map(plan.run(_))
      filled += truth.count(_.rows.nonEmpty)
      val shapes = Vector.fill(trees)(legal.any(random)).distinct
      if (shapes.exists(!_.sameJoins(plan.written.shape))) moved += 1
      for (shape <- plan.written.shape +: shapes; i <- ts.indices) {
        val found = plan.run(shape, ts(i))
        assert(
          found.same(truth(i)),
          s"seed $seed\n${describe(plan)}\nas ${shape.render(graph.relations(_).name)}\nof ${ts(i).map(_.rows)}\n$found\ninstead of\n${truth(i)}"
        )
      }
    }
    // a test that moves nothing, or of empty results, would show nothing
    assert(moved > plans / 2 && filled > plans * tables / 4, s"$moved plans of $plans came out in other orders, $filled of ${plans * tables} results have rows")
  }

  private def describe(p: PlanGraph) =
    s"${p.written}\n${p.graph.operators.mkString("\n")}\n${p.graph.predicates.mkString("\n")}\n${p.graph.classes.map(_.members.map(_.text))}"
}
