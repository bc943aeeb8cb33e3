package dovetail.kernel.enumerate

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.{CardWeightCosts, ClusterFacts, CostConstants, PhysicalCosts, SubPlan}
import dovetail.kernel.{PlanGraph, RandomPlans}
import dovetail.kernel.size.CardinalityModel

/**
 * Runs the trees that the search may build for plans with all kinds of joins: every tree that the conflict rules allow
 * returns the rows of the written plan. The environment variable `DOVETAIL_PLANS` sets the number of plans for a longer
 * run.
 */
class LegalTreesSuite extends AnyFunSuite {
  private val plans      = sys.env.get("DOVETAIL_PLANS").fold(800)(_.toInt)
  private val cardWeight = new CardWeightCosts(0.7)
  private val physical   = new PhysicalCosts(CostConstants(), ClusterFacts())

  /** Trees per plan that are run, and sets of tables that they are run on. */
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
          s"seed $seed\n${describe(plan)}\nas ${shape.render(graph.relations(_).name)}\nof " +
            s"${ts(i).map(_.rows)}\n$found\ninstead of\n${truth(i)}"
        )
      }
    }
    // a test that moves no joins, or whose results are empty, would prove nothing
    assert(
      moved > plans / 2 && filled > plans * tables / 4,
      s"$moved plans of $plans came out in other orders, $filled of ${plans * tables} results have rows"
    )
  }

  /**
   * The searches after the exact one, each alone, with pieces so small that a plan of a few relations has several of
   * them.
   */
  private val small = Seq(IterativeDp.Linear(3), IterativeDp.Exact(4L), IterativeDp.Exact(12L))

  test(
    "what the searches after the exact one make gives the rows of the plan as written, and costs no more than what " +
      "they were given"
  ) {
    val ran = mutable.LinkedHashMap.empty[String, Int].withDefaultValue(0)
    for (seed <- 1 to plans; costs <- if (seed % 2 == 0) Seq(physical) else Seq(cardWeight)) {
      val random = new Random(seed)
      val plan   = Iterator.continually(RandomPlans(3 + random.nextInt(5), random)).find(_.graph.operators.nonEmpty).get
      val sizer  = new Sizer(plan.graph, new CardinalityModel(plan.graph))
      val parts  = new Fragments(plan.graph, sizer, costs)
      val ts     = Vector.fill(tables)(Vector.tabulate(plan.graph.size)(RandomPlans.table(_, random)))
      val truth  = ts.map(plan.run(_))
      def meter  = new Meter(Budget.unlimited)
      def cost   = (p: SubPlan) => p.cost(p.best)
      def check(name: String, found: SubPlan, start: SubPlan): Unit = {
        val shape = JoinTree.fromPlan(found, found.best, sizer, costs).shape
        assert(cost(found) <= cost(start), s"seed $seed, $name")
        if (found ne start) ran(name) += 1
        for (i <- ts.indices)
          assert(
            plan.run(shape, ts(i)).same(truth(i)),
            s"seed $seed, $name\n${describe(plan)}\nas ${shape.render(plan.graph.relations(_).name)}"
          )
      }
      new Greedy(plan.graph, sizer, costs).run().foreach { greedy =>
        check("goo", greedy, greedy)
        val linear = new LinearizedDp(parts, meter).improve(greedy)
        check("lindp", linear, greedy)
        check("goo+idp", new IterativeDp(parts, meter, small).improve(greedy), greedy)
        check("lindp+idp", new IterativeDp(parts, meter, small).improve(linear), linear)
      }
      val found = new Search(plan.graph, costs, Budget(1L + seed % 60, 60000)).run(plan.written.shape)
      ran(found.algorithm) += 1
      for (i <- ts.indices) assert(plan.run(found.best.shape, ts(i)).same(truth(i)), s"seed $seed, ${found.algorithm}")
      assert(found.best.cost.total <= found.original.cost.total * (1 + 1e-9), s"seed $seed")
    }
    info(ran.toString)
    // each algorithm must have built plans that differ from the one it started with
    assert(Seq("lindp", "goo+idp", "lindp+idp").forall(ran(_) > plans / 100), ran.toString)
  }

  private def describe(p: PlanGraph) =
    (Seq[Any](p.written) ++ p.graph.operators ++ p.graph.predicates :+ p.graph.classes.map(_.members.map(_.text)))
      .mkString("\n")
}
