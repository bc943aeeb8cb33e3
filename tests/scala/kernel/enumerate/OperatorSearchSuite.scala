package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.{
  CardWeightCosts,
  ClusterFacts,
  CostConstants,
  CostModel,
  HashTable,
  PhysicalCosts,
  SortMemory
}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Operator, RelSet, WideSet}
import dovetail.kernel.{PlanGraph, RandomPlans}
import dovetail.kernel.size.CardinalityModel

/**
 * The search over all kinds of joins finds the plan that an exhaustive search finds, and always finds some plan. The
 * environment variable `DOVETAIL_GRAPHS` sets the number of random graphs for a longer run.
 */
class OperatorSearchSuite extends AnyFunSuite {
  private val graphs     = sys.env.get("DOVETAIL_GRAPHS").fold(300)(_.toInt)
  private val cardWeight = new CardWeightCosts(0.7)
  private val constants  = CostConstants()
  private val noSwap     = ClusterFacts(broadcastBytes = 0.0)

  private def search(plan: PlanGraph, costs: CostModel): Outcome =
    new Search(plan.graph, costs, Budget.unlimited).run(plan.written.shape)

  /** A random plan with at least one operator. */
  private def plan(seed: Int, most: Int): PlanGraph = {
    val random = new Random(seed)
    Iterator.continually(RandomPlans(2 + random.nextInt(most - 1), random)).find(_.graph.operators.nonEmpty).get
  }

  /**
   * Ratio of the cost that the search finds to the cost of the cheapest tree. The written tree always counts as one of
   * the trees, even if it has cross products that no edge leads to.
   */
  private def ratio(p: PlanGraph, costs: CostModel, cheapest: PlanOracle => Double): Double = {
    val (found, all) = (search(p, costs), PlanOracle.sizedByModel(p.graph))
    assert((found.algorithm == "dphyp") == all.complete, "found along edges what can be found along edges")
    if (all.complete) found.best.cost.total / math.min(cheapest(all), found.original.cost.total) else 1.0
  }

  test("cardWeight: the cheapest of all trees that the conflict rules allow") {
    for (seed <- 1 to graphs) {
      val r = ratio(plan(seed, 8), cardWeight, _.cheapestByCardWeight(0.7))
      assert(math.abs(r - 1.0) < 1e-8, s"seed $seed")
    }
  }

  /** name, facts */
  private val physicals = Seq(
    ("sort merge", noSwap),
    ("shuffled hash, two executors", noSwap.copy(preferSortMerge = false, executors = 2)),
    ("the smaller side hashed while it runs", noSwap.copy(hashTable = HashTable(taskMemory = 1e6))),
    ("small results broadcast", noSwap.copy(staticBytes = 1e5)),
    ("joins that turn into broadcasts", ClusterFacts()),
    ("few keys, many tasks", noSwap.copy(tasks = 30, splitBytes = 1e5)),
    ("little memory for sorts", noSwap.copy(tasks = 4, sortMemory = SortMemory(1e5, 20)))
  )

  for ((name, facts) <- physicals)
    test(s"physical, $name: the cheapest of all ways to execute all trees that the conflict rules allow") {
      val ratios = for (seed <- 1 to graphs / 2)
        yield ratio(plan(seed, 6), new PhysicalCosts(constants, facts), _.cheapestPhysical(constants, facts))
      // SubPlan.offer explains which plans the search may miss
      assert(ratios.forall(r => r > 1 - 1e-8 && r < 1.1), ratios.max)
      assert(ratios.count(_ > 1 + 1e-8) <= graphs / 100, ratios.filter(_ > 1 + 1e-8))
    }

  test("physical, keys that cannot be hashed: as if the cluster could neither broadcast nor hash an input") {
    val facts  = ClusterFacts(hashTable = HashTable(taskMemory = 1e6), staticBytes = 1e5)
    val sorted = for (seed <- 1 to 200; p = plan(seed, 6) if p.graph.predicates.forall(_.sides.isEmpty)) yield {
      val graph = p.graph
      val only  = graph.copy(
        classes = graph.classes.map(_.copy(hashable = false)),
        operators = graph.operators.map(o =>
          if (o.execution == Operator.ByKeys) o.copy(execution = Operator.BySorting) else o
        )
      )
      val alone = graph.copy(relations = graph.relations.map(_.copy(broadcastable = false)))
      def best(graph: JoinGraph, facts: ClusterFacts) =
        new Search(graph, new PhysicalCosts(constants, facts), Budget.unlimited).run(p.written.shape).best
      val (found, expected) = (best(only, facts), best(alone, noSwap))
      assert(math.abs(found.cost.total / expected.cost.total - 1.0) < 1e-9, s"seed $seed")
      found.joins.count(_.operator.exists(_.execution == Operator.BySorting))
    }
    assert(sorted.sum > 50)
  }

  test("the parts of the joins add up to the cost of the tree, and operators keep their sides") {
    val costs = new PhysicalCosts(constants, ClusterFacts())
    for (seed <- 1 to 200; p = plan(seed, 8); tree <- { val o = search(p, costs); Seq(o.best, o.original) }) {
      assert(math.abs(tree.joins.map(_.own.total).sum / tree.cost.total - 1.0) < 1e-9)
      assert(
        tree.joins.flatMap(_.operator).map(_.index).sorted == p.graph.operators.indices.toVector,
        s"seed $seed: every operator once"
      )
      for (j <- tree.joins; o <- j.operator) {
        assert(o.reads.filter(o.left.contains).forall(j.left.relations.contains) && o.reads.filter(
          o.right.contains
        ).forall(j.right.relations.contains))
        assert(j.kind == o.kind && (!j.method.buildsLeft))
      }
    }
  }

  test(
    "greedily: a tree that the conflict rules allow, never cheaper than the exact one, whether it fits into 64 bits " +
      "or not"
  ) {
    var (found, stuck) = (0, 0)
    for (seed <- 1 to 300; size <- Seq(8, if (seed % 30 == 0) 90 else 12)) {
      val random = new Random(seed)
      val p      = RandomPlans(size, random)
      val sizer  = new Sizer(p.graph, new CardinalityModel(p.graph))
      new Greedy(p.graph, sizer, cardWeight).run() match {
        case None       => stuck += 1
        case Some(plan) =>
          found += 1
          val tree = JoinTree.fromPlan(plan, plan.best, sizer, cardWeight)
          assert(
            tree.joins.forall(j =>
              p.graph.joinable.between(set(p, j.left), set(p, j.right)).exists(_.operator == j.operator)
            ),
            s"seed $seed"
          )
          assert(tree.relations == p.graph.relations.indices.toVector, s"seed $seed")
          if (size == 8 && search(p, cardWeight).algorithm == "dphyp")
            assert(tree.cost.total >= search(p, cardWeight).best.cost.total * (1 - 1e-9), s"seed $seed")
      }
      val all = new Search(p.graph, cardWeight, Budget(1, 60000)).run(p.written.shape)
      assert(
        all.best.relations == p.graph.relations.indices.toVector &&
          all.best.cost.total <= all.original.cost.total * (1 + 1e-9),
        s"seed $seed"
      )
    }
    assert(found > 20 * stuck, s"$found found, $stuck left to the written order")
  }

  test(
    "beyond the budget, 12 to 90 relations: a tree that the conflict rules allow, operators on their sides, no " +
      "dearer than the greedy and the written one"
  ) {
    val ran   = scala.collection.mutable.LinkedHashMap.empty[String, Int].withDefaultValue(0)
    val costs = new PhysicalCosts(constants, ClusterFacts())
    // The budget that linearized DP needs would be enough to search most plans exactly. So plans with that budget have
    // 66 relations, which is too many for the exact search.
    for (seed <- 1 to 120; size = if (seed % 10 == 0) 66 else if (seed % 10 == 5) 90 else 12 + seed % 9) {
      val pairs = if (seed % 10 == 0) 2 * LinearizedDp.pairs(size) else 40L
      // with few kinds of joins, the conflict rules allow more trees
      val p = RandomPlans(
        size,
        new Random(seed),
        if (seed % 3 == 0) JoinKind.all else Vector(JoinKind.Inner, JoinKind.LeftOuter, JoinKind.Semi)
      )
      val found = new Search(p.graph, costs, Budget(pairs, 60000)).run(p.written.shape)
      val best  = found.best
      ran(found.algorithm) += 1
      assert(
        best.joins.forall(j =>
          p.graph.joinable.between(set(p, j.left), set(p, j.right)).exists(s => s.operator == j.operator && !s.swapped)
        ),
        s"seed $seed"
      )
      assert(
        best.joins.flatMap(_.operator).map(_.index).sorted == p.graph.operators.indices.toVector,
        s"seed $seed: every operator once"
      )
      assert(
        best.relations == p.graph.relations.indices.toVector &&
          best.cost.total <= found.original.cost.total * (1 + 1e-9),
        s"seed $seed"
      )
      val sizer = new Sizer(p.graph, new CardinalityModel(p.graph))
      if (found.algorithm != "dphyp")
        new Greedy(p.graph, sizer, costs).run().foreach(g =>
          assert(best.cost.total <= g.cost(g.best) * (1 + 1e-9), s"seed $seed: ${found.algorithm}")
        )
      if (found.algorithm != "dphyp")
        assert(found.note.isDefined && found.pairs <= 2 * pairs + 1 + size, s"seed $seed: ${found.pairs}")
    }
    info(ran.toString)
    assert(Seq("lindp", "goo+idp", "lindp+idp").forall(ran(_) > 0), ran.toString)
  }

  test(
    "the budget of pairs: what the exact search takes is enough; with one less it is not begun, and there is a note"
  ) {
    var counted = 0
    for (seed <- 1 to 200; p = plan(seed, 8); exact = search(p, cardWeight) if exact.algorithm == "dphyp") {
      def within(pairs: Long) = new Search(p.graph, cardWeight, Budget(pairs, 60000)).run(p.written.shape)
      val less                = within(exact.pairs - 1)
      assert(within(exact.pairs).best == exact.best, s"seed $seed")
      assert(
        less.algorithm != "dphyp" && less.note.exists(_.contains(s"more than ${exact.pairs - 1} pairs")),
        s"seed $seed: ${less.note}"
      )
      if (Dphyp.pairsOfClique(p.graph.size) > exact.pairs) {
        counted += 1; assert(less.pairs < exact.pairs + p.graph.size, s"seed $seed")
      }
    }
    assert(counted > 100)
  }

  test("a deadline in the past: the written order, and a note") {
    for (seed <- 1 to 20) {
      val p     = RandomPlans(70, new Random(seed))
      val found = new Search(p.graph, cardWeight, Budget(300000L, 0L)).run(p.written.shape)
      assert(found.algorithm == "written" && found.best.shape.sameJoins(found.original.shape))
      assert(found.note.exists(_.contains("the greedy search ran out of time")), found.note)
    }
  }

  private def set(p: PlanGraph, t: JoinTree) = WideSet(p.graph.size, t.relations)

  test("sets of 64 relations and of words answer alike") {
    for (seed <- 1 to 200) {
      val random = new Random(seed)
      val graph  = plan(seed, 7).graph
      for (_ <- 1 to 40) {
        val a              = RelSet((0 until graph.size).filter(_ => random.nextInt(3) == 0): _*)
        val b              = RelSet((0 until graph.size).filter(r => !a.contains(r) && random.nextBoolean()): _*)
        def set(s: RelSet) = WideSet(graph.size, s.toVector)
        assert(graph.joinable.between(a, b) == graph.joinable.between(set(a), set(b)))
        val (there, back) = (graph.joinable.between(a, b), graph.joinable.between(b, a))
        assert(there.map(s => (s.kind, s.operator)) == back.map(s => (s.kind, s.operator)), "either way round")
        assert(there.forall(s => s.operator.isEmpty || back.exists(_.swapped != s.swapped)))
      }
    }
  }

  test("a written tree that is not the graph's is refused by name") {
    val p =
      Iterator.from(1).map(plan(_, 6)).find(x => x.graph.size > 3 && x.graph.operators.exists(_.right.size > 1)).get
    val leaves = p.graph.relations.indices.reverse.map(Shape.Leaf(_): Shape)
    val wrong  = leaves.permutations.take(200).map(_.reduceLeft((l, r) => Shape.Join(l, r)))
    val errors = wrong.flatMap(s =>
      scala.util.Try(new Search(p.graph, cardWeight, Budget.unlimited).run(s)).failed.toOption
    ).toVector
    assert(errors.nonEmpty && errors.forall(e =>
      e.isInstanceOf[IllegalArgumentException] && e.getMessage.contains("the graph's operators do not allow")
    ))
  }
}
