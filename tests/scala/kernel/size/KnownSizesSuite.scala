package dovetail.kernel.size

import scala.util.Random

import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.CardWeightCosts
import dovetail.kernel.enumerate.{Budget, Search}
import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.{GraphText, RandomPlans}
import dovetail.kernel.profile.{Estimate, Source}

/** Known sizes take the place of estimates, and correct the estimates of larger sets. */
class KnownSizesSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-6)

  // a chain; every join is estimated at 1000 rows
  private val chain =
    GraphText("A 1000; B 1000; C 1000; D 1000; A.x:1000=B.x:1000; B.y:1000=C.y:1000; C.z:1000=D.z:1000")

  private def set(graph: JoinGraph, names: String): Set[Int] =
    names.map(n => graph.relations.indexWhere(_.name == n.toString)).toSet
  private def knowing(sizes: (String, Double)*): JoinGraph = chain.copy(sizes = sizes.map { case (n, r) =>
    set(chain, n) -> KnownSize.exactly(r, Source.Given)
  }.toMap)
  private def rows(graph: JoinGraph, names: String): Double = {
    val s = set(graph, names).toArray; new CardinalityModel(graph).sizeOf(s, s.length).rows
  }

  test("what is known is exactly that, with its source") {
    val graph = knowing("AB" -> 5.0, "ABC" -> 0.0)
    assert(rows(graph, "AB") === 5.0)
    assert(rows(graph, "ABC") === 1.0)
    assert(new CardinalityModel(graph).estimate(set(graph, "AB").toArray) == Estimate(5.0, 5.0, 5.0, Source.Given))
    assert(new CardinalityModel(graph).sizeOf(set(graph, "AB").toArray, 2).cautious === 5.0)
  }

  test("larger sets are corrected by as much as what they contain; others are as they were") {
    val graph = knowing("AB" -> 5000.0)
    assert(rows(graph, "ABC") === 5000.0)
    assert(rows(graph, "ABCD") === 5000.0)
    assert(rows(graph, "BC") === 1000.0)
    assert(rows(graph, "BCD") === 1000.0)
    assert(new CardinalityModel(graph).estimate(set(graph, "ABCD").toArray).source != Source.Given)
  }

  test("a factor multiplies the set's own estimate, and leaves its bounds; larger sets are corrected by it") {
    val graph = chain.copy(sizes = Map(set(chain, "AB") -> KnownSize.Factor(0.1)))
    val model = new CardinalityModel(graph)
    val plain = new CardinalityModel(chain)
    val ab    = set(graph, "AB").toArray
    val own   = plain.estimate(ab)
    assert(model.estimate(ab).value === 100.0)
    assert(model.estimate(ab).upper === own.upper)
    assert(model.estimate(ab).source == Source.History)
    assert(model.estimatedRows(ab) === 1000.0)
    assert(rows(graph, "ABC") === 100.0)
    // the cautious rows decide about a broadcast: the errors of earlier constants say nothing about this one
    assert(model.sizeOf(ab, 2).cautious === plain.sizeOf(ab, 2).cautious)
    assert(model.sizeOf(ab, 2).upper === plain.sizeOf(ab, 2).upper)
  }

  test("a factor leaves the upper bound of a relation as it is, and raises the value to it at most") {
    def corrected(factor: Double) =
      chain.knowing(Map(set(chain, "A") -> KnownSize.Factor(factor))).relations(set(chain, "A").head).profile.rows
    val own = chain.relations(set(chain, "A").head).profile.rows
    assert(corrected(0.1).value === own.value * 0.1)
    assert(corrected(0.1).upper === own.upper)
    assert(corrected(3.0).upper === own.upper)
    assert(corrected(3.0).value === math.min(own.upper, own.value * 3.0))
  }

  test("disjoint ones multiply; of nested ones the larger counts; overlapping ones share what they have in common") {
    assert(rows(knowing("AB" -> 5000.0, "CD" -> 100.0), "ABCD") === 1000.0 * 5 * 0.1)
    assert(rows(knowing("AB" -> 5000.0, "ABC" -> 20.0), "ABCD") === 20.0)
    // the common part BC is counted once: 1000 * (3000 / 1000) * (500 / 1000) / (250 / 1000)
    assert(rows(knowing("ABC" -> 3000.0, "BCD" -> 500.0, "BC" -> 250.0), "ABCD") === 3000.0 * 500 / 250)
    // without a size of BC, nothing is known about the common part
    assert(rows(knowing("ABC" -> 3000.0, "BCD" -> 500.0), "ABCD") === 1500.0)
  }

  test("however many sets are known, each relation is corrected once: the size does not run away") {
    val all   = Seq("AB", "BC", "CD", "ABC", "BCD")
    val graph = knowing(all.map(_ -> 100000.0): _*)
    // corrected by ABC, then for D by BCD over BC
    assert(rows(graph, "ABCD") === 100000.0)
  }

  test("a function of the set alone, whatever was asked before and however the map is built") {
    val random = new Random(7)
    val sets   = Seq("AB", "BC", "CD", "ABC", "BCD", "ACD")
    for (seed <- 1 to 50) {
      val told   = random.shuffle(sets).take(3).map(_ -> math.rint(random.nextDouble() * 1e6))
      val wanted = rows(knowing(told: _*), "ABCD")
      assert(rows(knowing(random.shuffle(told): _*), "ABCD") == wanted, s"seed $seed")
      val model = new CardinalityModel(knowing(told: _*))
      random.shuffle(sets).foreach { s =>
        val r = set(chain, s).toArray; model.sizeOf(r, r.length).rows
      }
      assert(model.sizeOf(Array(3, 1, 0, 2), 4).rows == wanted, s"seed $seed")
    }
  }

  test("the search finds the order that the known sizes make the best") {
    val costs               = new CardWeightCosts(1.0)
    def order(g: JoinGraph) = new Search(g, costs, Budget(10000L, 10000L)).run(GraphText.leftDeep(g)).best
    val best                = order(knowing("CD" -> 1.0, "BCD" -> 1.0, "AB" -> 1e6, "BC" -> 1e6, "ABC" -> 1e6))
    assert(best.joins.map(_.relations.toSet) == Vector(set(chain, "CD"), set(chain, "BCD"), set(chain, "ABCD")), best)
    assert(best.joins.head.rows == Estimate(1.0, 1.0, 1.0, Source.Given))
  }

  test("joins that are not inner are corrected as well; sizes that are none are refused") {
    def one = KnownSize.exactly(1.0, Source.Given)
    intercept[IllegalArgumentException](chain.copy(sizes = Map(Set(0) -> one)))
    intercept[IllegalArgumentException](chain.copy(sizes = Map(Set(0, 9) -> one)))
    intercept[IllegalArgumentException](KnownSize.exactly(-1.0, Source.Given))
    intercept[IllegalArgumentException](KnownSize.Factor(0.0))
    for (seed <- 1 to 200) {
      val plan  = RandomPlans(4, new Random(seed.toLong))
      val all   = plan.graph.relations.indices.toArray
      val some  = Array(0, 1)
      val known = plan.graph.copy(sizes = Map(some.toSet -> KnownSize.exactly(12345.0, Source.Given)))
      assert(new CardinalityModel(known).sizeOf(some, 2).rows == 12345.0)
      val factor = 12345.0 / new CardinalityModel(plan.graph).sizeOf(some, 2).rows
      assert(
        new CardinalityModel(known).sizeOf(all, all.length).rows === math.max(
          1.0,
          new CardinalityModel(plan.graph).sizeOf(all, all.length).rows * factor
        ),
        s"seed $seed"
      )
    }
  }
}
