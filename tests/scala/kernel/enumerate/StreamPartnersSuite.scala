package dovetail.kernel.enumerate

import dovetail.kernel.cost.{ClusterFacts, Cost, CostConstants, JoinMethod, PhysicalCosts}
import dovetail.kernel.GraphText
import dovetail.kernel.profile.{Estimate, Source}
import org.scalatest.funsuite.AnyFunSuite

/** Relations that are broadcast to the rows of another one before these are exchanged. */
class StreamPartnersSuite extends AnyFunSuite {
  import JoinMethod._

  private val rows = Estimate.exactly(10.0, Source.Exact)

  private def leaf(r: Int): JoinTree = JoinTree.Leaf(r, rows, 1.0, 1.0, Cost(), Vector.empty)

  private def join(left: JoinTree, right: JoinTree, method: JoinMethod): JoinTree =
    JoinTree.Join(left, right, rows, 10.0, 1.0, 1.0, method, Cost(), None)(() => fail("nobody asks"))

  test("broadcasts beside a scan count, whichever side they are on") {
    val tree = join(leaf(2), join(leaf(0), leaf(1), BroadcastRight), BroadcastLeft)
    assert(StreamPartners(tree, 0) == Set(1, 2))
    assert(StreamPartners(tree, 1) == Set.empty && StreamPartners(tree, 2) == Set.empty)
    assert(StreamPartners(tree, 3) == Set.empty)
  }

  test("an exchange, a nested loop, an unknown method and a broadcast of a join end the list") {
    for (method <- Seq(SortMerge, ShuffledHash, ShuffledThenBroadcast, NestedLoop, Unspecified)) {
      val tree = join(join(join(leaf(0), leaf(1), BroadcastRight), leaf(2), method), leaf(3), BroadcastRight)
      assert(StreamPartners(tree, 0) == Set(1), method)
      assert(StreamPartners(tree, 2) == Set.empty, method)
    }
    val small = join(leaf(1), leaf(2), BroadcastRight)
    assert(StreamPartners(join(join(leaf(0), small, BroadcastRight), leaf(3), BroadcastRight), 0) == Set.empty)
  }

  test("a plan of the search: a fact that is joined with a small relation, then with another fact") {
    val graph = GraphText("A 1e7; B 5/100; C 1e7; A.x:100=B.x:100; A.y:1e7=C.y:1e7")
    val costs = new PhysicalCosts(CostConstants(), ClusterFacts(staticBytes = 1e5))
    val tree  = new Search(graph, costs, Budget.unlimited).run(GraphText.leftDeep(graph)).best
    assert(tree.joins.map(_.method).count(m => m == BroadcastRight || m == BroadcastLeft) == 1, tree.shape)
    assert(graph.relations.indices.map(StreamPartners(tree, _)) == Seq(Set(1), Set.empty, Set.empty))
  }
}
