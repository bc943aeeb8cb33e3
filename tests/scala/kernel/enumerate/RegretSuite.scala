package dovetail.kernel.enumerate

import scala.util.Random

import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.cost.CardWeightCosts
import dovetail.kernel.graph.JoinGraph
import org.scalatest.funsuite.AnyFunSuite

/** Cost that a plan loses if one relation has other rows than estimated, compared with all orders. */
class RegretSuite extends AnyFunSuite {
  private val costs                    = new CardWeightCosts(1.0)
  private def search(graph: JoinGraph) = new Search(graph, costs, Budget.unlimited)

  private def regret(graph: JoinGraph): Regret = {
    val written = GraphText.leftDeep(graph)
    new Regret(graph, written, search(graph).run(written).best.shape, search)
  }

  test("no plan saves anything if the estimate is right") {
    (1 to 30).foreach { seed =>
      val r     = new Random(seed)
      val graph = GraphText(Graphs.sized(2 + seed % 5, Graphs.connected(2 + seed % 5, 2, r), r))
      val loss  = regret(graph)
      graph.relations.foreach(x =>
        assert(loss(x.index, x.profile.rows.value, least = 0.0) <= 1e-6, s"seed $seed, ${x.name}")
      )
    }
  }

  test("two dimensions of a fact: each decides from the size of the other one on") {
    // rows out of the joins, by costs that count only rows: A B first 10000 * B/100 * ..., A C first 10000 * C/100
    val graph = GraphText("A 10000; B 10/100; C 50/100; A.x:100=B.x:100; A.y:100=C.y:100")
    val loss  = regret(graph)
    // B stays first while it is smaller than C
    assert(loss(1, 10.0, 0.0) == 0.0 && loss(1, 40.0, 0.0) == 0.0)
    // with 90 rows of B, the planned order returns 9,000 rows and then 4,500; the other one 5,000 and 4,500
    assert(math.abs(loss(1, 90.0, 0.0) - 4000.0) < 1.0, loss(1, 90.0, 0.0))
    // with 2 rows of C, 1,000 rows and then 20; the other order returns 200 and 20
    assert(math.abs(loss(2, 2.0, 0.0) - 800.0) < 1.0, loss(2, 2.0, 0.0))
  }

  test("a plan that costs less than what another one has to save loses nothing") {
    val loss = regret(GraphText("A 10000; B 10/100; C 50/100; A.x:100=B.x:100; A.y:100=C.y:100"))
    // with 90 rows of B, the planned order costs 13,500
    assert(math.abs(loss(1, 90.0, 13000.0) - 4000.0) < 1.0)
    assert(loss(1, 90.0, 14000.0) == 0.0)
  }
}
