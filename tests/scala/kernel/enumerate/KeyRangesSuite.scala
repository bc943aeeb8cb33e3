package dovetail.kernel.enumerate

import dovetail.kernel.GraphText
import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator}
import dovetail.kernel.profile.RelationSample
import org.scalatest.funsuite.AnyFunSuite

/** Key ranges by which a scan can skip row groups: which relations give them, and which keys they span. */
class KeyRangesSuite extends AnyFunSuite {

  // A is joined with B by day, B with C by week
  private val text = "A 1e8; B 3650; C 1/520 bytes=20 broadcast; A.d:3650=B.d:3650; B.w:520=C.w:520"

  private def rules(graph: JoinGraph, forced: Boolean = false): ReducerRules = {
    val pairs = graph.classes.flatMap(c => c.relations.map(_ -> c.index)).toSet
    ReducerRules(pairs, pairs, graph.relations.indices.tail.toSet, _ => 1.0, 1L, forced)
  }

  private def sampled(graph: JoinGraph, r: Int, sample: RelationSample): JoinGraph =
    graph.copy(relations = graph.relations.updated(r, graph.relations(r).copy(sample = Some(sample))))

  /** Days, and weeks of seven days, of which some are kept and every n-th one is drawn. */
  private def days(graph: JoinGraph, kept: Int => Boolean, every: Int = 1): JoinGraph = {
    val (day, week) = (0, 1)
    val drawn       = (0 until 3650 by every).map(_.toLong).toArray
    val all         = RelationSample(
      every == 1,
      drawn.length,
      1.0 / every,
      Map(day -> drawn, week -> drawn.map(_ / 7L)),
      Set(day, week)
    )
    sampled(graph, 1, all.copy(kept = all.kept.filter(i => kept(drawn(i).toInt))))
  }

  private def ranges(graph: JoinGraph): Vector[(Int, Vector[Int], Double, Double)] =
    new KeyRanges(graph, rules(graph)).all.map(r => (r.reduced, r.by, r.low, r.high))

  test("a relation that is restricted by itself: its kept keys, at both ends") {
    val graph = days(GraphText(text), d => d >= 1000 && d < 1365)
    assert(ranges(graph).contains((0, Vector(1), 1000.0, 1364.0)))
  }

  test("a sample of the relation: the range reaches as far beyond the drawn rows as they are apart") {
    val graph = days(GraphText(text), d => d >= 1000 && d < 1365, every = 10)
    assert(ranges(graph).contains((0, Vector(1), 990.0, 1370.0)))
    // too few rows tell nothing
    assert(ranges(days(GraphText(text), d => d >= 1000 && d < 1035, every = 10)).isEmpty)
  }

  test("a relation that a neighbor restricts: the days of the week that is left") {
    val graph = days(GraphText(text), _ => true)
    val week  = graph.classesOf(2).head
    val weeks = RelationSample(true, 520, 1.0, Map(week -> Array.tabulate(520)(_.toLong)), Set(week))
    val one   = sampled(graph, 2, weeks.copy(kept = weeks.kept.filter(_ == 77)))
    assert(ranges(one).contains((0, Vector(1, 2), 539.0, 545.0)))
    // nothing is known of C: all days are left
    assert(ranges(graph).contains((0, Vector(1), 0.0, 3649.0)))
  }

  test("a wide range, keys that are no numbers, no rows at all") {
    val wide                  = days(GraphText(text), _ >= 900)
    val column                = wide.classes.head.members.head.column.copy(min = Some(0.0), max = Some(3649.0))
    val ended                 = wide.classes.map(c => c.copy(members = c.members.map(_.copy(column = column))))
    def ofA(graph: JoinGraph) = ranges(graph).filter(_._1 == 0)
    assert(ofA(wide).nonEmpty && ofA(wide.copy(classes = ended)).isEmpty)
    assert(ranges(days(GraphText(text), _ => false)).isEmpty)
    val graph  = days(GraphText(text), _ < 30)
    val hashed = graph.relations(1).sample.get.copy(ordered = Set.empty)
    assert(ranges(graph).nonEmpty && ranges(sampled(graph, 1, hashed)).isEmpty)
  }

  test("nothing is filtered inside a closed side of an operator, nor by it") {
    // C op (A join B): the class of A and B is inside the closed side
    val plain     = days(GraphText("A 1e8; B 3650; C 10; A.d:3650=B.d:3650; A.w:520=B.w:520"), _ < 30)
    def m(r: Int) = Member(r, plain.classes.head.members.head.column, Set(900L + r), s"x$r")
    for (kind <- Seq(JoinKind.LeftOuter, JoinKind.Anti, JoinKind.Semi, JoinKind.FullOuter)) {
      val o =
        Operator(0, kind, Vector(2), Vector(0, 1), Vector((m(2), m(0))), Vector(0, 2), 1.0, Vector(0, 2), false, "")
      assert(ranges(plain.copy(operators = Vector(o))).isEmpty, kind)
    }
  }
}
