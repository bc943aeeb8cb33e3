package dovetail.kernel.enumerate

import scala.util.Random

import dovetail.kernel.cost.{ClusterFacts, CostConstants, JoinMethod, PhysicalCosts}
import dovetail.kernel.{Graphs, GraphText}
import org.scalatest.funsuite.AnyFunSuite

/** What the first rows of a plan cost. */
class StartupCostSuite extends AnyFunSuite {

  private def best(text: String, facts: ClusterFacts = ClusterFacts()): JoinTree = {
    val graph = GraphText(text)
    new Search(graph, new PhysicalCosts(CostConstants(), facts), Budget.unlimited).run(GraphText.leftDeep(graph)).best
  }

  test("a row costs at least the startup, all rows cost everything, and more rows never cost less") {
    for (seed <- 1 to 100) {
      val random = new Random(seed)
      val tree   = best(Graphs.shared(2 + random.nextInt(6), random))
      assert(tree.startup >= 0.0 && tree.startup <= tree.cost.total * (1 + 1e-9), s"seed $seed")
      assert(tree.costOf(0.0) == tree.startup, s"seed $seed")
      val costs = Seq(0.0, 1.0, 10.0, 1e3, 1e6, 1e12).map(tree.costOf)
      assert(costs == costs.sorted && math.abs(costs.last - tree.cost.total) <= 1e-9 * tree.cost.total, s"seed $seed")
    }
  }

  test("a broadcast join streams its large input, and an exchange needs all of both inputs") {
    val text      = "A 1e7; B 100; A.x:100=B.x:100"
    val broadcast = best(text, ClusterFacts(staticBytes = 1e6))
    assert(broadcast.joins.map(_.method) == Vector(JoinMethod.BroadcastRight))
    assert(broadcast.startup == broadcast.joins.head.own.broadcast)
    val shuffled = best(text, ClusterFacts(broadcastBytes = 0.0))
    assert(shuffled.startup == shuffled.cost.total - shuffled.joins.head.own.output)
  }
}
