package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.{ClusterFacts, CostConstants, PhysicalCosts, SubPlan}
import dovetail.kernel.graph.{Hypergraph, JoinGraph, Step, WideSet}
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.size.CardinalityModel

/**
 * The algorithms after the exact search, linearized DP and iterative DP: compared with the exact cost if the graph is
 * small enough, and run on graphs that are too large for it.
 */
class ApproximateSuite extends AnyFunSuite {
  private val physical = new PhysicalCosts(CostConstants(), ClusterFacts())

  /**
   * family, smallest and largest number of relations; the largest is the most that the exact search does in little time
   */
  private val families = Seq(
    ("chain", 10, 18),
    ("cycle", 10, 18),
    ("star", 10, 15),
    ("snowflake", 10, 17),
    ("tree", 10, 17),
    ("mixed", 10, 16),
    ("forest", 10, 18),
    ("hyper", 10, 16),
    ("shared", 10, 11),
    ("clique", 10, 11)
  )

  /** A graph with everything that a search needs. */
  final private class Case(val name: String, val graph: JoinGraph) {
    private val sizer        = new Sizer(graph, new CardinalityModel(graph))
    val parts: Fragments     = new Fragments(graph, sizer, physical)
    lazy val greedy: SubPlan = new Greedy(graph, sizer, physical).run().get
    lazy val exact: Double   = {
      val table = new PlanTable(graph.size, sizer, physical, Budget.unlimited)
      assert(new Dphyp(Hypergraph(graph), table).run())
      cost(table.full)
    }
    def partsWith(connections: Connections): Fragments = new Fragments(graph, sizer, physical, connections)
  }

  private def caseOf(family: String, n: Int, seed: Int): Case =
    new Case(s"$family of $n, seed $seed", GraphText(Graphs(family, n, new Random(seed))))

  private def cases(seeds: Int): Iterator[Case] =
    for ((family, from, to) <- families.iterator; seed <- (1 to seeds).iterator)
      yield caseOf(family, from + seed % (to - from + 1), seed)

  private def cost(p: SubPlan): Double = p.leastCost
  private def unlimited: Meter         = new Meter(Budget.unlimited)

  private def shape(p: SubPlan): Shape = Shape.of(p, p.best)

  private def complete(c: Case, p: SubPlan) =
    assert(shape(p).leaves.sorted == c.graph.relations.indices.toVector, c.name)

  private def pairsOf(s: Shape): Vector[(Vector[Int], Vector[Int])] = s match {
    case Shape.Leaf(_)    => Vector.empty
    case Shape.Join(l, r) => (pairsOf(l) ++ pairsOf(r)) :+ ((l.leaves.sorted, r.leaves.sorted))
  }

  private def linearized(c: Case, meter: Meter = unlimited): SubPlan =
    new LinearizedDp(c.parts, meter).improve(c.greedy)
  private def improved(c: Case, meter: Meter = unlimited, from: Option[SubPlan] = None) =
    new IterativeDp(c.parts, meter, IterativeDp.Rounds).improve(from.getOrElse(c.greedy))

  private def median(xs: Vector[Double]) = xs.sorted.apply(xs.size / 2)

  test("near the exact cost: 120 graphs of 10 to 18 relations; complete, and never dearer than the greedy plan") {
    val ratios = cases(12).map { c =>
      val (greedy, linear, idp) = (cost(c.greedy), linearized(c), improved(c))
      val both                  = improved(c, from = Some(linear))
      Seq(linear, idp, both).foreach(complete(c, _))
      assert(cost(linear) <= greedy && cost(idp) <= greedy && cost(both) <= cost(linear), c.name)
      Vector(greedy, cost(linear), cost(idp), cost(both)).map(_ / c.exact)
    }.toVector.transpose
    val (greedy, linear, idp, both) = (ratios(0), ratios(1), ratios(2), ratios(3))
    info(Seq("goo" -> greedy, "lindp" -> linear, "goo+idp" -> idp, "lindp+idp" -> both).map { case (name, rs) =>
      f"$name: median ${median(rs)}%.4f, nine in ten ${rs.sorted.apply(rs.size * 9 / 10)}%.3f, worst ${rs.max}%.2f"
    }.mkString("times the exact cost: ", "; ", ""))
    assert(ratios.forall(_.forall(_ >= 1 - 1e-9)) && median(greedy) > 1.2)
    assert(median(linear) <= 1.05 && median(idp) <= 1.2 && median(both) <= 1.01)
    // pins the tail, so that a regression is noticed
    assert(both.sorted.apply(both.size * 9 / 10) <= 1.3 && both.max <= 7)
  }

  test("the same graph twice: the same plan, after the same pairs") {
    for (c <- cases(3)) {
      val again    = new Case(c.name, c.graph)
      val (m1, m2) = (new Meter(Budget(20000L, 60000L)), new Meter(Budget(20000L, 60000L)))
      assert(
        shape(improved(
          c,
          m1,
          Some(linearized(c, m1))
        )) == shape(improved(again, m2, Some(linearized(again, m2)))) && m1.pairs == m2.pairs,
        c.name
      )
    }
  }

  test("no more pairs than the budget, and a plan whatever it is") {
    for (c <- cases(3); pairs <- Seq(0L, 1L, 50L, 500L, 5000L)) {
      val meter = new Meter(Budget(pairs, 60000L))
      val found = improved(c, meter, Some(linearized(c, meter)))
      complete(c, found)
      assert(meter.pairs <= pairs && cost(found) <= cost(c.greedy), s"${c.name}, $pairs pairs")
    }
  }

  test("linearized: no order of n takes more than (n³ - n) / 6 pairs, and a chain in its order takes all of them") {
    for (c <- cases(3)) {
      val meter = unlimited
      new LinearizedDp(c.parts, meter).overIntervals(c.graph.relations.indices.toVector.map(c.parts.leaf))
      assert(meter.pairs <= LinearizedDp.pairs(c.graph.size), c.name)
      if (c.name.startsWith("chain")) assert(meter.pairs == LinearizedDp.pairs(c.graph.size), c.name)
    }
  }

  test("linearized: a chain comes out exactly") {
    for (seed <- 1 to 20; n = 10 + seed % 9) {
      val c = caseOf("chain", n, seed); assert(math.abs(cost(linearized(c)) / c.exact - 1) < 1e-9, c.name)
    }
  }

  /** Refuses about half of the joins, chosen by a hash of their relations, but no join of the greedy plan. */
  private def refusing(c: Case): Connections = new Connections {
    private val all                                            = new InnerJoins(c.graph)
    private val kept                                           = pairsOf(shape(c.greedy)).toSet
    private def relations(s: WideSet)                          = c.graph.relations.indices.filter(s.contains).toVector
    def neighbors(r: Int): WideSet                             = all.neighbors(r)
    def hyperedges: Vector[(WideSet, WideSet)]                 = all.hyperedges
    def closed(set: WideSet): Boolean                          = all.closed(set)
    def connected(left: Fragment, right: Fragment): Boolean    = all.connected(left, right)
    def restricted: Boolean                                    = true
    def between(left: Fragment, right: Fragment): Option[Step] =
      all.between(left, right).filter(_ => allowed(relations(left.relations), relations(right.relations)))

    def allowed(l: Vector[Int], r: Vector[Int]): Boolean =
      kept((l, r)) || kept((r, l)) || (if (l.head < r.head) (l, r) else (r, l)).hashCode % 2 == 0
  }

  test("refused joins are not made, and what is left is still improved") {
    val better = cases(10).count { c =>
      val connections = refusing(c)
      val parts       = c.partsWith(connections)
      val linear      = new LinearizedDp(parts, unlimited).improve(c.greedy)
      val found       = new IterativeDp(parts, unlimited, IterativeDp.Rounds).improve(linear)
      complete(c, found)
      assert(cost(found) <= cost(c.greedy), c.name)
      def part(rs: Vector[Int]) = rs.map(parts.leaf).reduceLeft((a, b) => parts.union(a, b))
      pairsOf(shape(found)).foreach { case (l, r) =>
        assert(parts.step(part(l), part(r)).isDefined, s"${c.name}: $l with $r")
      }
      cost(found) < cost(c.greedy)
    }
    assert(better > 50)
  }

  for (family <- Seq("star", "mixed"))
    test(s"$family of 1,000 relations: all of them, cheaper than the greedy plan") {
      val c     = caseOf(family, 1000, 1)
      val found = new Search(c.graph, physical, Budget(300000L, 600000L)).run(GraphText.leftDeep(c.graph))
      assert(found.best.relations == (0 until 1000).toVector && found.best.joins.size == 999 && found.note.isDefined)
      assert(found.algorithm == "goo+idp" && found.pairs <= 300000L + 999)
      assert(found.best.cost.total < cost(c.greedy) && found.best.cost.total <= found.original.cost.total)
    }

  test("a deadline in the past: a plan of all relations, and a note") {
    for ((n, family) <- Seq((20, "star"), (70, "mixed"), (130, "star"), (1000, "mixed"))) {
      val graph = GraphText(Graphs(family, n, new Random(1)))
      val found = new Search(graph, physical, Budget(300000L, 0L)).run(GraphText.leftDeep(graph))
      assert(found.best.relations == (0 until n).toVector && found.best.cost.total <= found.original.cost.total)
      assert(
        found.algorithm == "goo" && found.note.exists(_.contains("ran out of time")),
        s"$family of $n: ${found.note}"
      )
    }
  }
}
