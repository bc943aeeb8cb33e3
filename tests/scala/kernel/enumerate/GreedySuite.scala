package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.{CardWeightCosts, ClusterFacts, CostConstants, CostModel, PhysicalCosts}
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.size.CardinalityModel

/** Greedy operator ordering: for graphs that are too large for the exact search, and never cheaper than it. */
class GreedySuite extends AnyFunSuite {
  private val rowsOnly = new CardWeightCosts(1.0)
  private val physical = new PhysicalCosts(CostConstants(), ClusterFacts())

  private def greedy(graph: JoinGraph, costs: CostModel): (JoinTree, Long) = {
    val sizer = new Sizer(graph, new CardinalityModel(graph))
    val goo   = new Greedy(graph, sizer, costs)
    val plan  = goo.run().get
    (JoinTree.fromPlan(plan, plan.best, sizer, costs), goo.pairs)
  }

  private def order(text: String): String = {
    val g = GraphText(text); greedy(g, rowsOnly)._1.shape.render(g.relations(_).name)
  }

  test("the smallest join first, then the smallest of what is left") {
    // C with D has 10 rows, A with B has 100; then both are joined by B and C
    assert(order("A 1000; B 100; C 1000; D 10; A.x:1000=B.x:100; B.y:10=C.y:10; C.z:1000=D.z:10") == "((A B) (C D))")
    // B with C has 10 rows, and joins A next through B
    assert(order("A 1000; B 100; C 10; A.x:1000=B.x:100; B.y:100=C.y:10") == "(A (B C))")
  }

  test("clusters that nothing connects are joined last, the smallest first") {
    assert(order("A 1000; B 10; C 100; D 100; C.x:100=D.x:100") == "(A ((C D) B))")
  }

  test("an equality over several relations joins as soon as both its sides are there") {
    assert(order("A 10; B 20; C 1000000; D 5000; A+B=C 0.000001") == "(D (C (B A)))")
    val graph = GraphText("A 10; B 20; C 1000; A.x:10=B.x:20; A+B=C 0.001")
    assert(greedy(graph, physical)._1.joins.map(_.method.name).forall(_ != "nested loop"))
  }

  test("never cheaper than the exact search") {
    for (seed <- 1 to 200; costs <- Seq(rowsOnly, physical)) {
      val random = new Random(seed)
      val n      = 2 + random.nextInt(8)
      val graph  = GraphText(if (seed % 2 == 0) Graphs.shared(n, random)
      else Graphs.sized(n, Graphs.connected(n, random.nextInt(n), random), random))
      val exact         = new Search(graph, costs, Budget.unlimited).run(GraphText.leftDeep(graph))
      val (tree, pairs) = greedy(graph, costs)
      assert(exact.algorithm == "dphyp" && exact.best.cost.total <= tree.cost.total * (1 + 1e-9), s"seed $seed")
      assert(tree.relations == graph.relations.indices.toVector && pairs == n - 1, s"seed $seed")
    }
  }

  for (
    (name, edges) <- Seq[(String, (Int, Random) => Vector[(Int, Int)])](
      ("chain", (n, _) => Graphs.chain(n)),
      ("star", (n, _) => Graphs.star(n)),
      ("tree", Graphs.tree),
      ("tree with cycles", (n, r) => Graphs.connected(n, n / 2, r)),
      ("forest", (n, r) => Graphs.tree(n, r).filter(_ => r.nextInt(10) > 0))
    )
  ) test(s"$name of 100 and 300 relations: all of them joined, the same tree twice") {
    for (n <- Seq(100, 300)) {
      val text  = { val random = new Random(n); Graphs.sized(n, edges(n, random), random) }
      val graph = GraphText(text)
      val found = new Search(graph, physical, Budget(1000, 60000)).run(GraphText.leftDeep(graph))
      assert(found.best.relations == graph.relations.indices.toVector && found.best.joins.size == n - 1)
      assert(
        found.best.cost.total > 0 && !found.best.cost.total.isNaN &&
          found.best.cost.total <= found.original.cost.total * (1 + 1e-9)
      )
      assert(new Search(GraphText(text), physical, Budget(1000, 60000)).run(GraphText.leftDeep(graph)) == found)
    }
  }
}
