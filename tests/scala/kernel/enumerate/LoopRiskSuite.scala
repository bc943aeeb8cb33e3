package dovetail.kernel.enumerate

import dovetail.kernel.GraphText
import dovetail.kernel.cost.{ClusterFacts, CostConstants, JoinMethod, PhysicalCosts}
import org.scalatest.funsuite.AnyFunSuite

/** Nested loops of a new order that are refused, because their inputs may have far more rows than estimated. */
class LoopRiskSuite extends AnyFunSuite {
  private val least = 1e10

  private def outcome(text: String, written: String, loopsAtMost: Boolean = false): Outcome = {
    val graph = GraphText(text)
    val costs = new PhysicalCosts(CostConstants(), ClusterFacts(broadcastBytes = 0), loopsAtMost)
    new Search(graph, costs, Budget.unlimited).run(GraphText.shape(written, graph))
  }

  private def shape(tree: JoinTree): String   = tree.shape.render(GraphText.name)
  private def loops(tree: JoinTree)           = tree.joins.filter(_.method == JoinMethod.NestedLoop)
  private def risk(o: Outcome, least: Double) = LoopRisk(o.best, o.original, least)

  private val keys               = "A.k:1e3=B.k:1e3; C.j:1e3=B.j:1e3; A~C 0.001"
  private val loose              = s"A 1e3/1e9 upper=1e9; B 1e8; C 1e3/1e5 upper=1e5; $keys"
  private def bounded(c: String) = s"A 1e3/1e5 upper=1e5; B 1e8; C $c; $keys"

  test("a loop over inputs that may have far more rows than estimated is refused") {
    val o = outcome(loose, "((B A) C)")
    assert(shape(o.best) == "((A C) B)" || shape(o.best) == "(B (A C))", shape(o.best))
    val worst = risk(o, least)
    assert(worst.map(_.relations).contains(Vector(0, 2)), o.best)
    assert(worst.get.left.most * worst.get.right.most == 1e14)
  }

  test("it is allowed if it ends in time at the bounds, if the written order has it, or if its cost is no risk") {
    val small = outcome(bounded("1e3"), "((B A) C)")
    assert(loops(small.best).nonEmpty && risk(small, least).isEmpty)
    assert(risk(small, least = 0.0).isEmpty, "1e8 pairs are little beside the written order")
    val written = outcome(loose, "((A C) B)")
    assert(loops(written.best).nonEmpty && risk(written, least).isEmpty)
    assert(risk(outcome(loose, "((B A) C)"), least = 1e14 * 10.0 * 1.01).isEmpty)
  }

  test("a loop in place of another one may be as bad as that one, and a hundred times worse") {
    // written: a loop over A and D; new: a loop over the join of A with C and D
    // A.k is unique; if C has 1e9 rows, each of 1e6 keys has 1000 of them
    def moved(most: String) = outcome(
      s"A 1e6 upper=1e6; C 10/$most upper=$most; D 1e6 upper=1e6; A.k:1e6=C.k:1e6; A~D 0.000001",
      "((A D) C)"
    )
    val o = moved("1e6")
    assert(loops(o.best).map(_.relations) == Vector(Vector(0, 1, 2)), o.best)
    assert(risk(o, least = 0.0).isEmpty)
    assert(risk(moved("1e9"), least = 0.0).map(_.relations).contains(Vector(0, 1, 2)))
  }

  test("a search with loops at the bounds finds an order without the loop") {
    assert(loops(outcome(loose, "((B A) C)", loopsAtMost = true).best).isEmpty)
  }
}
