package dovetail.kernel.cost

import scala.util.Random

import org.scalactic.Tolerance._
import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.JoinMethod._
import dovetail.kernel.enumerate.{Budget, Dphyp, JoinTree, PlanTable, Search, Sizer}
import dovetail.kernel.graph.{Hypergraph, JoinGraph}
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.size.CardinalityModel

/**
 * Join costs, computed by hand. Also checks that the parts that explain shows add up to the cost that the search
 * compared.
 */
class CostSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = new org.scalactic.Equality[Double] {
    def areEqual(a: Double, b: Any): Boolean =
      b match { case d: Double => math.abs(a - d) <= 1e-9 * math.abs(d); case _ => false }
  }

  private val k      = CostConstants()
  private val noSwap = ClusterFacts(broadcastBytes = 0)

  private def priced(text: String, tree: String, facts: ClusterFacts): JoinTree = {
    val graph = GraphText(text)
    new Search(graph, new PhysicalCosts(k, facts), Budget.unlimited).run(GraphText.shape(tree, graph)).original
  }
  private def join(text: String, facts: ClusterFacts): JoinTree.Join = priced(text, "(A B)", facts).joins.last

  private def exchange(rows: Double, width: Double) = rows * k.exchangeRow + rows * width * k.exchangeByte
  private def sort(rows: Double)                    = rows * k.sortCompare * math.log(rows) / math.log(2)
  // a broadcast goes to the driver and one executor
  private def broadcast(rows: Double, width: Double) = (rows * k.hashBuild + rows * width * k.broadcastByte) * 2

  test("cardWeight: weight * rows + (1 - weight) * bytes of every join") {
    val graph = GraphText("A 1000 bytes=20; B 500 bytes=30; C 10 bytes=40; A.x:100=B.x:100; B.y:10=C.y:10")
    val tree  =
      new Search(graph, new CardWeightCosts(0.7), Budget.unlimited).run(GraphText.shape("((A B) C)", graph)).original
    val ab  = 1000.0 * 500 / 100
    val abc = ab * 10 / 10
    // a row has 8 bytes of overhead, and the columns of its inputs
    assert(tree.cost.total === 0.7 * ab + 0.3 * ab * (20 + 30 - 8) + 0.7 * abc + 0.3 * abc * (20 + 30 + 40 - 2 * 8))
    assert(tree.joins.forall(_.method == Unspecified))
  }

  test("a sort-merge join: both sides exchanged and sorted, merged, rows produced") {
    val j = join("A 1000 bytes=20; B 500 bytes=30; A.x:100=B.x:100", noSwap)
    assert(j.method == SortMerge)
    assert(j.own.exchange === exchange(1000, 20) + exchange(500, 30))
    assert(j.own.sort === sort(1000) + sort(500) + (1000 + 500) * k.merge)
    assert(j.own.output === 1000.0 * 500 / 100 * k.rowProduced)
    assert(j.own.hash == 0.0 && j.own.broadcast == 0.0)
  }

  test("an input that is partitioned by the join's key is not exchanged; only a sort-merge join leaves it sorted") {
    val two    = "A 1000 bytes=20; B 500 bytes=30; A.x:100=B.x:100"
    val hashed = join(s"$two; A hashed x", noSwap)
    assert(hashed.own.exchange === exchange(500, 30) && hashed.own.sort === sort(1000) + sort(500) + 1500 * k.merge)
    assert(join(s"$two; A hashed x; B hashed x", noSwap).own.exchange == 0.0)
    assert(join(s"$two; A.y:10=B.y:10; A hashed x", noSwap).own.exchange === exchange(1000, 20) + exchange(500, 30))
    val three                    = s"$two; C 400 bytes=30; B.x=C.x:100"
    def top(facts: ClusterFacts) = priced(three, "((A B) C)", facts).joins.last
    val merged                   = top(noSwap)
    val ofJoin                   = 1000.0 * 500 / 100
    assert(merged.own.exchange === exchange(400, 30))
    assert(merged.own.sort === sort(400) + (ofJoin + 400) * k.merge, "sorted by the first join")
  }

  test("a grouping above: its exchange is a part of the last join, unless that has partitioned the rows by its keys") {
    val three                    = "A 1000 bytes=20; B 500 bytes=30; C 400 bytes=30; A.x:100=B.x:100; A.y:10=C.y:10"
    def exchanges(above: String) = priced(three + above, "((A B) C)", noSwap).joins.map(_.own.exchange)
    val (plain, rows)            = (exchanges(""), 1000.0 * 500 / 100 * 400 / 10)
    assert(exchanges("; above A.x 1e12 nanos=7").last - plain.last === 7 * rows +- 1.0)
    assert(exchanges("; above A.x,B.x 25 nanos=7").last - plain.last === 7 * 25.0 +- 1e-3)
    assert(exchanges("; above A.x 25 nanos=7").head == plain.head, "only the last join")
    assert(exchanges("; above A.y 25 nanos=7") === plain, "partitioned by y")
    assert(exchanges("; above A.x,C.y 25 nanos=7") === plain, "by some of the columns")
    assert(exchanges("; above A.z 25 nanos=7") === plain, "no plan can save it")
    val composite           = "A 1000; B 500; C 400; A.x:100=B.x:100; A.z:9=B.z:9; A.y:10=C.y:10"
    def last(above: String) = priced(composite + above, "((A C) B)", noSwap).joins.last.own.exchange
    assert(last("; above A.x 25 nanos=7") === last(""), "x is only a part of the join key")
    assert(last("; above A.x,B.z 25 nanos=7") === last(""))
    assert(last("; above A.x,A.y 25 nanos=7") > last(""), "a plan with the other join last can save it")
  }

  test("a hash join leaves its rows partitioned but not sorted, so a sort-merge join above sorts them") {
    // only A and B differ enough in size for a hash table
    val text = "A 1000 bytes=100; B 300 bytes=30; A.x:300=B.x:300; C 900 bytes=100; B.x=C.x:300"
    val tree = priced(text, "((A B) C)", noSwap.copy(hashTable = HashTable(HashTable.memory(300, 300 * 30))))
    assert(tree.joins.map(_.method) == Vector(ShuffledHash, SortMerge))
    val rows = tree.joins.head.rows.value
    assert(tree.joins.last.own.exchange === exchange(900, 100))
    assert(tree.joins.last.own.sort === sort(rows) + sort(900) + (rows + 900) * k.merge)
  }

  test("pairs with equal keys that the rest of the condition drops are compared, too") {
    val pairs = 1000.0 * 500 / 10
    val plain = join("A 1000 bytes=20; B 500 bytes=30; A.x:10=B.x:10", noSwap)
    val rest  = join("A 1000 bytes=20; B 500 bytes=30; A.x:10=B.x:10; A~B 0.01", noSwap)
    assert(rest.rows.value === pairs / 100)
    assert(rest.own.output === pairs / 100 * k.rowProduced + pairs * 0.99 * k.nestedLoopPair)
    assert(plain.own.output === pairs * k.rowProduced)
    // a join above the predicate has no pairs of its own to drop
    val three = priced("A 1000; B 500; C 50; A.x:10=B.x:10; A~B 0.01; B.z:50=C.z:50", "((A B) C)", noSwap).joins.last
    assert(three.own.output === three.rows.value * k.rowProduced)
    // without an equality, all pairs are compared anyway
    val loop = join("A 1000 bytes=20; B 500 bytes=30; A~B 0.01", noSwap)
    assert(loop.method == NestedLoop && loop.own.output === loop.rows.value * k.rowProduced)
  }

  test("a shuffled hash join: the smaller side built, the larger one probed") {
    val j = join("A 1000 bytes=20; B 500 bytes=30; A.x:100=B.x:100", noSwap.copy(preferSortMerge = false))
    assert(j.method == ShuffledHash)
    assert(j.own.exchange === exchange(1000, 20) + exchange(500, 30))
    assert(j.own.sort == 0.0)
    assert(j.own.hash === 500 * k.hashBuild + 1000 * k.hashProbe)
  }

  test("a sort-merge join whose smaller side is hashed while it runs: clearly smaller, and small enough for a task") {
    def method(text: String, memory: Double) = join(text, noSwap.copy(hashTable = HashTable(memory)))
    val (clear, alike)                       =
      ("A 1000 bytes=20; B 400 bytes=25; A.x:100=B.x:100", "A 1000 bytes=20; B 401 bytes=25; A.x:100=B.x:100")
    val needed = HashTable.memory(400, 400 * 25)
    val j      = method(clear, needed)
    assert(j.method == ShuffledHash)
    assert(j.own === Cost(
      exchange = exchange(1000, 20) + exchange(400, 25),
      hash = 400 * k.hashBuild + 1000 * k.hashProbe,
      output = 4000 * k.rowProduced
    ))
    assert(method(alike, 1e9).method == SortMerge, "hardly smaller")
    assert(method(clear, needed * 0.99).method == SortMerge, "one task may get all of the input")
    assert(join(clear, ClusterFacts(broadcastBytes = 1e4, hashTable = HashTable(1e9))).method == ShuffledThenBroadcast)
  }

  test("a side that the engine would broadcast is broadcast, and on the side where it stands") {
    val right = join("A 1000 bytes=20; B 500 bytes=30 broadcast; A.x:100=B.x:100", noSwap)
    assert(right.method == BroadcastRight && right.left.relations == Vector(0))
    assert(right.own === Cost(hash = 1000 * k.hashProbe, broadcast = broadcast(500, 30), output = 5000 * k.rowProduced))
    val left = join("A 1000 bytes=20 broadcast; B 500 bytes=30; A.x:100=B.x:100", noSwap)
    assert(left.method == BroadcastLeft && left.left.relations == Vector(0), "the larger side stands left")
    assert(left.own === Cost(hash = 500 * k.hashProbe, broadcast = broadcast(1000, 20), output = 5000 * k.rowProduced))
    assert(join("A 1000 broadcast; B 500 broadcast; A.x:100=B.x:100", noSwap).own.broadcast === broadcast(500, 100))
    assert(join(
      "A 1000 bytes=20; B 500 bytes=30 broadcast; A.x:100=B.x:100",
      noSwap.copy(executors = 9)
    ).own.broadcast === broadcast(500, 30) / 2 * 10)
  }

  implicit private val costs: org.scalactic.Equality[Cost] = new org.scalactic.Equality[Cost] {
    private def parts(c: Cost)             = Seq(c.exchange, c.sort, c.hash, c.broadcast, c.output)
    def areEqual(a: Cost, b: Any): Boolean =
      b match {
        case c: Cost => parts(a).zip(parts(c)).forall { case (x, y) => tolerance.areEqual(x, y) }; case _ => false
      }
  }

  test("a side that comes out small is broadcast after its exchange, by bytes and not by rows") {
    val j = join("A 1000 bytes=20; B 1500 bytes=10; A.x:100=B.x:100", ClusterFacts(broadcastBytes = 15000))
    assert(j.method == ShuffledThenBroadcast)
    assert(j.own === Cost(
      exchange = exchange(1000, 20) + exchange(1500, 10),
      hash = 1000 * k.hashProbe,
      broadcast = broadcast(1500, 10),
      output = 15000 * k.rowProduced
    ))
    assert(join(
      "A 1000 bytes=20; B 1500 bytes=10; A.x:100=B.x:100",
      ClusterFacts(broadcastBytes = 14999)
    ).method == SortMerge)
  }

  test("a small intermediate result is broadcast where that is cheaper and not too risky") {
    def last(upper: Double, facts: ClusterFacts) =
      priced(s"A 10 upper=$upper; B 10; C 1e6; A.x:10=B.x:10; B.y:1000=C.y:1000", "((A B) C)", facts).joins.last
    val limit = noSwap.copy(staticBytes = 2000)
    // A x B has 10 rows of 100 + 100 - 8 bytes. Its cautious size is `upper` rows, because x is a key of B; each takes
    // `inMemory` bytes in the broadcast's hash table.
    val inMemory = 2 * 192 + HashTable.Slots
    val safe     = last(10, limit)
    assert(safe.method == BroadcastRight && safe.left.relations == Vector(2))
    assert(safe.own === Cost(hash = 1e6 * k.hashProbe, broadcast = broadcast(10, 192), output = 1e4 * k.rowProduced))
    assert(last(10, noSwap).method == SortMerge)
    assert(last(10, noSwap.copy(staticBytes = 1919)).method == SortMerge, "too large by the estimate")
    assert(last(math.floor(2000 * ClusterFacts.RiskFactor / inMemory), limit).method == BroadcastRight)
    assert(
      last(math.ceil(2000 * ClusterFacts.RiskFactor / inMemory), limit).method == SortMerge,
      "too large if the estimate is wrong"
    )
    assert(last(10, limit.copy(staticMemory = 10 * inMemory)).method == BroadcastRight)
    assert(last(10, limit.copy(staticMemory = 10 * inMemory - 1)).method == SortMerge, "more than there is memory for")
  }

  test("without an equality every pair is compared, and the smaller side sent everywhere, broadcastable or not") {
    for (more <- Seq("", "; A~B 0.5"); flag <- Seq("", " broadcast")) {
      val j = join(s"A 1000 bytes=20; B 500 bytes=30$flag$more", ClusterFacts())
      assert(j.method == NestedLoop)
      assert(j.own === Cost(
        hash = 1000.0 * 500 * k.nestedLoopPair,
        broadcast = broadcast(500, 30),
        output = 500000.0 * (if (more == "") 1 else 0.5) * k.rowProduced
      ))
    }
  }

  test("with loops at most, the pairs of a nested loop are those of the most rows, in the search and in the parts") {
    def own(text: String) = {
      val graph = GraphText(text)
      val costs = new PhysicalCosts(k, noSwap, loopsAtMost = true)
      new Search(graph, costs, Budget.unlimited).run(GraphText.shape("(A B)", graph)).best.joins.last
    }
    val j = own("A 1000 bytes=20 upper=7000; B 500 bytes=30 upper=900")
    assert(j.own.hash === 7000.0 * 900 * k.nestedLoopPair && j.own.broadcast === broadcast(500, 30))
    assert(j.choice().ways.map(_.cost) == Vector(j.own.total) && j.left.most == 7000.0 && j.right.most == 900.0)
    val unknown = own("A 1000 bytes=20 upper=1e30; B 500 bytes=30 upper=1e30")
    assert(unknown.own.hash === 1e30 * k.nestedLoopPair)
  }

  test("the pairs of a nested loop are compared in the tasks that read its larger side") {
    val all                 = 1000.0 * 500 * k.nestedLoopPair
    val facts               = noSwap.copy(tasks = 100)
    def pairs(text: String) = join(text, facts).own.hash
    assert(pairs("A 1000 bytes=20; B 500 bytes=30") === all)
    assert(pairs("A 1000 bytes=20 tasks=1; B 500 bytes=30") === all * 100)
    assert(pairs("A 1000 bytes=20 tasks=50; B 500 bytes=30 tasks=1") === all * 2)
    assert(pairs("A 1000 bytes=20 tasks=500; B 500 bytes=30 tasks=1") === all)
    // the tasks of a join are those of its input with the most tasks
    val text = "A 1000 tasks=4; B 1000 tasks=20; C 5 tasks=1; A.x:1000=B.x:1000; B~C 0.5"
    assert(priced(text, "((A B) C)", facts).joins.last.own.hash === 1000.0 * 5 * k.nestedLoopPair * 5)
    val one = join("A 1000 bytes=20 tasks=1; B 500 bytes=30", facts)
    assert(one.choice().ways.map(_.cost) == Vector(one.own.total), "in the search and in the parts")
  }

  test("an equality over several relations is something to shuffle by") {
    val tree = priced("A 1000; B 1000; C 1000; A.x:1000=B.x:1000; A+B=C 0.001", "((A B) C)", noSwap)
    assert(tree.joins.map(_.method) == Vector(SortMerge, SortMerge))
    assert(tree.joins.last.own.exchange === exchange(1000, 100) + exchange(1000, 192))
  }

  private val onK     = "A 1e6; B 1e6; C 1e6; A.k:1e6=B.k:1e6=C.k:1e6"
  private val onOther = "A 1e6; B 1e6; C 1e6; A.k:1e6=B.k:1e6; B.l:1e6=C.l:1e6"

  test("a partitioning is used again: A x B on k, then C on k, exchanges and sorts C alone") {
    val again = priced(onK, "((A B) C)", noSwap).joins.last
    val other = priced(onOther, "((A B) C)", noSwap).joins.last
    assert(again.own.exchange === exchange(1e6, 100))
    assert(again.own.sort === sort(1e6) + 2e6 * k.merge)
    assert(other.own.exchange === exchange(1e6, 100) + exchange(1e6, 192))
    assert(other.own.sort === 2 * sort(1e6) + 2e6 * k.merge)
  }

  test("a partitioning passes through a broadcast join, and ends with a join on another key") {
    val through = priced(s"$onK; D 10 broadcast; A.d:10=D.d:10", "(((A B) D) C)", noSwap).joins
    assert(through.map(_.method) == Vector(SortMerge, BroadcastRight, SortMerge))
    assert(through.last.own.exchange === exchange(1e6, 100))
    val ended = priced(s"$onK; D 1e6; A.d:1e6=D.d:1e6", "(((A B) D) C)", noSwap).joins
    assert(ended.last.own.exchange === exchange(1e6, 100) + exchange(1e6, 100 + 2 * 92))
  }

  test("a partitioning by part of a composite key does not serve the whole") {
    val text = "A 1e6; B 1e6; C 1e6; A.k:1e6=B.k:1e6=C.k:1e6; B.l:1e6=C.l:1e6"
    assert(priced(text, "((A B) C)", noSwap).joins.last.own.exchange === exchange(1e6, 100) + exchange(1e6, 192))
  }

  test(
    "an input that stays where it is meets a small one that is broadcast after its exchange, and stays partitioned"
  ) {
    val (keys, order) = ("A.k:1e6=B.k:1e6=C.k:10=D.k:1e6", "(((A B) C) D)")
    val joins         = priced(s"A 1e6; B 1e6; C 10; D 1e6; $keys", order, ClusterFacts()).joins
    assert(joins(1).method == ShuffledThenBroadcast && joins(1).own.exchange === exchange(10, 100))
    assert(joins(2).own.exchange === exchange(1e6, 100))
  }

  test("the search prefers the order that uses a partitioning again") {
    // All joins have a million rows. The written order joins D in between, which loses the partitioning by k that C
    // could use.
    val text  = "A 1e6; B 1e6; C 1e6; D 1e6; A.k:1e6=B.k:1e6=C.k:1e6; A.l:1e6=D.l:1e6"
    val graph = GraphText(text)
    val found =
      new Search(graph, new PhysicalCosts(k, noSwap), Budget.unlimited).run(GraphText.shape("(((A B) D) C)", graph))
    val each = 4 * exchange(1e6, 100) + exchange(1e6, 192)
    assert(found.original.joins.map(_.own.exchange).sum === each + exchange(1e6, 284))
    assert(found.best.joins.map(_.own.exchange).sum === each)
  }

  test("a key that cannot be hashed: both sides are exchanged and sorted, however small they are") {
    val graph  = GraphText("A 1000 bytes=20; B 10 bytes=30 broadcast; A.x:10=B.x:10")
    val sorted = graph.copy(classes = graph.classes.map(_.copy(hashable = false)))
    def joined(graph: JoinGraph, facts: ClusterFacts) =
      new Search(graph, new PhysicalCosts(k, facts), Budget.unlimited).run(GraphText.shape("(A B)", graph)).original
        .joins.last
    val expected = join("A 1000 bytes=20; B 10 bytes=30; A.x:10=B.x:10", noSwap).own
    val others   = Seq(ClusterFacts(), noSwap.copy(staticBytes = 1e6), noSwap.copy(hashTable = HashTable(1e9)))
    for (facts <- noSwap +: others) {
      assert(joined(graph, facts).method == BroadcastRight)
      assert(joined(sorted, facts).choice().ways.map(_.method) == Vector(SortMerge))
      assert(joined(sorted, facts).own.total === expected.total)
    }
    assert(joined(sorted, noSwap.copy(preferSortMerge = false)).method == SortMerge)
  }

  private def table(graph: JoinGraph, costs: CostModel): (SubPlan, Sizer) = {
    val sizer = new Sizer(graph, new CardinalityModel(graph))
    val plans = new PlanTable(graph.size, sizer, costs, Budget.unlimited)
    assert(new Dphyp(Hypergraph(graph), plans).run())
    (plans.full, sizer)
  }

  test("the parts of all joins of a tree add up to the cost that the search compared, for every alternative kept") {
    val models = Seq(
      new CardWeightCosts(0.7),
      new PhysicalCosts(k, noSwap),
      new PhysicalCosts(k, ClusterFacts()),
      new PhysicalCosts(k, noSwap.copy(preferSortMerge = false)),
      new PhysicalCosts(k, noSwap.copy(hashTable = HashTable(1e6))),
      new PhysicalCosts(k, ClusterFacts(executors = 4, broadcastBytes = 1e5, preferSortMerge = false))
    )
    val methods = for (seed <- 1 to 60; costs <- models) yield {
      val random = new Random(seed)
      val n      = 2 + random.nextInt(7)
      val edges  =
        if (seed % 2 == 0) Graphs.shared(n, random) else Graphs.sized(n, Graphs.connected(n, n / 2, random), random)
      val (plan, sizer) = table(GraphText(edges + "; Z 50; A~Z 0.1"), costs)
      (0 until plan.alternatives).flatMap { i =>
        val tree = JoinTree.fromPlan(plan, i, sizer, costs)
        assert(tree.joins.map(_.own.total).sum === plan.cost(i), s"seed $seed, ${costs.name}, alternative $i")
        assert(tree.cost.total === plan.cost(i), s"seed $seed, ${costs.name}, alternative $i")
        tree.joins.foreach(j =>
          assert(
            j.choice().ways.filter(_.method == j.method).map(_.cost).sum === j.own.total,
            s"seed $seed, ${costs.name}, the way taken"
          )
        )
        tree.joins.map(_.method)
      }
    }
    assert(
      methods.flatten.toSet == Set(
        BroadcastLeft,
        BroadcastRight,
        SortMerge,
        ShuffledHash,
        ShuffledThenBroadcast,
        NestedLoop,
        Unspecified
      ),
      "all ways were seen"
    )
  }

  test("what a method was chosen from: every way on the same inputs, and the cheapest other one") {
    val text  = "A 1e6; B 10; A.x:10=B.x:10"
    val small = join(text, noSwap.copy(staticBytes = 2000))
    val ways  = small.choice()
    assert(small.method == BroadcastRight && ways.ways.map(_.method).toSet == Set(BroadcastRight, SortMerge))
    val shuffled = join(text, noSwap)
    assert(ways.runnerUp(BroadcastRight).get.method == SortMerge && ways.runnerUp(
      BroadcastRight
    ).get.cost === shuffled.own.total)
    assert(ways.left.bytes === 1e8 && ways.right.bytes === 1000.0 && !ways.right.broadcast && !ways.right.partitioned)
    assert(shuffled.choice().runnerUp(SortMerge).isEmpty, "nothing else is possible")
    // if the engine broadcasts an input by itself, there is no other way
    val own = join("A 1e6; B 10 broadcast; A.x:10=B.x:10", noSwap)
    assert(own.choice().right.broadcast && own.choice().runnerUp(own.method).isEmpty)
  }

  test("what a method was chosen from: sides and partitionings as the tree has them") {
    val again = priced(onK, "((A B) C)", noSwap).joins.last
    assert(again.choice().left.partitioned == (again.left.relations == Vector(
      0,
      1
    )) && again.choice().right.partitioned == (again.right.relations == Vector(
      0,
      1
    )))
    // The larger side stands left. The broadcast of the smaller side is one of the right side, in the tree and among
    // the ways.
    val swapped = join("A 10; B 1e6; A.x:10=B.x:10", noSwap.copy(staticBytes = 2000))
    assert(swapped.left.relations == Vector(
      1
    ) && swapped.method == BroadcastRight && swapped.choice().ways.exists(_.method == BroadcastRight))
    assert(swapped.choice().right.bytes === 1000.0)
  }

  test("a weight outside of 0..1 is refused") {
    for (w <- Seq(-0.1, 1.1, Double.NaN)) assertThrows[IllegalArgumentException](new CardWeightCosts(w))
  }
}
