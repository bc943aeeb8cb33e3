package dovetail.kernel.profile

import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.profile.Condition._

/** Predicates on one relation. The expected values are written as formulas. */
class FiltersSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  private val (x, y, z, s) = (1L, 2L, 3L, 4L)
  private val valuesOfX    = 0.9
  private val relation     = RelationProfile(
    Estimate.exactly(10000, Source.Catalog),
    Map(
      x -> ColumnProfile(
        ndv = Some(100),
        domain = Some(100),
        nulls = Some(1 - valuesOfX),
        min = Some(0),
        max = Some(1000)
      ),
      y -> ColumnProfile(ndv = Some(10), domain = Some(10), nulls = Some(0), min = Some(1), max = Some(10)),
      // z: nothing known; s: a string
      s -> ColumnProfile(ndv = Some(40), domain = Some(40), nulls = Some(0.5))
    ),
    baseRows = 10000
  )

  private def keeps(p: Condition): Double = {
    val direct  = Filters.selectivity(relation, p)
    val applied = Filters(relation, p).rows
    assert(applied.value === 10000 * direct, "rows and selectivity are one number")
    assert(applied.lower == 0.0 && applied.upper == 10000.0)
    direct
  }
  private def and(ps: Condition*)                         = ps.reduceLeft(And(_, _))
  private def is(c: Long, v: Double)                      = Equals(c, Some(v))
  private def isText(c: Long)                             = Equals(c, None)
  private def less(c: Long, v: Double, op: Comparison)    = Compare(c, op, Some(v))
  private def between(c: Long, low: Double, high: Double) =
    And(less(c, low, GreaterOrEqual), less(c, high, LessOrEqual))

  test("the largest numbers of Double, as a limit that means no limit") {
    for (high <- Seq(Double.MaxValue, 1e300, 100.0); low <- Seq(0.0, 1e-300)) {
      val share = Assumptions.between(10.0, high, low, high, Some(41.0), repetition = 0.9)
      assert(share >= 0.0 && share <= 1.0, s"$low to $high")
    }
  }

  test("equality: 1 / NDV of the values, nothing outside of the range, a default for the unknown") {
    assert(keeps(is(x, 5)) === valuesOfX / 100)
    assert(keeps(is(x, 1001)) === 0.0)
    assert(keeps(is(x, -1)) === 0.0)
    assert(keeps(isText(s)) === 0.5 / 40)
    assert(keeps(is(z, 5)) === Assumptions.Equality)
    assert(keeps(isText(z)) === Assumptions.Equality)
  }

  test("ranges: their share of [min, max]") {
    for (op <- Seq(Less, LessOrEqual)) assert(keeps(less(x, 250, op)) === valuesOfX * 250 / 1000)
    for (op <- Seq(Greater, GreaterOrEqual)) assert(keeps(less(x, 250, op)) === valuesOfX * 750 / 1000)
    assert(keeps(less(x, 2000, Less)) === valuesOfX)
    assert(keeps(less(x, -1, Less)) === 0.0)
    assert(keeps(less(x, 0, Less)) === 0.0)
    assert(keeps(less(x, 1000, Greater)) === 0.0)
  }

  test("a range that touches a value holds that value") {
    assert(keeps(less(x, 0, LessOrEqual)) === valuesOfX / 100)
    assert(keeps(less(x, 1000, GreaterOrEqual)) === valuesOfX / 100)
    assert(keeps(between(x, 100, 101)) === valuesOfX / 100)
  }

  test("ranges over the unknown") {
    assert(keeps(less(z, 5, Less)) === Assumptions.Range)
    assert(keeps(between(z, 1, 5)) === Assumptions.Between)
    assert(keeps(Compare(s, Less, None)) === 0.5 * Assumptions.Range)
    assert(keeps(And(Compare(s, Less, None), Compare(s, Greater, None))) === 0.5 * Assumptions.Between)
    assert(keeps(less(x, Double.PositiveInfinity, GreaterOrEqual)) === valuesOfX * Assumptions.Range)
  }

  test("BETWEEN is one interval, however many conjuncts say it") {
    assert(keeps(between(x, 200, 300)) === valuesOfX * 100 / 1000)
    assert(keeps(and(between(x, 200, 300), less(x, 500, Less), less(x, 100, Greater))) === valuesOfX * 100 / 1000)
    assert(keeps(between(x, 7, 7)) === valuesOfX / 100)
    assert(keeps(between(z, 7, 7)) === Assumptions.Equality)
  }

  test("IN: so many equalities, those outside of the range or of other conjuncts apart") {
    assert(keeps(In(x, Vector(1, 2, 3), 3)) === valuesOfX * 3 / 100)
    assert(keeps(In(x, Vector(1, 2, 3000), 3)) === valuesOfX * 2 / 100)
    assert(keeps(And(In(x, Vector(1, 2, 3), 3), less(x, 2, GreaterOrEqual))) === valuesOfX * 2 / 100)
    assert(keeps(And(In(x, Vector(1, 2, 3), 3), In(x, Vector(3, 4), 2))) === valuesOfX / 100)
    assert(keeps(In(s, Vector.empty, 3)) === 0.5 * 3 / 40)
    assert(keeps(In(y, (1 to 30).map(_.toDouble).toVector, 30)) === 1.0)
    assert(keeps(In(x, Vector(1, 1, 2), 2)) === valuesOfX * 2 / 100)
  }

  test("IS NULL and IS NOT NULL") {
    assert(keeps(IsNull(x)) === 1 - valuesOfX)
    assert(keeps(IsNotNull(x)) === valuesOfX)
    assert(keeps(IsNull(z)) === Assumptions.IsNull)
    assert(keeps(IsNotNull(z)) === 1 - Assumptions.NullFraction)
  }

  test("IS NOT NULL beside a predicate that implies it counts once") {
    assert(keeps(And(IsNotNull(x), is(x, 5))) === valuesOfX / 100)
    assert(keeps(And(IsNotNull(s), StartsWith(s))) === 0.5 * Assumptions.Prefix)
    assert(keeps(and(IsNotNull(s), IsNotNull(s))) === 0.5)
  }

  test("contradictions keep nothing, also where nothing is known") {
    for (c <- Seq(x, y, z)) {
      assert(keeps(And(less(c, 1, Less), less(c, 5, Greater))) === 0.0, c)
      assert(keeps(And(less(c, 5, Less), less(c, 5, GreaterOrEqual))) === 0.0, c)
      assert(keeps(And(is(c, 1), is(c, 2))) === 0.0, c)
      assert(keeps(And(In(c, Vector(1, 2), 2), less(c, 2, Greater))) === 0.0, c)
      assert(keeps(And(IsNull(c), is(c, 2))) === 0.0, c)
    }
    assert(keeps(Constant(false)) === 0.0)
    assert(keeps(Constant(true)) === 1.0)
  }

  test("conjuncts on different columns: back-off, the most selective first; NULLs count in full") {
    assert(keeps(And(is(x, 5), is(y, 5))) === valuesOfX * Assumptions.conjunction(Seq(1.0 / 100, 1.0 / 10)))
    assert(keeps(and(
      is(y, 5),
      Opaque("f(x)"),
      is(x, 5)
    )) === valuesOfX * Assumptions.conjunction(Seq(1.0 / 100, 1.0 / 10, Assumptions.Opaque)))
    assert(keeps(And(IsNotNull(s), is(x, 5))) === 0.5 * valuesOfX / 100)
  }

  test("OR: equalities of one column add up, others are independent") {
    assert(keeps(Or(is(x, 1), is(x, 2))) === valuesOfX * 2 / 100)
    assert(keeps(Or(In(x, Vector(1, 2), 2), Or(is(x, 3), is(x, 4)))) === valuesOfX * 4 / 100)
    val (a, b) = (valuesOfX / 100, 1.0 / 10)
    assert(keeps(Or(is(x, 1), is(y, 2))) === a + b - a * b)
    // however the operands are nested
    assert(keeps(Or(Or(is(x, 1), is(y, 2)), is(x, 3))) === 2 * a + b - 2 * a * b)
    assert(keeps((1 to 20000).map(is(x, _): Condition).reduce(Or(_, _))) <= 1.0)
  }

  test("NOT: rows for which the predicate is false; those for which it is NULL go too") {
    assert(keeps(Not(is(x, 5))) === valuesOfX * (1 - 1.0 / 100))
    assert(keeps(Not(less(x, 250, Less))) === valuesOfX * 0.75)
    assert(keeps(Not(In(x, Vector(1, 2), 2))) === valuesOfX * 0.98)
    assert(keeps(Not(StartsWith(s))) === 0.5 * (1 - Assumptions.Prefix))
    assert(keeps(Not(Not(is(x, 5)))) === valuesOfX / 100)
    assert(keeps(Not(IsNull(x))) === valuesOfX)
    assert(keeps(Not(IsNotNull(x))) === 1 - valuesOfX)
    assert(keeps(Not(IsNotNull(z))) === Assumptions.IsNull)
    assert(keeps(Not(Opaque("f(x)"))) === 1 - Assumptions.Opaque)
    assert(keeps(Not(Constant(true))) === 0.0)
  }

  test("NOT over AND and OR: De Morgan, and never together with the predicate more than all rows") {
    val (p, q) = (is(x, 5), is(y, 5))
    assert(keeps(Not(Or(p, q))) === math.min(
      valuesOfX * Assumptions.conjunction(Seq(1 - 1.0 / 10, 1 - 1.0 / 100)),
      1 - keeps(Or(p, q))
    ))
    val (notP, notQ) = (valuesOfX * (1 - 1.0 / 100), 1 - 1.0 / 10)
    assert(keeps(Not(And(p, q))) === math.min(notP + notQ - notP * notQ, 1 - keeps(And(p, q))))
  }

  test("LIKE and predicates nobody can look into have defaults of their own") {
    assert(keeps(StartsWith(s)) === 0.5 * Assumptions.Prefix)
    assert(keeps(Matches(s)) === 0.5 * Assumptions.Pattern)
    assert(keeps(Opaque("f(x)")) === Assumptions.Opaque)
  }

  test("two columns: equal by the larger NDV, ordered by their ranges") {
    assert(keeps(CompareColumns(x, None, y)) === valuesOfX / 100)
    assert(keeps(CompareColumns(x, None, z)) === valuesOfX / 100)
    assert(keeps(CompareColumns(z, None, 99)) === Assumptions.Equality)
    assert(keeps(CompareColumns(x, Some(Less), z)) === valuesOfX * Assumptions.ColumnComparison)
  }

  test("a < b over uniform ranges is the share of the points above the diagonal") {
    val steps = 400
    for (
      (al, ah, bl, bh) <-
        Seq(
          (0, 10, 0, 10),
          (0, 10, 5, 15),
          (5, 15, 0, 10),
          (0, 10, 2, 4),
          (2, 4, 0, 10),
          (0, 1, 2, 3),
          (2, 3, 0, 1),
          (3, 3, 0, 10),
          (0, 10, 3, 3)
        )
    ) {
      def points(low: Int, high: Int) = (0 until steps).map(i => low + (high - low) * (i + 0.5) / steps)
      val counted                     =
        (for (a <- points(al, ah); b <- points(bl, bh))
          yield if (a < b) 1.0 else if (a == b) 0.5 else 0.0).sum / (steps * steps)
      def column(low: Int, high: Int) =
        ColumnProfile(ndv = Some(10), nulls = Some(0), min = Some(low), max = Some(high))
      val two  = relation.copy(columns = Map(1L -> column(al, ah), 2L -> column(bl, bh)))
      val less = Filters.selectivity(two, CompareColumns(1, Some(Less), 2))
      assert(math.abs(less - counted) < 0.005, s"[$al, $ah] < [$bl, $bh]")
      assert(Filters.selectivity(two, CompareColumns(1, Some(Greater), 2)) === 1 - less)
    }
    val apart = relation.copy(columns =
      Map(1L -> ColumnProfile(min = Some(0), max = Some(1)), 2L -> ColumnProfile(min = Some(2), max = Some(3)))
    )
    assert(Filters.selectivity(apart, CompareColumns(1, None, 2)) == 0.0)
  }

  test("the filtered column takes the interval's range, NDV and domain, and loses its NULLs") {
    def after(c: Condition, id: Long) = Filters(relation, c).column(id).copy(rangeRows = None)
    val c                             = after(between(x, 250, 500), x)
    assert(c == ColumnProfile(ndv = Some(25), domain = Some(25), nulls = Some(0), min = Some(250), max = Some(500)))
    val point = after(is(x, 5), x)
    assert(point == ColumnProfile(ndv = Some(1), domain = Some(1), nulls = Some(0), min = Some(5), max = Some(5)))
    val in = after(In(x, Vector(9, 5, 7), 3), x)
    assert(in == ColumnProfile(ndv = Some(3), domain = Some(3), nulls = Some(0), min = Some(5), max = Some(9)))
    assert(after(isText(s), s) == ColumnProfile(ndv = Some(1), domain = Some(1), nulls = Some(0)))
    assert(after(between(z, 1, 5), z) == ColumnProfile(nulls = Some(0), min = Some(1), max = Some(5)))
    assert(after(is(z, 5), z) == point)
  }

  test("one value left is a domain of one, also when other filters came before") {
    val before = Filters(relation, is(y, 3))
    assert(before.column(x).ndv.get < 100 && before.column(x).domain.contains(100.0))
    assert(Filters(before, is(x, 5)).column(x).domain.contains(1.0))
    assert(Filters(before, And(less(x, 100, Greater), less(x, 50, Less))).column(x).ndv.contains(0.0))
  }

  test("other columns: the NDV shrinks with the rows, the domain stays") {
    val rows = 10000 * valuesOfX / 100
    val c    = Filters(relation, is(x, 5)).column(s)
    assert(c.ndv.get === Assumptions.distinctAfter(40, 10000, rows))
    assert(c.domain.contains(40.0) && c.nulls.contains(0.5))
  }

  test("columns that have to be NULL, or must not be") {
    assert(Filters(relation, IsNull(x)).column(x).nulls.contains(1.0))
    assert(Filters(relation, IsNull(x)).column(x).ndv.contains(0.0))
    assert(Filters(relation, IsNotNull(s)).column(s).nulls.contains(0.0))
    assert(Filters(relation, Not(StartsWith(s))).column(s).nulls.contains(0.0))
    assert(Filters(relation, IsNotNull(z)).column(z).nulls.contains(0.0))
    assert(Filters(relation, Or(is(x, 1), is(y, 1))).column(x).nulls.get === 1 - valuesOfX)
  }

  test("a filtered column has no more distinct values than there are rows") {
    val few = Filters(relation, and(between(x, 0, 999), is(y, 1), isText(s), Opaque("f"), Opaque("g")))
    assert(few.rows.value < 100 && few.column(x).ndv.get === few.rows.value)
    val small = relation.copy(rows = Estimate.exactly(50, Source.Catalog))
    assert(Filters(small, less(x, 900, Less)).column(x).ndv.get === 50 * valuesOfX * 0.9)
  }

  test("columns of two relations: by their ranges, or by where their values lie") {
    def column(low: Double, high: Double, parts: (Double, Double, Double)*) = ColumnProfile(
      min = Some(low),
      max = Some(high),
      spread = if (parts.isEmpty) None else Some(Histogram(parts.map(p => Bucket(p._1, p._2, 1.0, p._3)).toVector))
    )
    def less(a: ColumnProfile, b: ColumnProfile) = Filters.compared(a, Less, b).get
    val days                                     = column(0, 100)
    assert(less(days, days) === 0.5)
    assert(less(days, column(100, 300)) === 1.0)
    assert(math.abs(less(column(0, 1e6), days) - 50 / 1e6) < 1e-9)
    val open = column(0, 1e6, (0, 100, 0.999), (100, 1e6, 0.001))
    assert(math.abs(less(open, days) - 0.4995) < 1e-9)
    assert(math.abs(less(days, open) - 0.5005) < 1e-9)
    assert(Filters.compared(open, Greater, days).exists(share => math.abs(share - 0.5005) < 1e-9))
    // a predicate has narrowed the range since
    assert(less(open.copy(max = Some(100)), days) === 0.5)
    assert(Filters.compared(column(0, 1), Less, ColumnProfile()).isEmpty)
  }
}
