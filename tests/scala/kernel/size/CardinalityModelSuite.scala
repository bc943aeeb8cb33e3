package dovetail.kernel.size

import scala.util.Random

import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.{Graphs, GraphText}
import dovetail.kernel.profile.{Assumptions, Estimate, Source}

/** Rows of sub-joins. The expected values are written as formulas. */
class CardinalityModelSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-6)

  private def estimate(graph: JoinGraph, names: String): Estimate =
    new CardinalityModel(graph).estimate(names.split(" ").map(n => graph.relations.indexWhere(_.name == n)))

  private def rows(text: String, names: String): Double = estimate(GraphText(text), names).value

  test("one equality: rows * rows / the larger domain (Selinger et al. 1979)") {
    assert(rows("A 1000; B 500; A.x:100=B.y:50", "A B") === 1000.0 * 500 / 100)
    assert(rows("A 1000; B 500; A.x:20=B.y:50", "A B") === 1000.0 * 500 / 50)
  }

  test("a foreign key finds its key: rows of the foreign side") {
    assert(rows("F 1000000; D 1000; F.d:1000=D.id:1000", "F D") === 1000000.0)
    assert(rows("F 1000000; D 1000; F.d:900=D.id:1000", "F D") === 1000000.0)
  }

  test("a cross product is the product, and single relations are themselves") {
    assert(rows("A 1000; B 500; C 3; A.x:10=B.x:10", "A C") === 1000.0 * 3)
    assert(rows("A 1000; B 500", "A") === 1000.0)
    assert(rows("A 0; B 500; A.x:10=B.x:10", "A") === 0.0)
  }

  test("no join is estimated at less than one row, nor above the ceiling") {
    assert(rows("A 10; B 10; A.x:1000=B.x:1000", "A B") === 1.0)
    assert(rows("A 1e20; B 1e20", "A B") === Estimate.Ceiling)
  }

  test("hundreds of relations: the product neither overflows before its shares nor vanishes") {
    // 150 facts of a million rows; each one's dimension keeps one row in a million, so the million rows of A remain
    def name(i: Int, c: Char) = s"$c$i"
    val n                     = 150
    val facts                 =
      (1 to n).map(i =>
        s"${name(i, 'F')} 1e6; ${name(i, 'D')} 1; ${name(i, 'F')}.d:1000000=${name(i, 'D')}.d; ${name(i, 'D')}.d " +
          "ndv=1 domain=1000000"
      )
    val text = ("A 1e6" +: facts).mkString("; ")
    val all  = ("A" +: (1 to n).flatMap(i => Seq(name(i, 'F'), name(i, 'D')))).mkString(" ")
    assert(rows(text, all) === 1e6)
    assert(rows(
      (1 to n).map(i => s"F$i 1e6").mkString("; "),
      (1 to n).map(i => s"F$i").mkString(" ")
    ) === Estimate.Ceiling)
    val star = (1 to n).map(i => s"D$i 1; F.d$i:1000000=D$i.d:1; D$i.d domain=1000000").mkString("; ")
    assert(rows(s"F 1e6; $star", ("F" +: (1 to n).map(i => s"D$i")).mkString(" ")) === 1.0)
  }

  test("a=b, b=c is one class: a=c adds nothing, and a and c join without b") {

    for (
      text <-
        Seq("A.x:1000=B.x:500; B.x=C.x:200", "A.x:1000=B.x:500; B.x=C.x:200; A.x=C.x", "A.x:1000=C.x:200; B.x:500=C.x")
    )
      assert(rows(s"A 1000; B 500; C 40; $text", "A B C") === 1000.0 * 500 * 40 * 200 / (1000.0 * 500 * 200), text)
    assert(rows("A 1000; B 500; C 40; A.x:1000=B.x:500; B.x=C.x:200", "A C") === 1000.0 * 40 / 1000)

  }

  test("two classes to different relations are independent: a star multiplies its shares") {
    val star = "F 1000000; D 10/1000; E 20/500; F.d:1000=D.id:1000; F.e:500=E.id:500; D.id domain=1000; E.id domain=500"
    assert(rows(star, "F D E") === 1000000.0 * 10 / 1000 * 20 / 500)
  }

  test("filters on either side count once: the domain stays where the NDV shrinks") {
    // A filter keeps 10 of the dimension's 1000 keys, or 10,000 of the fact's 100,000 rows with 950 of their keys, or
    // both.
    assert(rows("F 100000; D 10/1000; F.d:1000=D.id; D.id ndv=10 domain=1000", "F D") === 100000.0 * 10 / 1000)
    assert(rows("F 10000/100000; D 1000; F.d ndv=950 domain=1000; F.d=D.id:1000", "F D") === 10000.0 * 1000 / 1000)
    assert(rows(
      "F 10000/100000; D 10/1000; F.d ndv=950 domain=1000; D.id ndv=10 domain=1000; F.d=D.id",
      "F D"
    ) === 10000.0 * 10 / 1000)
  }

  test("a composite key between two facts gives about the smaller fact, not one row") {
    val facts =
      "S 2880000; R 288000; S.item:18000=R.item:18000; S.ticket:240000=R.ticket:170000; S.cust:100000=R.cust:90000"
    assert(
      Assumptions.jointNdv(Seq(18000.0, 240000.0, 100000.0)) > 2880000,
      "the joint NDV alone is more than S has rows"
    )
    assert(rows(facts, "S R") === 2880000.0 * 288000 / 2880000)
  }

  test("the cap of a composite key is the rows before predicates") {
    val filtered =
      "S 28800/2880000; R 288/288000; S.item:18000=R.item:18000; S.ticket:240000=R.ticket:170000; " +
        "S.cust:100000=R.cust:90000"
    assert(rows(filtered, "S R") === 28800.0 * 288 / 2880000)
  }

  test("two classes between two relations: joint NDV by back-off where the table does not cap it") {
    assert(rows(
      "A 1e6; B 1e6; A.x:100=B.x:100; A.y:50=B.y:50",
      "A B"
    ) === 1e12 / Assumptions.jointNdv(Seq(100.0, 50.0)))
    assert(rows("A 1e6; B 1e6; A.x:100=B.x:10; A.y:5=B.y:50", "A B") === 1e12 / Assumptions.jointNdv(Seq(100.0, 5.0)))
  }

  test("a composite key whose distinct values were counted: that number, in place of back-off") {
    val graph = GraphText("A 100000; B 5000; A.x:1000=B.x:500; A.y:100=B.y:100")
    def counted(relation: Int, ndv: Double): JoinGraph = {
      val columns = graph.classes.flatMap(_.members.filter(_.relation == relation).flatMap(_.columns)).toSet
      graph.copy(relations =
        graph.relations.map(r =>
          if (r.index == relation) r.copy(profile = r.profile.copy(groups = Map(columns -> ndv))) else r
        )
      )
    }
    assert(new CardinalityModel(counted(0, 20000.0)).estimate(Array(0, 1)).value === 100000.0 * 5000 / 20000)
    // no more than the single domains allow
    assert(new CardinalityModel(counted(0, 1e9)).estimate(Array(0, 1)).value === 100000.0 * 5000 / (1000 * 100))
  }

  test("a composite key beside a third relation: the bundle and the single class multiply") {
    val text = "A 1e6; B 1e5; C 1e3; A.x:100=B.x:100; A.y:50=B.y:50; B.z:1000=C.z:1000"
    assert(rows(text, "A B C") === 1e11 / Assumptions.jointNdv(Seq(100.0, 50.0)) * 1e3 / 1e3)
  }

  test("unknown domains: the class's known one, else the smallest member's rows") {
    assert(rows("A 1000; B 500; A.x=B.y", "A B") === 1000.0 * 500 / 500)
    assert(rows("A 1000; B 5/500; A.x=B.y", "A B") === 1000.0 * 5 / 500)
    assert(rows("A 1000; B 500; A.x:50=B.y", "A B") === 1000.0 * 500 / 50)
    // no more values than rows
    assert(rows("A 1000; B 500; C 20; A.x:800=B.y=C.z", "B C") === 500.0 * 20 / 500)
  }

  test("unknown domains where a table meets itself: the column is no key") {
    def twice(origins: String*) = {
      val graph   = GraphText("A 1000; B 5000; A.x=B.y")
      val classes = graph.classes.map(c =>
        c.copy(members = c.members.zip(origins).map { case (m, o) => m.copy(column = m.column.copy(origin = Some(o))) })
      )
      new CardinalityModel(graph.copy(classes = classes)).estimate(Array(0, 1)).value
    }
    assert(twice("t x", "t x") === 1000.0 * 5000 / Assumptions.AttributeNdv)
    assert(twice("t x", "u x") === 5000.0)
    assert(twice("t x", "t y") === 5000.0)
  }

  test("only the common range of both sides counts: its values, and the rows that lie in it") {
    val ranges = "A.d:1000=B.d:100; A.d min=0 max=1000; B.d min=0 max=100"
    // a tenth of A's range, of A's 1000 values and of A's rows
    assert(rows(s"A 100000; B 500; $ranges", "A B") === 100000.0 / 10 * 500 / (1000 / 10))
    assert(rows(s"A 500; B 100000; $ranges", "A B") === 500.0 / 10 * 100000 / (1000 / 10))
    // predicates keep a twentieth of A; these rows are assumed to lie in the range, which holds a tenth
    assert(rows(s"A 5000/100000; B 500; $ranges", "A B") === 5000.0 * 500 / (1000 / 10))
    // predicates keep a fifth of A; only as many rows count as the range holds
    assert(rows(s"A 20000/100000; B 500; $ranges", "A B") === 100000.0 / 10 * 500 / (1000 / 10))
    assert(rows("A 1000; B 500; A.d:100=B.d:100; A.d min=0 max=99; B.d min=200 max=300", "A B") === 1.0)
    // a common range of one value holds one of A's ten
    assert(rows("A 1000; B 500; A.d:10=B.d:1; A.d min=0 max=1000; B.d min=5 max=5", "A B") === 1000.0 / 10 * 500)
    assert(rows("A 1000; B 500; A.d:100=B.d:50; A.d min=0 max=99", "A B") === 1000.0 * 500 / 100)
    assert(rows("A 1000; B 500; A.d:100=B.d:100; A.d min=0 max=99; B.d min=0 max=99", "A B") === 1000.0 * 500 / 100)
  }

  test("a range that restricts one key of a relation restricts its other keys, between not at all and as much") {
    // the fact has five of two hundred years of days; W joins D by week
    val text =
      "F 1000000; D 73000; W 73000; F.d:1825=D.d:73000; F.d min=0 max=1825; D.d min=0 max=73000; D.w:10400=W.w:10400"
    val years       = 1825.0 / 73000
    val weeks       = math.sqrt(years * Assumptions.distinctAfter(10400, 73000, 1825) / 10400)
    val factAndDays = 1000000.0 * (73000 * years) / 1825
    assert(rows(text, "F D") === factAndDays)
    // W's rows of these weeks; each week has 73000 / 10400 rows
    assert(rows(text, "F D W") === factAndDays * (73000 * weeks) / (10400 * weeks))
    assert(rows(text, "D W") === 73000.0 * 73000 / 10400)
    // predicates keep one day in seven of W; these rows are assumed to lie in these weeks, as far as the weeks have so
    // many
    val filtered = text.replace("W 73000;", "W 10400/73000;")
    assert(rows(filtered, "F D W") === factAndDays * math.min(10400.0, 73000 * weeks) / (10400 * weeks))
  }

  test("cautious rows: filters count for nothing, keys add nothing, keys that repeat on both sides all pairs") {
    def cautious(text: String): Double = {
      val graph = GraphText(text)
      val model = new CardinalityModel(graph)
      model.sizeOf(graph.relations.indices.toArray, graph.size).cautious
    }
    assert(cautious("F 10/100000 upper=100000; D 10/1000 upper=1000; F.d:1000=D.id:1000") === 100000.0)
    // half of the rows on both sides may have one value
    assert(cautious("A 1000; B 500; A.x:100=B.y:50") === 1000.0 * 500)
    assert(cautious("A 1000; B 500; A.x:100=B.y:50; A.z:1000=B.z:5") === 1000.0 * 100, "a key: partners on average")
    assert(cautious("A 1000; B 500; A.x:100=B.y") === 1000.0 * 500)
    assert(cautious("A 1000; B 500; A~B 0.001") === 1000.0 * 500)
    assert(cautious("A 1e20; B 1e20") === Estimate.Ceiling)
    // two large dimensions of a smaller table: not all pairs of their rows count, in any order of the tables
    assert(cautious("D 5000; E 4000; F 1000; F.d:900=D.id:5000; F.e:800=E.id:4000") === 5000.0)
    // all rows of the large tables may belong to the few rows of A
    assert(cautious("A 10 upper=10; B 5000; C 5000; A.x:10=B.y:100; A.z:10=C.id:5000") === 5000.0)
    assert(cautious("A 10/10000 upper=10; B 5000; A.id:10000=B.y:100") === 5000.0, "of a table that is larger, too")
  }

  test("NULLs join nothing: each member's share of values counts once") {
    val text = "A 1000; B 500; C 200; A.x ndv=100 nulls=0.2; B.x ndv=50 nulls=0.1; C.x ndv=50 nulls=0.5; A.x=B.x=C.x"
    assert(rows(text, "A B") === 1000.0 * 500 / 100 * 0.8 * 0.9)
    assert(rows(text, "A B C") === 1000.0 * 500 * 200 / (100 * 50) * 0.8 * 0.9 * 0.5)
  }

  test("a predicate over two relations counts when both are there; several at one relation by back-off") {
    assert(rows("A 1000; B 500; A~B 0.3", "A B") === 1000.0 * 500 * 0.3)
    assert(rows("A 1000; B 500; A.x:100=B.x:100; A~B 0.3", "A B") === 1000.0 * 500 / 100 * 0.3)
    assert(rows("A 1000; B 500; A~B 0.3; A~B 0.1", "A B") === 1000.0 * 500 * Assumptions.conjunction(Seq(0.1, 0.3)))
    assert(rows("A 1000; B 500; C 10; A~B 0.3", "A C") === 1000.0 * 10)
  }

  test("a predicate over three relations counts when the last of them is there") {
    val text = "A 1000; B 500; C 10; A~B~C 0.2"
    assert(rows(text, "A B") === 1000.0 * 500)
    assert(rows(text, "B C") === 500.0 * 10)
    assert(rows(text, "A B C") === 1000.0 * 500 * 10 * 0.2)
    assert(rows("A 1000; B 500; C 10; A+B=C 0.01", "A B C") === 1000.0 * 500 * 10 * 0.01)
  }

  test("a certain key bounds the rows from above, in the estimate and in the search's number") {
    // G is an aggregate by (x, y): 90,000 groups by estimate, with badly underestimated domains
    val text  = "F 100000; G 90000; G key x,y; F.x:10=G.x:10; F.y:10=G.y:10"
    val graph = GraphText(text)
    val e     = estimate(graph, "F G")
    assert(100000.0 * 90000 / Assumptions.jointNdv(Seq(10.0, 10.0)) > 100000, "what the formula alone would say")
    assert(e.upper === 100000.0)
    assert(e.value === 100000.0)
    assert(new CardinalityModel(graph).sizeOf(Array(0, 1), 2).rows === 100000.0)
    val unkeyed = estimate(GraphText(text.replace("G key x,y;", "")), "F G")
    assert(unkeyed.upper === 100000.0 * 90000)
  }

  test("a key is bound only when all its columns are") {
    val e = estimate(GraphText("F 100000; G 90000; G key x,y; F.x:10=G.x:10; G.y ndv=10"), "F G")
    assert(e.upper === 100000.0 * 90000)
    val overTwo = GraphText("F 100000; H 5; G 1000; G key x,y; F.x:10=G.x:10; H.y:5=G.y:10")
    // G (1000 rows) comes before H (5), so only F's class is bound then
    assert(estimate(overTwo, "F G H").upper === 100000.0 * 1000 * 5)
  }

  test("the upper bound multiplies the inputs' upper bounds") {
    assert(estimate(GraphText("A 100 upper=1000; B 50 upper=70; A.x:10=B.x:10"), "A B").upper === 1000.0 * 70)
  }

  test("the weakest source names the join") {
    val graph  = GraphText("A 100; B 50; A.x:10=B.x:10")
    val weaker = graph.copy(relations =
      graph.relations.map(r =>
        if (r.index == 1) r.copy(profile = r.profile.copy(rows = r.profile.rows.copy(source = Source.Size))) else r
      )
    )
    assert(estimate(graph, "A B").source == Source.Catalog)
    assert(estimate(weaker, "A B").source == Source.Size)
  }

  /** A random graph with composite keys, shared classes, predicates, filters, unknowns, NULLs and keys. */
  private def anything(seed: Int): JoinGraph = {
    val random           = new Random(seed)
    def oneOf(p: Double) = random.nextDouble() < p
    val n                = 2 + random.nextInt(7)
    val names            = (0 until n).map(GraphText.name)
    val relations        = names.map { a =>
      val base = Graphs.magnitude(7, random)
      val kept = if (oneOf(0.5)) base else math.max(1L, (base * random.nextDouble()).toLong)
      s"$a $kept/$base upper=${if (oneOf(0.5)) kept else base * 10}"
    }
    val edges                  = Graphs.connected(n, random.nextInt(2 * n), random)
    def column(a: Int, c: Int) = s"${names(a)}.c$c${if (oneOf(0.7)) s":${Graphs.magnitude(6, random)}" else ""}"
    val equalities = edges.map { case (a, b) => s"${column(a, random.nextInt(3))}=${column(b, random.nextInt(3))}" }
    val predicates = Vector.fill(
      random.nextInt(3)
    )(random.shuffle(names).take(2 + random.nextInt(n - 1)).mkString("~") + s" ${random.nextDouble()}")
    val ranges = for (a <- names; c <- 0 to 2 if oneOf(0.3))
      yield { val low = random.nextInt(100); s"$a.c$c min=$low max=${low + random.nextInt(100)}" }
    val nulls = names.filter(_ => oneOf(0.3)).map(a => s"$a.c1 nulls=${random.nextDouble()}")
    val keys  = names.filter(_ => oneOf(0.3)).map(a => s"$a key c${random.nextInt(3)}")
    GraphText((relations ++ ranges ++ nulls ++ keys ++ equalities ++ predicates).mkString("; "))
  }

  test(
    "the estimate is a function of the set: any order, any model, whatever was asked before; and is within its bounds"
  ) {
    for (seed <- 1 to 400) {
      val graph  = anything(seed)
      val used   = new CardinalityModel(graph)
      val random = new Random(seed)
      for (_ <- 1 to 5) {
        val set      = random.shuffle(graph.relations.indices.toVector).take(1 + random.nextInt(graph.size))
        val fresh    = new CardinalityModel(graph).estimate(set.sorted.toArray)
        val shuffled = used.estimate(set.toArray)
        assert(shuffled == fresh, s"seed $seed: $set")
        assert(0.0 <= fresh.lower && fresh.lower <= fresh.value && fresh.value <= fresh.upper, s"seed $seed: $fresh")
        if (set.size > 1) assert(used.sizeOf(set.toArray, set.size).rows == fresh.value, s"seed $seed: $set")
        assert(
          fresh.upper <= set.map(graph.relations(_).profile.rows.upper).map(math.max(_, 1.0)).product * (1 + 1e-9),
          s"seed $seed: $set"
        )
      }
    }
  }

  test("a predicate never raises the estimate") {
    for (seed <- 1 to 300) {
      val graph = anything(seed)
      val fewer = graph.copy(predicates = Vector.empty)
      val all   = graph.relations.indices.toArray
      if (graph.predicates.nonEmpty)
        assert(
          new CardinalityModel(
            graph
          ).estimate(all).value <= new CardinalityModel(fewer).estimate(all).value * (1 + 1e-9),
          s"seed $seed"
        )
    }
  }
}
