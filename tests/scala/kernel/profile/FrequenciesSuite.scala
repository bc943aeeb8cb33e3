package dovetail.kernel.profile

import scala.util.Random

import org.scalacheck.Gen
import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import dovetail.kernel.graph.{EquivalenceClass, JoinGraph, Member, Relation}
import dovetail.kernel.profile.Condition._
import dovetail.kernel.size.CardinalityModel

/** Frequent values in filters and joins, and bounds by degrees, compared with counts over generated data. */
class FrequenciesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  /**
   * The profile that a sketch of the values gives: the frequencies of up to `most` values, and the exact highest
   * frequency if there are no more values than that.
   */
  private def column(values: Vector[Long], most: Int): ColumnProfile = {
    val counts = values.groupBy(identity).map { case (v, vs) => v -> vs.size }.toVector.sortBy { case (v, n) =>
      (-n, v)
    }
    val top = counts.take(most).map { case (v, n) => FrequentValue(v, Some(v.toDouble), n.toDouble / values.size) }
    val all = counts.size <= most
    ColumnProfile(
      ndv = Some(counts.size.toDouble),
      domain = Some(counts.size.toDouble),
      nulls = Some(0.0),
      min = Some(values.min.toDouble),
      max = Some(values.max.toDouble),
      frequent = Some(Frequencies(top, all)),
      degree = if (all) Some(counts.head._2.toDouble) else None
    )
  }

  private def relation(
      index: Int,
      columns: Map[Long, ColumnProfile],
      rows: Int,
      sample: Option[RelationSample] = None
  ): Relation =
    Relation(
      index,
      s"r$index",
      RelationProfile(Estimate.exactly(rows.toDouble, Source.Collected), columns, rows.toDouble),
      RowBytes.fixed(0.0),
      false,
      sample
    )

  private def join(left: ColumnProfile, right: ColumnProfile, rows: (Int, Int)): Estimate = {
    val relations = Vector(relation(0, Map(1L -> left), rows._1), relation(1, Map(2L -> right), rows._2))
    val classes   = Vector(EquivalenceClass(0, Vector(Member(0, left, Set(1L), "a"), Member(1, right, Set(2L), "b"))))
    new CardinalityModel(JoinGraph(relations, classes, Vector.empty)).estimate(Array(0, 1))
  }

  private def pairs(a: Vector[Long], b: Vector[Long]): Double = {
    val count = b.groupBy(identity); a.map(v => count.get(v).fold(0.0)(_.size.toDouble)).sum
  }

  /** Random values. The frequency of the i-th value is proportional to 1 / i^skew. */
  private def skewed(rows: Int, values: Int, skew: Double, shift: Int, random: Random): Vector[Long] = {
    val weights = (1 to values).map(i => math.pow(i.toDouble, -skew)).scanLeft(0.0)(_ + _).tail
    Vector.fill(rows) { val at = random.nextDouble() * weights.last; (weights.indexWhere(_ >= at) + shift).toLong }
  }

  private val values = Gen.nonEmptyListOf(Gen.frequency(1 -> Gen.const(3L), 3 -> Gen.choose(0L, 12L))).map(_.toVector)

  test("where all values are known with their counts, a join is exact and its bound holds") {
    forAll(values, values) { (a, b) =>
      val estimate = join(column(a, 100), column(b, 100), (a.size, b.size))
      assert(estimate.value === math.max(1.0, pairs(a, b)))
      assert(estimate.upper >= pairs(a, b))
      val (most, mostOfB) = (a.groupBy(identity).values.map(_.size).max, b.groupBy(identity).values.map(_.size).max)
      assert(estimate.upper === math.min(a.size.toDouble * mostOfB, b.size.toDouble * most))
    }
  }

  test("of skewed data the twenty most frequent values bring an estimate nearer to the truth than the NDV does") {
    def error(e: Double, truth: Double) = math.abs(math.log(math.max(e, 1.0) / math.max(truth, 1.0)))
    val errors                          = for (seed <- 1 to 60) yield {
      val random = new Random(seed.toLong)
      val skew   = 0.5 + random.nextDouble()
      val (a, b) = (skewed(2000, 400, skew, 0, random), skewed(500, 300, skew, random.nextInt(3), random))
      val known  = join(column(a, 20), column(b, 20), (a.size, b.size)).value
      val plain = join(column(a, 20).copy(frequent = None), column(b, 20).copy(frequent = None), (a.size, b.size)).value
      (error(known, pairs(a, b)), error(plain, pairs(a, b)))
    }
    assert(errors.count { case (known, plain) => known <= plain } >= 57, errors)
    assert(errors.map(_._1).sum < errors.map(_._2).sum / 5.0)
  }

  test("a key of two skewed columns: no more pairs than one of them leaves") {
    val random        = new Random(4)
    def halfSevens    = random.shuffle(Vector.tabulate(1000)(i => if (i % 2 == 0) 7L else i / 2 % 100L))
    val (x, y)        = (Vector.fill(2)(halfSevens), Vector.fill(2)(halfSevens))
    val (left, right) = (x.map(column(_, 100)), y.map(column(_, 100)))
    def side(i: Int, columns: Vector[ColumnProfile], first: Long) =
      relation(i, columns.zipWithIndex.map { case (c, k) => (first + k) -> c }.toMap, 1000)
    val classes = Vector(0, 1).map(k =>
      EquivalenceClass(k, Vector(Member(0, left(k), Set(k.toLong), s"a$k"), Member(1, right(k), Set(2L + k), s"b$k")))
    )
    val graph = JoinGraph(Vector(side(0, left, 0L), side(1, right, 2L)), classes, Vector.empty)
    val found = new CardinalityModel(graph).estimate(Array(0, 1)).value
    val most  = x.zip(y).map { case (a, b) => pairs(a, b) }.min
    def both(columns: Vector[Vector[Long]]) = columns(0).zip(columns(1)).map { case (a, b) => a * 100L + b }
    val truth                               = pairs(both(x), both(y))
    assert(found <= most * 1.000001 && found >= truth / 2, s"$found for $truth, at most $most")
  }

  test("degrees bound joins of several relations, from columns and from complete samples") {
    val shapes = Gen.oneOf(
      Vector(Vector(0, 1, 2)),
      Vector(Vector(0, 1), Vector(1, 2)),
      Vector(Vector(0, 1), Vector(0, 1), Vector(1, 2)),
      Vector(Vector(0, 1), Vector(1, 2), Vector(0, 2))
    )
    val table =
      Gen.choose(1, 12).flatMap(n => Gen.listOfN(n, Gen.listOfN(3, Gen.choose(0L, 3L)))).map(_.map(_.toVector).toVector)
    forAll(shapes, Gen.listOfN(3, table), Gen.choose(1, 4), Gen.oneOf(true, false)) { (shape, tables, most, sampled) =>
      whenever(tables.size == 3 && tables.forall(t => t.nonEmpty && t.forall(_.size == 3))) {
        def id(r: Int, c: Int)      = (10 * r + c).toLong
        def profile(r: Int, c: Int) = {
          val p = column(tables(r).map(_(c)), most); if (sampled) p.copy(degree = None) else p
        }
        def sample(r: Int) = {
          val keys = shape.indices.filter(shape(_).contains(r)).map(c => c -> tables(r).map(_(c)).toArray).toMap
          if (sampled) Some(RelationSample(complete = true, tables(r).size, 1.0, keys, Set.empty)) else None
        }
        val relations = tables.indices.toVector.map(r =>
          relation(r, (0 to 2).map(c => id(r, c) -> profile(r, c)).toMap, tables(r).size, sample(r))
        )
        val classes = shape.zipWithIndex.map { case (rs, c) =>
          EquivalenceClass(c, rs.map(r => Member(r, profile(r, c), Set(id(r, c)), s"$r.$c")))
        }
        val truth = (for (
          x <- tables(0); y <- tables(1); z <- tables(2); rows = Vector(x, y, z)
          if shape.zipWithIndex.forall { case (rs, c) =>
            rs.map(rows(_)(c)).distinct.size == 1
          }
        ) yield 1).size
        val model    = new CardinalityModel(JoinGraph(relations, classes, Vector.empty))
        val estimate = model.estimate(Array(0, 1, 2))
        assert(estimate.upper >= truth && estimate.value <= estimate.upper, s"$truth rows, $estimate")
        assert(model.sizeOf(Array(2, 0, 1), 3).rows == estimate.value)
      }
    }
  }

  // 100 rows: 3 forty times, 7 twenty times, ten values twice each, and twenty values once each; `some` knows all but
  // these
  private val data = Vector.fill(40)(3L) ++ Vector.fill(20)(7L) ++ (0 until 10).flatMap(i =>
    Vector.fill(2)(100L + i)
  ) ++ (0 until 20).map(200L + _)
  private def relation(c: ColumnProfile) =
    RelationProfile(Estimate.exactly(data.size.toDouble, Source.Collected), Map(1L -> c), data.size.toDouble)
  private def share(c: ColumnProfile, p: Condition) = Filters.selectivity(relation(c), p)
  private val (all, some)                           = (column(data, 100), column(data, 12))

  test("equality and IN take a frequent value's count; others share the rest") {
    assert(share(some, Equals(1, Some(3))) === 0.4 && share(some, In(1, Vector(3, 7, 100), 3)) === 0.62)
    assert(share(some, Equals(1, Some(205))) === 0.2 / 20 && share(some, Not(Equals(1, Some(3)))) === 0.6)
    assert(share(all, Equals(1, Some(50))) === 0.0 && share(all, Equals(1, Some(205))) === 0.01)
  }

  test("ranges over values that are all known are counted") {
    forAll(Gen.choose(0L, 250L), Gen.choose(0L, 250L)) { (low, high) =>
      val p = And(Compare(1, GreaterOrEqual, Some(low.toDouble)), Compare(1, Less, Some(high.toDouble)))
      assert(share(all, p) === data.count(v => v >= low && v < high) / 100.0)
    }
  }

  test("values without a place on the number line are found by their keys") {
    val text =
      ColumnProfile(
        ndv = Some(50.0),
        frequent =
          Some(Frequencies(Vector(FrequentValue(11, None, 0.5), FrequentValue(12, None, 0.3)), complete = false))
      )
    assert(share(text, Equals(1, None, Some(11))) === 0.5 && share(text, Equals(1, None, Some(99))) === 0.2 / 48)
    assert(share(text, In(1, Vector.empty, 2, Vector(12, 99))) === 0.3 + 0.2 / 48)
    assert(share(text, And(In(1, Vector.empty, 2, Vector(11, 12)), Equals(1, None, Some(12)))) === 0.3)
    assert(share(text, Equals(1, None)) === 1.0 / 50)
  }

  test("a filter leaves the frequent values that it keeps, as shares of what it keeps, and the bound") {
    def after(c: ColumnProfile, p: Condition) = Filters(relation(c), p).column(1)
    val range                                 = after(all, Compare(1, Less, Some(100)))
    assert(range.frequent.get.values.map(v => v.key -> v.share) == Vector(
      3L -> 40.0 / 60,
      7L -> 20.0 / 60
    ) && range.degree.contains(40.0))
    assert(after(all, Equals(1, Some(3))).frequent.get == Frequencies(
      Vector(FrequentValue(3, Some(3.0), 1.0)),
      complete = true
    ))
    assert(after(some, In(1, Vector(3, 205), 2)).frequent.isEmpty, "how often 205 comes is not known")
    assert(after(some, Compare(1, Less, None)).frequent.isEmpty)
    // a join of the filtered column is exact, too
    assert(join(range, all, (60, 100)).value === 40.0 * 40 + 20 * 20)
  }

  test("stale statistics claim no empty answer: rows that came since may be anywhere") {
    val stale = some.copy(unseen = 0.1)
    for (
      p <- Seq(
        Equals(1, Some(1000)),
        Equals(1, Some(-5)),
        Equals(1, Some(50)),
        Compare(1, Greater, Some(1000)),
        Compare(1, Less, Some(-1))
      )
    )
      assert(share(stale, p) > 0.0, p)
    assert(share(stale, Equals(1, Some(1000))) === 0.1 / 32)
    assert(share(stale, Compare(1, Greater, Some(1000))) === 0.1 * Assumptions.Range)
    assert(share(stale, Equals(1, Some(3))) === 0.4 && share(some, Equals(1, Some(1000))) === 0.0)
    val left = Filters(relation(stale), Compare(1, Greater, Some(1000)))
    assert(left.rows.value > 0.0 && left.column(1).ndv.exists(_ > 0.0))
  }

  test("columns that were counted together are filtered together") {
    def determined(groups: Map[Set[Long], Double]) = {
      val columns = Map(
        1L -> ColumnProfile(ndv = Some(10.0), nulls = Some(0.0)),
        2L -> ColumnProfile(ndv = Some(40.0), nulls = Some(0.0))
      )
      Filters.selectivity(
        RelationProfile(Estimate.exactly(1000.0, Source.Collected), columns, 1000.0, groups = groups),
        And(Equals(1, None), Equals(2, None))
      )
    }
    assert(determined(Map(Set(1L, 2L) -> 40.0)) === 1.0 / 40, "the second determines the first")
    assert(determined(Map(Set(1L, 2L) -> 400.0)) === 1.0 / 400, "independent of each other")
    assert(determined(Map.empty) > 1.0 / 400)
  }
}
