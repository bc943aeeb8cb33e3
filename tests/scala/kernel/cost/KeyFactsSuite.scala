package dovetail.kernel.cost

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.cost.JoinMethod._
import dovetail.kernel.enumerate.{Budget, Dphyp, JoinTree, Outcome, PlanTable, Search, Sizer}
import dovetail.kernel.graph.{Hypergraph, JoinGraph, JoinKind, Member, Operator}
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.size.CardinalityModel

/**
 * Effects of keys on costs beyond sizes: frequent values that make one task slow, and partition columns by which a join
 * prunes a scan.
 */
class KeyFactsSuite extends AnyFunSuite {
  private val k       = CostConstants()
  private val cluster = ClusterFacts(broadcastBytes = 0, tasks = 100)

  private def near(a: Double, b: Double) =
    assert(math.abs(a - b) <= 1e-9 * math.max(math.abs(a), math.abs(b)), s"$a is not $b")
  private def sort(rows: Double) = rows * k.sortCompare * math.log(rows) / math.log(2)
  private def search(text: String, tree: String, facts: ClusterFacts): Outcome = {
    val graph = GraphText(text)
    new Search(graph, new PhysicalCosts(k, facts), Budget.unlimited).run(GraphText.shape(tree, graph))
  }
  private def join(text: String, facts: ClusterFacts = cluster): JoinTree.Join =
    search(text, "(A B)", facts).original.joins.last

  private val even = "A 1e6; B 1e6; A.x:1e6=B.x:1e6"

  test("all tasks wait for the one of the most frequent value; an exchange does not") {
    val (flat, skewed) = (join(even), join(s"$even; A.x top=0.2"))
    assert(flat.method == SortMerge && skewed.method == SortMerge)
    near(flat.own.sort, 2 * sort(1e6) + 2e6 * k.merge)
    near(skewed.own.sort, 21 * sort(1e6) + 21e6 * k.merge)
    near(skewed.own.exchange, flat.own.exchange)
    near(skewed.own.output, 20 * skewed.rows.value * k.rowProduced)
    // a fifth of the rows in one of two tasks is not more than the task's share
    near(join(s"$even; A.x top=0.2", cluster.copy(tasks = 2)).own.sort, flat.own.sort)
  }

  test("few values are few tasks, whatever their frequencies") {
    near(join("A 1e6; B 1e6; A.x:10=B.x:10").own.sort, 10 * (2 * sort(1e6) + 2e6 * k.merge))
  }

  test("a composite key is as frequent as the least frequent of its columns, at most") {
    val text = s"$even; A.y:1e6=B.y:1e6; A.x top=0.2"
    near(join(text).own.sort, join(even).own.sort)
    near(join(s"$text; A.y top=0.05").own.sort, 6 * sort(1e6) + 6e6 * k.merge)
  }

  test("adaptive execution splits a partition that is too large, and its output with it") {
    val split = join(s"$even; A.x top=0.2", cluster.copy(splitBytes = 0.1 * 1e6 * 100))
    near(split.own.sort, 11 * sort(1e6) + 11e6 * k.merge)
    near(split.own.output, 10 * split.rows.value * k.rowProduced)
  }

  test("sorts that a task has no memory for go to disk: those of all tasks, or of the one with the frequent value") {
    def sorted(memory: SortMemory, more: String = "", tasks: Int = 4) =
      join(s"$even$more", cluster.copy(tasks = tasks, sortMemory = memory)).own.sort
    val inMemory        = 2 * sort(1e6) + 2e6 * k.merge
    val (bytes, needed) = (1e8, 1e8 + 1e6 * 32)
    near(sorted(SortMemory(needed / 10, 10)), inMemory)
    near(sorted(SortMemory(needed / 10 - 1, 10)), inMemory + 2 * bytes * k.spillByte)
    near(sorted(SortMemory(needed / 10 - 1, 20)), inMemory)
    // adaptive execution coalesces the partitions into one task
    near(sorted(SortMemory(needed / 10 - 1, 20, taskInput = bytes / 10)), inMemory + 2 * bytes * k.spillByte)
    near(sorted(SortMemory(needed / 10, 10), "; A.x top=0.2"), inMemory + 0.2 * 4 * bytes * k.spillByte)
    near(sorted(SortMemory(needed / 5, 10), "; A.x top=0.2"), inMemory)
    // the task of the frequent value takes longer than all others, so the query waits for it
    near(sorted(SortMemory(1, 10), "; A.x top=0.5"), 3 * sort(1e6) + 3e6 * k.merge + 3 * bytes * k.spillByte)
    near(join(even, cluster.copy(preferSortMerge = false, sortMemory = SortMemory(1, 10))).own.sort, 0.0)
  }

  test("a broadcast has no slow task, and is taken where a shuffled join would wait for one") {
    val text  = "A 1e7; B 5e6 upper=5e6; A.x:5e6=B.x:5e6"
    val facts = ClusterFacts(broadcastBytes = 0, executors = 50, tasks = 200, staticBytes = 5e8)
    assert(join(text, facts).method == SortMerge)
    assert(join(s"$text; A.x top=0.3", facts).method == BroadcastRight)
  }

  test("the search joins by the even key first, where that takes the frequent value away") {
    // A x B by the skewed x has as many rows as A; A x C by the even y has a tenth of them
    val text = "A 1e6; B 1e6; C 1e6/1e7; A.x:1e6=B.x:1e6; A.y:1e7=C.y:1e6; A.x top=0.2"
    assert(search(text, "((A B) C)", cluster).best.joins.head.relations == Vector(0, 2))
  }

  test("NULLs of an outer join's left key lie in one task; of an inner join's key they are gone") {
    val apart                  = GraphText("A 1e6; B 1e6; A.x ndv=1e6 nulls=0.3; B.x ndv=1e6")
    def member(r: Int): Member = {
      val (id, column) = apart.relations(r).profile.columns.head; Member(r, column, Set(id), s"$r.x")
    }
    def joined(kind: JoinKind) =
      Operator(
        0,
        kind,
        Vector(0),
        Vector(1),
        Vector((member(0), member(1))),
        Vector(0, 1),
        1.0,
        Vector(0, 1),
        wideEquality = false,
        "x"
      )
    def sorted(kind: JoinKind) = {
      val graph = JoinGraph(apart.relations, Vector.empty, Vector.empty, Vector(joined(kind)))
      new Search(
        graph,
        new PhysicalCosts(k, cluster),
        Budget.unlimited
      ).run(GraphText.shape("(A B)", graph)).original.joins.last.own.sort
    }
    near(sorted(JoinKind.LeftOuter), 31 * sort(1e6) + 31e6 * k.merge)
    near(sorted(JoinKind.Anti), 31 * sort(1e6) + 31e6 * k.merge)
    near(sorted(JoinKind.Semi), 2 * sort(1e6) + 2e6 * k.merge)
    near(join(s"$even; A.x nulls=0.3").own.sort, 2 * sort(1e6) + 2e6 * k.merge)
  }

  private val pruning = ClusterFacts(broadcastBytes = 0, staticBytes = 1e5, prunesScans = true)
  private val star    = "F 1e6; D 10/1000 upper=10; P 1e3 upper=1e3; F.d:1000=D.id:1000; F.p:1e3=P.id:1e3; F files d"

  test("a broadcast of a filtered table prunes the scan of a table with files by the key; nothing else does") {
    val scan                                                             = 1e6 * 100 * k.scanByte
    def total(text: String, tree: String, facts: ClusterFacts = pruning) = search(text, tree, facts).original
    val pruned                                                           = total(star, "((F D) P)")
    near(pruned.joins.head.own.scan, -0.99 * scan)
    near(pruned.cost.scan, 0.01 * scan)
    near(total(star, "((F P) D)").cost.scan, 0.01 * scan)
    // D without a filter: Spark does not prune by it
    near(total(star.replace("10/1000 upper=10", "1000"), "((F D) P)").cost.scan, scan)
    near(total(star, "((F D) P)", pruning.copy(staticBytes = 0)).cost.scan, scan)    // not broadcast
    near(total(star, "((F D) P)", pruning.copy(prunesScans = false)).cost.scan, 0.0) // switched off
    near(total(star.replace("files d", "files e"), "((F D) P)").cost.scan, 0.0)      // not by a join key
    // the first join prunes the scan, so the second has nothing left to save
    near(total(s"$star; E 5/1000 upper=5; D.id=E.id:1000", "(((F D) P) E)").cost.scan, 0.01 * scan)
  }

  test("an input that a query has three times is broadcast once: each join pays a third") {
    val graph             = GraphText("A 1e6; B 1e4 upper=1e4; A.x:1e4=B.x:1e4")
    def cost(copies: Int) = {
      val again = JoinGraph(graph.relations.map(_.copy(copies = copies)), graph.classes, graph.predicates, Vector.empty)
      new Search(
        again,
        new PhysicalCosts(k, cluster.copy(staticBytes = 1e7)),
        Budget.unlimited
      ).run(GraphText.shape("(A B)", graph)).original.joins.last.own
    }
    near(cost(3).broadcast, cost(1).broadcast / 3)
    near(cost(3).total, cost(1).total - cost(1).broadcast * 2 / 3)
  }

  test("sizes and prices of random graphs: parts add up to what the search compared") {
    val facts = Seq(
      cluster.copy(splitBytes = 1e4),
      pruning.copy(tasks = 40),
      pruning.copy(preferSortMerge = false, tasks = 7),
      cluster.copy(sortMemory = SortMemory(1e4, 9))
    )
    var (slow, saved) = (0, 0)
    for (seed <- 1 to 100; f <- facts) {
      val random = new Random(seed)
      val n      = 2 + random.nextInt(6)
      val text   = "([A-Z] \\d+) bytes".r.replaceAllIn(Graphs.shared(n, random), m => s"${m.group(1)}/1e7 bytes")
      val member = "([A-Z])\\.(\\w+)".r.findAllMatchIn(text).map(m => (m.group(1), m.group(2))).toVector.distinct
      val more   = member.map { case (r, c) =>
        if (random.nextBoolean()) s"$r.$c top=${random.nextDouble() / 2}" else s"$r files $c"
      }
      val graph = GraphText((text +: more).mkString("; "))
      val costs = new PhysicalCosts(k, f)
      val sizer = new Sizer(graph, new CardinalityModel(graph))
      val plans = new PlanTable(graph.size, sizer, costs, Budget.unlimited)
      assert(new Dphyp(Hypergraph(graph), plans).run())
      (0 until plans.full.alternatives).foreach { i =>
        val tree = JoinTree.fromPlan(plans.full, i, sizer, costs)
        near(tree.cost.total, plans.full.cost(i))
        tree.joins.foreach(j => near(j.choice().ways.filter(_.method == j.method).map(_.cost).sum, j.own.total))
        if (tree.joins.exists(_.own.scan < 0)) saved += 1
        assert(tree.cost.scan >= 0.0)
      }
      if (
        new Search(
          graph,
          new PhysicalCosts(k, f.copy(tasks = 1)),
          Budget.unlimited
        ).run(GraphText.leftDeep(graph)).best.cost.total <
          new Search(graph, costs, Budget.unlimited).run(GraphText.leftDeep(graph)).best.cost.total
      ) slow += 1
    }
    assert(slow > 50 && saved > 50, s"$slow dearer for skew, $saved prune")
  }
}
