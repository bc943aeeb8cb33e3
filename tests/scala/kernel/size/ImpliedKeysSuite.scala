package dovetail.kernel.size

import scala.util.Random

import dovetail.kernel.GraphText
import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.RelationSample
import org.scalatest.funsuite.AnyFunSuite

/** What the common range of one key implies for the other keys of its relation, by the rows of a sample. */
class ImpliedKeysSuite extends AnyFunSuite {
  private val Days  = 70000
  private val Drawn = 7000

  /** A fact (A) of 1,750 of 70,000 days, the calendar (B), and the days of a year (C) that has their weeks. */
  private def text(calendar: String, year: String) =
    s"""A 1e7; $calendar $Days; $year 364/$Days
       |A.d ndv=1750 min=35000 max=36749; $calendar.d ndv=$Days min=0 max=${Days - 1}
       |$calendar.w ndv=10000 min=0 max=9999; $year.w ndv=52 min=5100 max=5151
       |A.d=$calendar.d; $calendar.w=$year.w""".stripMargin

  /** The graph with a sample of the calendar; the week of a day by a function. */
  private def sampled(text: String, week: Long => Long, calendar: String = "B")(
      more: RelationSample => RelationSample
  ): JoinGraph = {
    val graph = GraphText(text)
    val days  = new Random(7).shuffle((0L until Days.toLong).toVector).take(Drawn).toArray
    val of    = graph.relations.find(_.name == calendar).get
    val keys  = graph.classesOf(of.index).map { c =>
      c -> (if (graph.classes(c).memberOf(of.index).get.text.endsWith(".d")) days else days.map(week))
    }.toMap
    val sample = more(RelationSample(complete = false, Drawn, Drawn.toDouble / Days, keys, keys.keySet))
    graph.copy(relations = graph.relations.map(r => if (r eq of) r.copy(sample = Some(sample)) else r))
  }

  private def rows(graph: JoinGraph): Double = new CardinalityModel(graph).estimate(Array(0, 1, 2)).value

  private val following: Long => Long = _ / 7
  // a fifth of the fact's days lie in the year, and each of them meets the seven days of its week
  private val truth = 1e7 * 364 / 1750 * 7

  test("a third table leaves of the calendar what it leaves of the days that the fact has") {
    val counted = rows(sampled(text("B", "C"), following)(identity))
    assert(counted > truth * 0.8 && counted < truth * 1.25, counted)
    assert(rows(GraphText(text("B", "C"))) < truth / 2, "formulas know nothing of it")
  }

  test("it is the same if the calendar comes after both others in the fixed order") {
    val counted = rows(sampled(text("C", "B"), following, "C")(identity))
    assert(counted > truth * 0.8 && counted < truth * 1.25, counted)
  }

  test("a year that the fact does not have leaves next to nothing") {
    val other   = text("B", "C").replace("min=5100 max=5151", "min=900 max=951")
    val counted = rows(sampled(other, following)(identity))
    assert(counted < truth / 1000, counted)
  }

  test("keys that are independent of each other keep the estimate by formulas") {
    val random = new Random(3)
    val weeks  = Array.fill(Days)(random.nextInt(10000).toLong)
    assert(rows(sampled(text("B", "C"), d => weeks(d.toInt))(identity)) == rows(GraphText(text("B", "C"))))
  }

  test("rows of a few places, rows of an older table and keys without an order tell nothing") {
    val formula = rows(GraphText(text("B", "C")))
    assert(rows(sampled(text("B", "C"), following)(_.copy(places = Vector(0, Drawn / 2)))) == formula)
    assert(rows(sampled(text("B", "C"), following)(_.copy(current = false))) == formula)
    assert(rows(sampled(text("B", "C"), following)(s => s.copy(ordered = s.ordered.take(1)))) == formula)
  }

  test("what predicates of the third table cut is independent of those of the fact") {
    // one row in a hundred of the fact by a predicate of its own: a fifth of these lies in the year, too
    val cut     = text("B", "C").replace("A 1e7;", "A 1e5/1e7;")
    val graph   = sampled(cut, following)(identity)
    val year    = graph.classes(1).memberOf(2).get.column.copy(rangeRows = Some(364.0))
    val members = graph.classes(1).members.map(m => if (m.relation == 2) m.copy(column = year) else m)
    val counted = rows(graph.copy(classes = graph.classes.updated(1, graph.classes(1).copy(members = members))))
    assert(counted > truth / 100 * 0.8 && counted < truth / 100 * 1.25, counted)
  }

  test("the estimate of a set does not depend on what was asked before") {
    val graph = sampled(text("B", "C"), following)(identity)
    val model = new CardinalityModel(graph)
    val asked = Seq(Array(0, 1), Array(1, 2), Array(0, 1, 2), Array(2, 1, 0)).map(model.estimate(_).value)
    assert(asked(2) == rows(graph) && asked(3) == asked(2))
  }
}
