package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.cost.{CardWeightCosts, ClusterFacts, CostConstants, PhysicalCosts}
import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator}
import dovetail.kernel.profile.RelationSample
import dovetail.kernel.size.CardinalityModel

/** Bloom filters as alternatives in the search: what they save, and where they are legal. */
class ReducerSuite extends AnyFunSuite {
  private val costs = new PhysicalCosts(CostConstants(), ClusterFacts(broadcastBytes = 0, tasks = 8))

  // two facts join on a key with many values; a dimension keeps a fiftieth of one of them
  private val facts =
    "A 1e8 bytes=40; B 1e7 bytes=40; D 40/2000 bytes=20 broadcast; A.k:2e6=B.k:2e6; B.d:2000=D.d:2000"

  /** Rules that allow every filter of the graph. */
  private def rules(
      graph: JoinGraph,
      forced: Boolean = false,
      most: Long = 4000000L,
      tasks: Map[Int, Double] = Map.empty
  ): ReducerRules = {
    val all = (for (c <- graph.classes; r <- c.relations) yield (r, c.index)).toSet
    ReducerRules(
      all,
      all,
      graph.relations.filter(_.broadcastable).map(_.index).toSet,
      tasks.withDefaultValue(1.0),
      most,
      forced
    )
  }

  private def search(graph: JoinGraph, rules: ReducerRules): Outcome =
    new Search(graph, costs, Budget.unlimited, costs, rules).run(GraphText.leftDeep(graph))

  private def pairs(o: Outcome): Vector[(Int, Vector[Int])] = o.best.reducers.map(r => (r.reduced, r.by))

  test("a large fact is reduced by the keys of a restricted one, and its plan costs what the search says") {
    val graph = GraphText(facts)
    val plain = search(graph, ReducerRules.none)
    val found = search(graph, rules(graph))
    assert(pairs(found).contains((0, Vector(1, 2))), found.best.reducers)
    assert(plain.best.reducers.isEmpty)
    assert(found.best.cost.total < 0.5 * plain.best.cost.total)
    // only the rows that the filter keeps are exchanged; the result has the same rows
    val reducer = found.best.reducers.find(_.reduced == 0).get
    assert(reducer.kept > 0.05 && reducer.kept < 0.4, reducer)
    assert(math.abs(found.best.rows.value - plain.best.rows.value) <= 1e-6 * plain.best.rows.value)
    val sum = found.best.joins.map(_.own.total).sum +
      found.best.reducers.flatMap(r => costs.filter(r.work)).sum
    assert(math.abs(sum - found.best.cost.total) <= 1e-9 * sum)
  }

  test("no filter where it costs more than it saves: few rows, keys that all have partners, or more keys than fit") {
    for {
      text <- Seq(
        facts.replace("1e8", "1e5").replace("1e7", "1e4"),
        facts.replace("40/2000", "2000")
      )
      graph = GraphText(text)
    } assert(pairs(search(graph, rules(graph))).isEmpty, text)
    val graph = GraphText(facts)
    assert(!pairs(search(graph, rules(graph, most = 1000L))).exists(_._1 == 0))
    // thousands of tasks would make a filter each, which one task had to merge
    assert(!pairs(search(graph, rules(graph, tasks = Map(1 -> 3000.0)))).exists(_._2.head == 1))
  }

  test("a fact is reduced by a dimension that another one restricts, where joining both would multiply its rows") {
    // D restricts B by day and C by week; A reaches D only through C, and would meet 70 rows of each week there
    val graph = GraphText(
      "A 1e8 bytes=40; B 1e6/1e7 bytes=40; C 70000 bytes=20 broadcast; D 3650/70000 bytes=20 broadcast; " +
        "A.k:2e5=B.k:2e5; A.c:70000=C.c:70000; C.w:10000=D.w:53; B.d:70000=D.d:70000"
    )
    val found = search(graph, rules(graph))
    assert(found.best.reducers.exists(r => r.by.contains(3) && (r.reduced == 2 || r.reduced == 0)), found.best.reducers)
    assert(found.best.cost.total < search(graph, ReducerRules.none).best.cost.total)
  }

  // D is joined with A by day and with C by week; C is one of ten years; B is restricted by E
  private val weeks =
    "A 1e8 bytes=40; B 1e7 bytes=40; C 365/3650 bytes=20 broadcast; D 3650 bytes=20 broadcast; " +
      "E 5/50 bytes=20 broadcast; A.i:1e5=B.i:1e5; A.d:3650=D.d:3650; B.c:3650=C.c:3650; C.w:520=D.w:520; B.e:50=E.e:50"

  private def reducer(graph: JoinGraph, reduced: Int, by: Set[Int]): Reducer =
    new ReducerCandidates(graph, rules(graph)).all(inTime = true).find(r =>
      r.reduced == reduced && r.by.toSet == by
    ).get

  test("where the order is not searched exactly, it is searched again with the filters that need another order") {
    // the same with more dimensions, of which the exact search would take more pairs than it may
    val more  = (1 to 4).map(i => s"E$i 1000 bytes=20 broadcast").mkString("; ")
    val edges = (1 to 4).map(i => s"A.e$i:1000=E$i.e$i:1000").mkString("; ")
    val graph = GraphText(
      "A 1e8 bytes=40; B 1e6/1e7 bytes=40; C 70000 bytes=20 broadcast; D 3650/70000 bytes=20 broadcast; " +
        s"$more; A.k:2e5=B.k:2e5; A.c:70000=C.c:70000; C.w:10000=D.w:53; B.d:70000=D.d:70000; $edges"
    )
    def found(budget: Budget) = new Search(graph, costs, budget, costs, rules(graph)).run(GraphText.leftDeep(graph))
    val (exact, linear)       = (found(Budget.unlimited), found(Budget(4L * LinearizedDp.pairs(graph.size), 60000L)))
    assert(exact.algorithm == "dphyp" && linear.algorithm != "dphyp", linear.algorithm)
    assert(linear.best.reducers.nonEmpty && linear.best.cost.total < 1.05 * exact.best.cost.total)
  }

  test("an order that somebody else chose stays, and gets the filters that pay off in it") {
    val graph = GraphText(facts)
    for (text <- Seq("((A B) D)", "((A D) B)", "(A (B D))")) {
      val order  = GraphText.shape(text, graph)
      val search = new Search(graph, costs, Budget.unlimited, costs, rules(graph))
      val priced = search.priced(order, GraphText.leftDeep(graph)).get
      assert(priced.best.shape.sameJoins(order), text)
      assert(priced.best.reducers.nonEmpty || text != "((A B) D)")
    }
  }

  test("a key of several columns of several relations; what only restricts them is tested by a semi join") {
    val graph             = GraphText(weeks)
    def className(c: Int) = graph.classes(c).members.head.text
    val found             = reducer(graph, 0, Set(1, 2, 3, 4))
    assert(found.by.head == 1)
    assert(found.keys.map { case (c, r) => (className(c).last, r) } == Vector(('i', 1), ('d', 3)))
    // C connects B with D
    assert(found.tested == Set(4))
    assert(pairs(search(graph, rules(graph))).exists(_._1 == 0))
  }

  test("a row with many partners in the source is one key: a year of days, each joined with the days of its week") {
    val graph = GraphText(weeks)
    val week  = graph.classesOf(2).find(graph.classesOf(3).contains).get
    val drawn = 146
    // two fifths of the days of 53 weeks
    val sample  = RelationSample(false, drawn, 0.4, Map(week -> Array.tabulate(drawn)(i => i * 53L / drawn)), Set(week))
    val sampled = graph.copy(relations = graph.relations.updated(2, graph.relations(2).copy(sample = Some(sample))))
    val day     = graph.classesOf(0).find(graph.classesOf(3).contains).get
    def size(g: JoinGraph) = new ReducerSize(g, 0, Vector(3, 2), Vector((day, 3)))
    assert(size(sampled).keyRows > 2000.0)
    assert(math.abs(size(sampled).keys / 371.0 - 1.0) < 0.2, size(sampled).keys)
    assert(math.abs(size(sampled).kept / 0.1 - 1.0) < 0.2, size(sampled).kept)
    // without a sample, the days of a year seem to have nearly as many weeks as days
    assert(size(graph).kept > 0.4)
  }

  test("a source with all keys keeps all rows, whether the key has one column or two") {
    val graph = GraphText("A 1e8; B 10000; C 10000; A.x:10000=B.x:10000; A.y:1e6=C.y:5000; A.z:2=C.z:2")
    assert(new ReducerSize(graph, 0, Vector(1), Vector((0, 1))).kept == 1.0)
    val two = new ReducerSize(graph, 0, Vector(2), Vector((1, 2), (2, 2)))
    // 5,000 values of y, each with one or two of z
    assert(two.keys > 5000.0 && two.keys < 10000.0, two.keys)
  }

  test("many relations: a bounded number of sources, and none once the time is up") {
    // a fact with sixty dimensions, each of which restricts it, and a larger fact with the same keys
    val dimensions = (0 until 60).map(i => s"${GraphText.name(i + 2)} 50/1000 bytes=20 broadcast").mkString("; ")
    val joins      =
      (0 until 60).map(i => s"A.x$i:1000=B.x$i:1000; B.x$i=${GraphText.name(i + 2)}.x$i:1000").mkString("; ")
    val graph = GraphText(s"A 1e9 bytes=40; B 1e7 bytes=40; $dimensions; $joins")
    val found = new ReducerCandidates(graph, rules(graph)).all(inTime = true)
    assert(found.map(_.by.size).max == 8)
    assert(new ReducerCandidates(graph, rules(graph)).all(inTime = false).isEmpty)
  }

  test("sets between a reduced relation and the source of its keys have fewer rows, others the same") {
    val graph                     = GraphText(facts)
    val reducer                   = search(graph, rules(graph)).best.reducers.find(_.reduced == 0).get
    val model                     = new CardinalityModel(graph)
    val plain                     = new Sizer(graph, model)
    val fewer                     = plain.reducing(Vector(reducer))
    def rows(s: Sizer, set: Int*) = if (set.size == 1) s.leaf(set.head, costs).rows else s.join(set.toArray).rows
    assert(rows(fewer, 0) == rows(plain, 0) * reducer.kept)
    for (set <- Seq(Seq(1), Seq(0, 1), Seq(1, 2), Seq(0, 1, 2)))
      assert(rows(fewer, set: _*) == rows(plain, set: _*), set)
    assert(fewer.estimate(Array(0)).value == plain.estimate(Array(0)).value * reducer.kept)
    assert(fewer.estimate(Array(0, 1)) == plain.estimate(Array(0, 1)))
  }

  test("nothing is reduced beside an operator that closes a side") {
    val plain     = GraphText("A 1e8; B 1e7; C 10/1e5; B.k:1e6=C.k:1e6")
    def m(r: Int) = Member(r, plain.classes.head.members.head.column, Set(900L + r), s"x$r")
    for (kind <- Seq(JoinKind.LeftOuter, JoinKind.Anti, JoinKind.Semi, JoinKind.FullOuter)) {
      // A op (B join C): the class of B and C is inside the closed side
      val o =
        Operator(0, kind, Vector(0), Vector(1, 2), Vector((m(0), m(1))), Vector(0, 1), 1.0, Vector(0, 1), false, "")
      val graph = plain.copy(operators = Vector(o))
      assert(new ReducerCandidates(graph, rules(graph, forced = true)).all(inTime = true).isEmpty, kind)
    }
  }

  test("no filter makes a plan dearer, and the plans with filters are found again in any run") {
    // expensive exchanges, so that filters pay off in graphs of few rows
    val costs =
      new PhysicalCosts(CostConstants(exchangeRow = 3e6, exchangeByte = 4e4), ClusterFacts(broadcastBytes = 0))
    val random                                        = new Random(17)
    def search(graph: JoinGraph, rules: ReducerRules) =
      new Search(graph, costs, Budget.unlimited, costs, rules).run(GraphText.leftDeep(graph))
    val found = (0 until 60).map { i =>
      val n       = 3 + i % 5
      val graph   = GraphText(Graphs.sized(n, Graphs.connected(n, i % 2, random), random))
      val allowed = rules(graph)
      val (a, b)  = (search(graph, allowed), search(graph, allowed))
      assert(a == b)
      assert(a.best.cost.total <= search(graph, ReducerRules.none).best.cost.total * (1.0 + 1e-9))
      assert(a.best.reducers.forall(r => r.kept >= 0.0 && r.kept <= 1.0 && r.items >= 1L && !r.by.contains(r.reduced)))
      a.best.reducers.size
    }
    info(s"${found.count(_ > 0)} of ${found.size} plans have filters")
    assert(found.exists(_ > 0))
  }

  test("forced, all of them are used; where the model knows no filters, none is") {
    val graph = GraphText(facts)
    assert(search(graph, rules(graph, forced = true)).best.reducers.map(r => (r.reduced, r.classes)).toSet ==
      Set((0, Vector(0)), (1, Vector(0)), (1, Vector(1)), (2, Vector(1))))
    val weights = new CardWeightCosts(0.7)
    val found   = new Search(graph, weights, Budget.unlimited, weights, rules(graph)).run(GraphText.leftDeep(graph))
    assert(found.best.reducers.isEmpty)
  }
}
