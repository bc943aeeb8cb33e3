package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.{
  CardWeightCosts,
  ClusterFacts,
  CostConstants,
  CostModel,
  HashTable,
  JoinMethod,
  PhysicalCosts,
  SortMemory
}
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.{Graphs, GraphText}

/**
 * The exact search finds what an exhaustive search finds. Also tests how it treats the written order and its budget.
 */
class SearchSuite extends AnyFunSuite {

  private val names      = "ABCDEFGHI".map(_.toString)
  private val cardWeight = new CardWeightCosts(0.7)
  private val constants  = CostConstants()
  private val noSwap     = ClusterFacts(broadcastBytes = 0.0)
  private val physical   = new PhysicalCosts(constants, ClusterFacts())

  private def search(
      graph: JoinGraph,
      costs: CostModel,
      written: Option[Shape] = None,
      budget: => Budget = Budget.unlimited
  ): Outcome =
    new Search(graph, costs, budget).run(written.getOrElse(GraphText.leftDeep(graph)))

  /** Each edge is a class of its own; some inequalities between two relations, some equalities over three. */
  private def random(seed: Int, most: Int): String = {
    val r            = new Random(seed)
    val n            = 2 + r.nextInt(most - 1)
    def some(k: Int) = r.shuffle((0 until n).toVector).take(k).map(GraphText.name)
    val inequalities = Vector.fill(r.nextInt(2))(some(2)).map(_.mkString("~") + " 0.3")
    val hyperedges   = Vector.fill(if (n > 2) r.nextInt(2) else 0)(some(3)).map(s => s"${s(0)}+${s(1)}=${s(2)} 0.01")
    (Graphs.sized(n, Graphs.connected(n, r.nextInt(n), r), r) +: (inequalities ++ hyperedges)).mkString("; ")
  }

  private def shared(seed: Int, most: Int): String = {
    val r = new Random(seed); Graphs.shared(2 + r.nextInt(most - 1), r)
  }

  private def same(found: Double, expected: Double, clue: String) =
    assert(math.abs(found - expected) <= 1e-9 * expected, clue)

  test("cardWeight: the cheapest of all bushy trees") {
    for (seed <- 1 to 40; weight <- Seq(0.7, 0.0, 1.0)) {
      val text  = random(seed, 7)
      val graph = GraphText(text)
      val found = search(graph, new CardWeightCosts(weight))
      assert(found.algorithm == "dphyp" && found.note.isEmpty)
      same(found.best.cost.total, new PlanOracle(graph).cheapestByCardWeight(weight), s"seed $seed: $text")
    }
  }

  test("the runner-up: the cheapest plan with another last join, or the written one") {
    val seconds = for (seed <- 1 to 60) yield {
      val graph          = GraphText(random(seed, 7))
      val found          = search(graph, cardWeight)
      val runnerUp       = found.runnerUp()
      val (best, others) = { val all = new PlanOracle(graph).lastJoinsByCardWeight(0.7); (all.head, all.tail) }
      val writtenIsBest  = found.original.shape.sameJoins(found.best.shape)
      val expected       = others.headOption.toVector ++ (if (writtenIsBest) None else Some(found.original.cost.total))
      def isTie          = expected.nonEmpty && expected.min <= best * (1 + 1e-6)
      assert(runnerUp.isDefined == expected.nonEmpty || isTie, s"seed $seed")
      runnerUp.foreach { r =>
        assert(!r.shape.sameJoins(found.best.shape), s"seed $seed")
        if (!isTie) same(r.cost.total, expected.min, s"seed $seed")
      }
      runnerUp
    }
    assert(seconds.count(_.isDefined) > 40)
  }

  test("the sizes of the tree are those of the documentation") {
    for (seed <- 1 to 100) {
      val graph  = GraphText(random(seed, 7))
      val oracle = new PlanOracle(graph)
      for (j <- search(graph, cardWeight).best.joins) {
        val set = j.relations.foldLeft(0L)((m, r) => m | 1L << r)
        same(j.rows.value, oracle.rows(set), s"seed $seed")
        same(j.bytes, oracle.bytes(set), s"seed $seed")
      }
    }
  }

  /** name, facts, largest number of relations, and the largest ratio of the search's cost to the cheapest cost */
  private val physicals = Seq(
    ("sort merge", noSwap, 6, 1.0),
    ("shuffled hash", noSwap.copy(preferSortMerge = false), 6, 1.0),
    ("the smaller side hashed while it runs", noSwap.copy(hashTable = HashTable(taskMemory = 1e6)), 6, 1.0),
    ("three executors", noSwap.copy(executors = 3), 6, 1.0),
    ("few keys, many tasks", noSwap.copy(tasks = 30, splitBytes = 1e5), 6, 1.0),
    ("little memory for sorts", noSwap.copy(tasks = 4, sortMemory = SortMemory(1e5, 20)), 6, 1.0),
    // one of 600 graphs was 0.02 % more expensive: SubPlan.offer says why
    ("small results broadcast", noSwap.copy(staticBytes = 1e5), 5, 1.001)
  )

  for ((name, facts, most, tolerance) <- physicals)
    test(s"physical, $name: the cheapest of all ways to execute all bushy trees") {
      for (seed <- 1 to 40; text <- Seq(random(seed, most), shared(seed, most))) {
        val graph             = GraphText(text)
        val (found, cheapest) =
          (
            search(graph, new PhysicalCosts(constants, facts)).best.cost.total,
            PlanOracle.sizedByModel(graph).cheapestPhysical(constants, facts)
          )
        assert(found >= cheapest * (1 - 1e-9) && found <= cheapest * tolerance * (1 + 1e-9), s"seed $seed: $text")
      }
    }

  test("physical, keys that cannot be hashed: as if the cluster could neither broadcast nor hash an input") {
    val facts = ClusterFacts(hashTable = HashTable(taskMemory = 1e6), staticBytes = 1e5)
    for (seed <- 1 to 40) {
      val graph  = GraphText(shared(seed, 6))
      val sorted = graph.copy(classes = graph.classes.map(_.copy(hashable = false)))
      val alone  = graph.copy(relations = graph.relations.map(_.copy(broadcastable = false)))
      val found  = search(sorted, new PhysicalCosts(constants, facts)).best
      same(found.cost.total, search(alone, new PhysicalCosts(constants, noSwap)).best.cost.total, s"seed $seed")
      assert(found.joins.forall(_.method == JoinMethod.SortMerge), s"seed $seed")
    }
  }

  test("physical, with a grouping above by some join keys: the cheapest of all, including the grouping's exchange") {
    val partitioned = for (seed <- 1 to 60; text <- Seq(random(seed, 6), shared(seed, 6))) yield {
      val r     = new Random(seed)
      val keys  = "[A-Z]\\.c\\d+".r.findAllIn(text).toVector.distinct
      val graph = GraphText(s"$text; above ${r.shuffle(keys).take(1 + r.nextInt(2)).mkString(",")} 1e9 nanos=500")
      val found = search(graph, new PhysicalCosts(constants, noSwap)).best.cost.total
      val least = PlanOracle.sizedByModel(graph).cheapestPhysical(constants, noSwap)
      assert(math.abs(found - least) <= 1e-9 * least, s"seed $seed: $text")
      val alone = graph.copy(above = None)
      found < search(alone, new PhysicalCosts(constants, noSwap)).best.cost.total + graph.above.get.exchange(
        new dovetail.kernel.size.CardinalityModel(graph).estimate(graph.relations.indices.toArray).value
      ) * (1 - 1e-9)
    }
    assert(partitioned.count(identity) > 20, "plans that save the exchange")
  }

  test("a grouping above decides which of two joins comes last, unless its exchange is small") {
    val graph               = "A 1e6; B 9e5; C 9.1e5; A.x:1e6=B.x:9e5; A.y:1e6=C.y:9.1e5"
    def last(above: String) = search(GraphText(s"$graph$above"), new PhysicalCosts(constants, noSwap)).best.shape
    def tree(text: String)  = GraphText.shape(text, GraphText(graph))
    def isLast(above: String, text: String) = assert(last(above).sameJoins(tree(text)), above)
    isLast("", "((A B) C)")
    isLast("; above A.x 1e6 nanos=500", "((A C) B)")
    isLast("; above B.x 1e6 nanos=500", "((A C) B)")
    isLast("; above A.y 1e6 nanos=500", "((A B) C)")
    isLast("; above A.x 10 nanos=500", "((A B) C)")
    isLast("; above A.z 1e6 nanos=500", "((A B) C)")
  }

  test(
    "physical, with joins that turn into broadcasts while they run: the cheapest but for a hair, where it was better " +
      "to give a partitioning up"
  ) {
    // Seed 1419 is one of three in 4000 where giving up a partitioning was cheaper: the search treats a plan that is
    // partitioned by the next key as at least as good as a plan that is not.
    val ratios = for (seed <- (1 to 40) :+ 1419; text <- Seq(random(seed, 7), shared(seed, 7))) yield {
      val graph = GraphText(text)
      search(
        graph,
        physical
      ).best.cost.total / PlanOracle.sizedByModel(graph).cheapestPhysical(constants, ClusterFacts())
    }
    assert(ratios.forall(r => r > 1 - 1e-9 && r < 1.02))
    assert(ratios.count(_ > 1 + 1e-9) <= 1)
  }

  test("the same graph twice, and under other names: the same tree") {
    for (seed <- 1 to 40; text <- Seq(random(seed, 7), shared(seed, 7)); costs <- Seq(cardWeight, physical)) {
      val first   = search(GraphText(text), costs)
      val renamed = "[A-Z]".r.replaceAllIn(text, m => (m.matched.head + 9).toChar.toString)
      assert(search(GraphText(text), costs) == first, s"seed $seed")
      val second = search(GraphText(renamed), costs)
      assert(
        second.best.shape == first.best.shape && second.best.cost == first.best.cost && second.pairs == first.pairs,
        s"seed $seed"
      )
    }
  }

  test("a graph whose relations stand in another order comes out isomorphic") {
    for (seed <- 1 to 60; costs <- Seq(cardWeight, physical)) {
      val text               = shared(seed, 7)
      val graph              = GraphText(text)
      val (relations, edges) = text.split("; ").toVector.partition(!_.contains(".c"))
      val reordered          = GraphText((new Random(seed).shuffle(relations) ++ edges).mkString("; "))
      val connected          = GraphText.leftDeep(graph).render(graph.relations(_).name)
      val (a, b) = (search(graph, costs), search(reordered, costs, Some(GraphText.shape(connected, reordered))))
      same(b.best.cost.total, a.best.cost.total, s"seed $seed")
      val back = GraphText.shape(b.best.shape.render(reordered.relations(_).name), graph)
      // two trees may have exactly the same cost; otherwise there is one best tree
      if (!back.sameJoins(a.best.shape))
        same(search(graph, costs, Some(back)).original.cost.total, a.best.cost.total, s"seed $seed")
    }
  }

  test("the written order stays where no other is cheaper, whatever its last digits") {
    // All joins of connected sets have the same rows of 8 bytes, so every tree without a cross product costs the same,
    // except for rounding.
    def graph(rows: Double) =
      GraphText(names.map(n => s"$n $rows bytes=8").mkString("; ") + ";" + names.map(n => s"$n.x:$rows").mkString("="))
    for {
      rows    <- Seq(100.1, 333.3, 7777.7)
      weight  <- Seq(0.1, 0.3, 0.7)
      written <- Seq(
        "((((((((A B) C) D) E) F) G) H) I)",
        "((((A B) (C D)) ((E F) (G H))) I)",
        "(((A B) C) (((D E) F) ((G H) I)))"
      )
    } {
      val g = graph(rows)
      assert(
        search(
          g,
          new CardWeightCosts(weight),
          Some(GraphText.shape(written, g))
        ).best.shape.sameJoins(GraphText.shape(written, g)),
        s"$rows, $weight: $written"
      )
    }
  }

  test("the written order is priced as it stands, cross products and all") {
    val graph                             = GraphText("F 1000000; A 1000; B 1000; F.a:1000=A.a:1000; F.b:1000=B.b:1000")
    val found                             = search(graph, cardWeight, Some(GraphText.shape("((A B) F)", graph)))
    def own(rows: Double, relations: Int) = 0.7 * rows + 0.3 * rows * (8 + 92 * relations)
    same(found.original.cost.total, own(1e6, 2) + own(1e6, 3), "by hand")
    assert(found.best.shape.sameJoins(found.original.shape), "as cheap as the others")
    assert(search(
      graph,
      physical,
      Some(GraphText.shape("((A B) F)", graph))
    ).original.joins.head.method == JoinMethod.NestedLoop)
  }

  test("a written cross product that is cheaper than every other tree stays") {
    val graph = GraphText("F 1000000; A 5; B 5; F.a:1000=A.a:1000; F.b:1000=B.b:1000")
    val found = search(graph, cardWeight, Some(GraphText.shape("((A B) F)", graph)))
    assert(found.best.shape.render(graph.relations(_).name) == "(F (A B))")
    assert(found.best.cost.total < search(graph, cardWeight, Some(GraphText.shape("((F A) B)", graph))).best.cost.total)
  }

  test("the written order is priced by what the engine does with it by itself") {
    // A x B is small enough to be broadcast to C, but the engine does it only if it is told to
    val graph    = GraphText("A 1000; B 1000; C 1e6; A.x:1000=B.x:1000; B.y:1000=C.y:1000")
    val written  = GraphText.shape("((A B) C)", graph)
    val broad    = new PhysicalCosts(constants, noSwap.copy(staticBytes = 1e6))
    val byUs     = new Search(graph, broad, Budget.unlimited).run(written)
    val byItself = new Search(graph, broad, Budget.unlimited, new PhysicalCosts(constants, noSwap)).run(written)
    assert(byUs.original.joins.last.method == JoinMethod.BroadcastRight && byUs.best == byUs.original)
    assert(byItself.original.joins.last.method == JoinMethod.SortMerge)
    same(byItself.best.cost.total, byUs.best.cost.total, "the same joins, told to be broadcasts")
    assert(byItself.best.shape.sameJoins(written) && byItself.original.cost.total > byItself.best.cost.total)
  }

  test("a better order replaces the written one") {
    val graph = GraphText("F 1000000; A 1000; B 10/1000; F.a:1000=A.a:1000; F.b:1000=B.b:1000; B.b domain=1000")
    val found = search(graph, cardWeight, Some(GraphText.shape("((F A) B)", graph)))
    assert(found.best.shape.render(graph.relations(_).name) == "((F B) A)")
    assert(found.original.shape.render(graph.relations(_).name) == "((F A) B)")
  }

  test("a written order that does not name every relation once is refused") {
    val graph = GraphText("A 1; B 1; A~B 0.1")
    assertThrows[IllegalArgumentException](search(graph, cardWeight, Some(Shape.Leaf(0))))
    assertThrows[IllegalArgumentException](search(graph, cardWeight, Some(Shape.Join(Shape.Leaf(0), Shape.Leaf(0)))))
  }

  test(
    "the budget of pairs: enough for all is exact; with one less that is not begun, there is a note, and the pairs " +
      "go to what comes after it"
  ) {
    val graph = GraphText(Graphs.sized(10, Graphs.chain(10), new Random(1)))
    val all   = (1000 - 10) / 6
    val exact = search(graph, cardWeight, budget = Budget(all.toLong, 60000))
    assert(exact.algorithm == "dphyp" && exact.pairs == all && exact.note.isEmpty)
    val greedy = search(graph, cardWeight, budget = Budget(all - 1L, 60000))
    assert(greedy.algorithm.startsWith("goo") && greedy.note.contains(
      s"the exact search would take more than ${all - 1} pairs"
    ))
    assert(greedy.pairs > 9 && greedy.pairs <= 9 + all - 1)
    val none = search(graph, cardWeight, budget = Budget(0L, 60000))
    assert(none.algorithm == "goo" && none.pairs == 9)
  }

  test("the budget of pairs with hyperedges, whose pairs are counted as they are priced") {
    val graph = GraphText(Graphs.sized(10, Graphs.chain(10), new Random(1)) + "; A+B=J 0.5")
    val exact = search(graph, cardWeight)
    assert(exact.algorithm == "dphyp" && exact.pairs > (1000 - 10) / 6)
    assert(search(graph, cardWeight, budget = Budget(exact.pairs, 60000)).algorithm == "dphyp")
    val linear = search(graph, cardWeight, budget = Budget(exact.pairs - 1, 60000))
    assert(
      linear.algorithm.startsWith("lindp") && linear.note.exists(_.contains(s"more than ${exact.pairs - 1} pairs"))
    )
    assert(linear.pairs > exact.pairs + 9 && linear.pairs <= exact.pairs + 9 + exact.pairs - 1)
  }

  test("the deadline: greedy, with a note, whether it passes while pairs are counted or priced") {
    for (n <- Seq(12, 14); text <- Seq("", "; A+B=C 0.5")) {
      val graph = GraphText(Graphs.sized(n, Graphs.clique(n), new Random(1)) + text)
      val found = search(graph, physical, budget = Budget(1000000, 0))
      assert(found.algorithm == "goo" && found.note.exists(
        _.startsWith("the exact search ran out of time")
      ) && found.pairs < 1000)
      assert(found.best.relations == (0 until n).toVector)
    }
  }

  test("if the exact search runs out of time, the greedy plan is improved within a time of its own") {
    val graph = GraphText(Graphs.sized(24, Graphs.star(24), new Random(1)))
    val found = search(graph, physical, budget = Budget(Long.MaxValue, 500))
    assert(found.note.contains("the exact search ran out of time"), found.note)
    assert(Set("goo+idp", "lindp", "lindp+idp")(found.algorithm), found.algorithm)
  }

  test("64 relations are searched exactly, 65 linearized") {
    def chain(n: Int) = search(GraphText(Graphs.sized(n, Graphs.chain(n), new Random(n))), physical)
    val exact         = chain(64)
    assert(
      exact.algorithm == "dphyp" && exact.pairs == (64 * 64 * 64 - 64) / 6 &&
        exact.best.relations == (0 until 64).toVector
    )
    val linear = chain(65)
    assert(linear.algorithm.startsWith("lindp") && linear.note.exists(
      _.contains("65 relations")
    ) && linear.best.relations == (0 until 65).toVector)
  }
}
