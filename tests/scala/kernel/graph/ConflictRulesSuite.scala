package dovetail.kernel.graph

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.Bags._
import dovetail.kernel.enumerate.LegalTrees
import dovetail.kernel.{GraphText, PlanGraph, RandomPlans, Scan, WrittenJoin, WrittenPlan}

/** Examples of the joins that are legal along edges. A, B, C, D are relations 0 to 3, `a.x` is column 0 of A. */
class ConflictRulesSuite extends AnyFunSuite {
  import JoinKind._

  private val (a, b, c, d)                           = (Scan(0), Scan(1), Scan(2), Scan(3))
  private def x(s: Scan)                             = Column(s.relation, 0)
  private def equal(l: Scan, r: Scan): Condition     = Equal(x(l), x(r))
  private def accepting(l: Scan, r: Scan): Condition = NullSafeEqual(x(l), x(r))

  private def join(kind: JoinKind, operator: Int, l: WrittenPlan, r: WrittenPlan, on: Condition*) =
    WrittenJoin(kind, operator, l, r, on.toVector, Vector.empty)
  private def inner(l: WrittenPlan, r: WrittenPlan, on: Condition*) = join(Inner, -1, l, r, on: _*)
  private def where(j: WrittenJoin, filter: Condition)              = j.copy(filters = Vector(filter))
  private def graph(w: WrittenPlan): JoinGraph                      = new PlanGraph(w, new Random(1)).graph
  private def legal(w: WrittenPlan): Set[String]                    =
    new LegalTrees(graph(w), crossed = false).all.map(_.render(GraphText.name)).toSet
  private def allows(w: WrittenPlan, trees: String*): Unit = {
    val found = legal(w); assert(found == trees.toSet, w); ()
  }

  test("a left outer join and an inner join of its left side: either first; of its right side: as written") {
    allows(inner(join(LeftOuter, 0, a, b, equal(a, b)), c, equal(a, c)), "((A B) C)", "((A C) B)")
    allows(join(LeftOuter, 0, inner(a, b, equal(a, b)), c, equal(a, c)), "((A B) C)", "((A C) B)")
    allows(join(LeftOuter, 0, a, inner(b, c, equal(b, c)), equal(a, b)), "(A (B C))")
    allows(inner(join(LeftOuter, 0, a, b, equal(a, b)), c, equal(b, c)), "((A B) C)")
  }

  test("a cross product of the right side is part of it, though the condition reads one half only") {
    allows(join(LeftOuter, 0, a, inner(b, c), equal(a, b)), "(A (B C))")
    allows(join(Semi, 0, a, inner(b, c), equal(a, b)), "(A (B C))")
    allows(join(FullOuter, 0, inner(a, b), c, equal(a, c)), "((A B) C)")
  }

  test("left outer joins one after the other: by the second's NULL rejection") {
    allows(join(LeftOuter, 1, join(LeftOuter, 0, a, b, equal(a, b)), c, equal(b, c)), "((A B) C)", "(A (B C))")
    allows(join(LeftOuter, 1, join(LeftOuter, 0, a, b, equal(a, b)), c, accepting(b, c)), "((A B) C)")
    allows(join(LeftOuter, 1, a, join(LeftOuter, 0, b, c, equal(b, c)), equal(a, b)), "((A B) C)", "(A (B C))")
    allows(join(LeftOuter, 1, a, join(LeftOuter, 0, b, c, accepting(b, c)), equal(a, b)), "(A (B C))")
  }

  test("left outer, semi, anti and existence joins of one relation: in any order") {
    val kinds = Vector(LeftOuter, Semi, Anti, Existence)
    for (f <- kinds; g <- kinds)
      allows(join(g, 1, join(f, 0, a, b, accepting(a, b)), c, accepting(a, c)), "((A B) C)", "((A C) B)")
  }

  test("a semi join of one input of an inner join: before or after; its right side is not to be had without it") {
    for (kind <- Vector(Semi, Anti, Existence))
      allows(join(kind, 0, inner(a, b, equal(a, b)), c, equal(a, c)), "((A B) C)", "((A C) B)")
  }

  test("full outer joins: among themselves by NULL rejection, with inner joins never") {
    allows(inner(join(FullOuter, 0, a, b, equal(a, b)), c, equal(a, c)), "((A B) C)")
    allows(join(FullOuter, 1, join(FullOuter, 0, a, b, equal(a, b)), c, equal(b, c)), "((A B) C)", "(A (B C))")
    allows(join(FullOuter, 1, join(FullOuter, 0, a, b, equal(a, b)), c, accepting(b, c)), "((A B) C)")
    // the inner join on the right side comes first, although the other full outer join reads only one of its relations
    allows(
      join(FullOuter, 1, join(FullOuter, 0, a, inner(b, c, equal(b, c)), equal(a, b)), d, equal(b, d)),
      "((A (B C)) D)",
      "(A ((B C) D))"
    )
  }

  test("a filter on the null-supplied side waits for the operator, and lets the others pass") {
    val w = where(inner(join(LeftOuter, 0, a, b, equal(a, b)), c, equal(a, c)), IsNull(x(b)))
    allows(w, "((A B) C)", "((A C) B)")
    val g = graph(w)
    assert(g.joinable.predicatesAt(Vector(0), Vector(1)).map(_.relations) == Vector(Vector(1)))
    assert(g.joinable.predicatesAt(Vector(0), Vector(2)).isEmpty)
    assert(g.joinable.predicatesAt(Vector(0, 2), Vector(1)).map(_.relations) == Vector(Vector(1)))
    // inside a null-supplied side, the filter is part of that side
    allows(join(LeftOuter, 1, a, where(join(LeftOuter, 0, b, c, equal(b, c)), IsNull(x(c))), equal(a, b)), "(A (B C))")
  }

  test("a predicate that reads the flag of an existence join waits for it") {
    val exists = Column(flag(0), 0)
    allows(inner(join(Existence, 0, a, b, equal(a, b)), c, Equal(exists, x(c))), "((A B) C)")
    allows(
      where(inner(join(Existence, 0, a, b, equal(a, b)), c, equal(a, c)), AtMost(Vector(exists), 0)),
      "((A B) C)",
      "((A C) B)"
    )
  }

  test("an implied equality joins where its class is of one level") {
    // a.x = b.x and a.x = d.x, with a left outer join between them
    val w = inner(join(LeftOuter, 0, inner(a, b, equal(a, b)), c, equal(a, c)), d, equal(a, d))
    assert(graph(w).classes.map(_.relations) == Vector(Vector(0, 1, 3)))
    assert(legal(w).exists(_.contains("(B D)")))
    // Relations 0, 1, 2: the left outer join's equality of 0 and 1 holds only for rows with a partner, so it makes no
    // class. The inner join's equality of 1 and 2 stays a predicate, as written.
    val above = inner(join(LeftOuter, 0, a, c.copy(relation = 1), equal(a, b)), Scan(2), equal(b, c))
    assert(graph(above).classes.isEmpty && graph(above).predicates.map(_.relations) == Vector(Vector(1, 2)))
  }

  test("levels: closed sides, innermost first") {
    val levels =
      graph(join(FullOuter, 1, join(LeftOuter, 0, a, b, equal(a, b)), inner(c, d, equal(c, d)), equal(a, c))).levels
    assert(levels.levelOf(0) == Levels.left(1) && levels.levelOf(1) == Levels.right(0) && levels.levelOf(
      2
    ) == Levels.right(1))
    assert(levels.levelOf(Vector(0, 1)) == Levels.left(1) && levels.levelOf(Vector(0, 2)) == Levels.Top)
    assert(levels.pure(Vector(2, 3), Vector(2, 3)) && !levels.pure(Vector(2, 3), Vector(0, 1, 2, 3)) && !levels.pure(
      Vector(1),
      Vector(0, 1)
    ))
  }

  test("a closed side of a written plan is its own level") {
    val random = new Random(5)
    val sides  = Vector.fill(200)(RandomPlans(2 + random.nextInt(7), random).graph.levels)
      .flatMap(levels => levels.closedSides.flatten.map { case (level, side) => level -> levels.levelOf(side) })
    assert(sides.size > 200 && sides.forall { case (level, found) => level == found })
  }

  test("a graph that contradicts itself is refused") {
    val g                                         = graph(inner(join(LeftOuter, 0, a, b, equal(a, b)), c, equal(a, c)))
    def refused(what: String)(make: => Any): Unit = {
      val e = intercept[IllegalArgumentException](make); assert(e.getMessage.contains(what)); ()
    }
    val (o, member) = (g.operators.head, g.operators.head.equalities.head)
    refused("both sides of an operator")(g.copy(classes = Vector(EquivalenceClass(0, Vector(member._1, member._2)))))
    refused("bottom-up")(g.copy(operators = Vector(o, o.copy(index = 1))))
    refused("numbered from 0")(g.copy(operators = Vector(o.copy(index = 1))))
    refused("belongs to the relation")(g.copy(predicates = Vector(JoinPredicate(0, Vector(0), 0.5, None, ""))))
    refused("not all are in its scope")(JoinPredicate(0, Vector(0, 1), 0.5, None, "", Some(Vector(0))))
    refused("overlap")(o.copy(right = Vector(0, 1)))
    refused("does not lead from its left")(o.copy(equalities = Vector(member.swap)))
    refused("inner joins are classes")(o.copy(kind = Inner))
  }
}
