package dovetail.kernel.profile

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import dovetail.kernel.profile.Condition._

/** Filter estimates: laws that hold for any predicate, and comparisons with counts over generated columns. */
class FilterTruthSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 1000)

  private val share = Gen.choose(0.0, 1.0)

  private val columns: Gen[ColumnProfile] = for {
    ndv       <- Gen.option(Gen.choose(0.0, 3.0).map(math.pow(10.0, _)))
    nulls     <- Gen.option(Gen.frequency(3 -> share, 1 -> Gen.oneOf(0.0, 1.0)))
    low       <- Gen.option(Gen.choose(0, 20).map(_.toDouble))
    width     <- Gen.option(Gen.choose(0, 20).map(_.toDouble))
    histogram <- Gen.option(Gen.nonEmptyListOf(Gen.choose(0, 20)).map(vs => ofValues(vs.map(_.toDouble), 4)))
  } yield ColumnProfile(ndv, ndv, nulls, low, width.map(_ + low.getOrElse(0.0)), histogram)

  private val ids        = Gen.choose(1L, 4L)
  private val constants  = Gen.option(Gen.choose(-2, 42).map(_ / 2.0))
  private val comparison = Gen.oneOf(Less, LessOrEqual, Greater, GreaterOrEqual)

  private val leaves: Gen[Condition] = Gen.oneOf(
    for (c <- ids; v <- constants) yield Equals(c, v),
    for (c <- ids; vs <- Gen.nonEmptyListOf(Gen.choose(0, 40)))
      yield In(c, vs.distinct.map(_ / 2.0).toVector, vs.distinct.size),
    for (c <- ids; n <- Gen.choose(1, 20)) yield In(c, Vector.empty, n),
    for (c <- ids; o <- comparison; v <- constants) yield Compare(c, o, v),
    ids.map(IsNull(_)),
    ids.map(IsNotNull(_)),
    ids.map(StartsWith(_)),
    ids.map(Matches(_)),
    for (a <- ids; b <- ids; o <- Gen.option(comparison)) yield CompareColumns(a, o, b),
    Gen.oneOf(true, false).map(Constant(_)),
    Gen.const(Opaque("f"))
  )

  private def conditions(depth: Int): Gen[Condition] =
    if (depth == 0) leaves
    else {
      val below = conditions(depth - 1)
      Gen.frequency(
        2 -> leaves,
        2 -> (for (l <- below; r <- below) yield And(l, r)),
        1 -> (for (l <- below; r <- below) yield Or(l, r)),
        1 -> below.map(Not(_))
      )
    }

  private val relations: Gen[RelationProfile] = for (cs <- Gen.listOfN(3, columns); rows <- Gen.choose(0.0, 1e6))
    yield RelationProfile(
      Estimate.exactly(rows, Source.Catalog),
      cs.zipWithIndex.map { case (c, i) => (i + 1L) -> c }.toMap,
      rows
    )

  test("a selectivity is a share") {
    forAll(relations, conditions(3)) { (r, p) =>
      val s = Filters.selectivity(r, p)
      assert(s >= 0.0 && s <= 1.0)
    }
  }

  test("one more conjunct never raises the rows") {
    forAll(relations, conditions(3), conditions(1))((r, p, q) =>
      assert(Filters(r, And(p, q)).rows.value <= Filters(r, p).rows.value * (1 + 1e-9))
    )
  }

  test("p and NOT p together are at most all rows") {
    // Without a known NULL count, IS NULL keeps some rows and IS NOT NULL still keeps all rows: two assumptions, each
    // on the safe side. So the NULL counts are set here.
    val counted =
      relations.map(r =>
        r.copy(columns = (1L to 4L).map(id => id -> r.column(id)).map { case (id, c) =>
          id -> c.copy(nulls = Some(1 - c.nonNull))
        }.toMap)
      )
    forAll(counted, conditions(3))((r, p) =>
      assert(Filters.selectivity(r, p) + Filters.selectivity(r, Not(p)) <= 1.0 + 1e-9)
    )
  }

  test("filtered columns keep their invariants, and no column gains values") {
    forAll(relations, conditions(3), conditions(3)) { (r, p, q) =>
      val once = Filters(r, p)
      for ((before, after) <- Seq(r -> once, once -> Filters(once, q)); (id, c) <- after.columns) {
        for (b <- before.column(id).ndv; a <- c.ndv) assert(a <= b * (1 + 1e-9))
        for (b <- before.column(id).domain; a <- c.domain) assert(a <= b * (1 + 1e-9))
      }
    }
  }

  /**
   * Builds a histogram as Spark does: bucket ends are percentiles, and a bucket begins with the last value of the
   * previous one.
   */
  private def ofValues(values: Seq[Double], buckets: Int): Histogram = {
    val sorted = values.sorted.toVector
    val ends = (1 to buckets).map(i => sorted(math.max(0, (i.toLong * sorted.size + buckets - 1) / buckets - 1).toInt))
    Histogram((sorted.head +: ends.init).zip(ends).zipWithIndex.map { case ((low, high), i) =>
      val inside = sorted.filter(v => (v > low || (i == 0 && v == low)) && v <= high)
      Bucket(low, high, math.max(1, inside.distinct.size).toDouble)
    }.toVector)
  }

  /** A column of integers with NULLs, its profile, and counts over it. */
  private class Column(val values: Vector[Double], val nulls: Int, buckets: Option[Int]) {
    val rows            = values.size + nulls
    val distinct        = values.distinct.sorted
    private val profile = ColumnProfile.checked(
      Some(distinct.size.toDouble),
      Some(nulls.toDouble),
      Some(rows.toDouble),
      Some(values.min),
      Some(values.max),
      buckets.map(ofValues(values, _)),
      Some(Width.unknown(8.0))
    )
    assert(profile._2.isEmpty)
    val relation = RelationProfile(Estimate.exactly(rows, Source.Exact), Map(1L -> profile._1), rows)

    def estimated(p: Condition): Double                     = Filters(relation, p).rows.value
    def counted(p: Double => Boolean): Int                  = values.count(p)
    def exact(p: Condition, truth: Double => Boolean): Unit =
      assert(math.abs(estimated(p) - counted(truth)) < 1e-6, s"$p of $distinct, $nulls nulls")
  }

  /** A column in which all values are equally frequent. */
  private def uniform(random: Random, histogram: Boolean): Column = {
    val (n, each) = (1 + random.nextInt(50), 1 + random.nextInt(20))
    val values    = (1 to n).flatMap(v => Vector.fill(each)(v.toDouble)).toVector
    new Column(random.shuffle(values), random.nextInt(values.size), if (histogram) Some(n) else None)
  }

  for (histogram <- Seq(false, true)) {
    val with_ = if (histogram) "a bucket per value" else "range and NDV"

    test(s"uniform columns, $with_: equality, IN, NULL tests and their negations are exact") {
      for (seed <- 1 to 200) {
        val random = new Random(seed)
        val c      = uniform(random, histogram)
        val some   = random.shuffle(c.distinct).take(1 + random.nextInt(c.distinct.size))
        val v      = some.head
        c.exact(Equals(1, Some(v)), _ == v)
        c.exact(Not(Equals(1, Some(v))), _ != v)
        c.exact(Equals(1, Some(-1.0)), _ => false)
        c.exact(In(1, some, some.size), some.contains(_))
        c.exact(Not(In(1, some, some.size)), !some.contains(_))
        c.exact(Or(Equals(1, Some(v)), In(1, some.tail, some.size - 1)), some.contains(_))
        c.exact(And(IsNotNull(1), In(1, some, some.size)), some.contains(_))
        c.exact(IsNotNull(1), _ => true)
        assert(math.abs(c.estimated(IsNull(1)) - c.nulls) < 1e-6)
        assert(c.estimated(And(IsNull(1), Equals(1, Some(v)))) == 0.0)
      }
    }

    test(s"uniform columns, $with_: ranges") {
      for (seed <- 1 to 200) {
        val random = new Random(seed)
        val c      = uniform(random, histogram)
        val ends   = Vector.fill(2)(random.nextInt(c.distinct.size + 2).toDouble).sorted
        val within = And(Compare(1, Greater, Some(ends(0))), Compare(1, LessOrEqual, Some(ends(1))))
        val truth  = (v: Double) => v > ends(0) && v <= ends(1)
        if (histogram) c.exact(within, truth)
        // The range is one step narrower than its number of values, and an end counts half: an error of one value at
        // each end.
        else assert(
          math.abs(c.estimated(within) - c.counted(truth)) <= 2.0 * c.values.size / c.distinct.size + 1e-6,
          s"seed $seed"
        )
      }
    }
  }

  test(
    "skewed columns with a histogram: ranges within two buckets, frequent values within two buckets, distinct values " +
      "within those of two"
  ) {
    for (seed <- 1 to 200) {
      val random  = new Random(seed)
      val buckets = 20
      // Zipf-like: a few values make up most of the column
      val values = Vector.fill(2000)(math.pow(200, random.nextDouble() * random.nextDouble()).floor)
      val c      = new Column(values, random.nextInt(500), Some(buckets))
      val bucket = values.size.toDouble / buckets
      val ends   = Vector.fill(2)(1.0 + random.nextInt(200)).sorted
      val within = And(Compare(1, GreaterOrEqual, Some(ends(0))), Compare(1, LessOrEqual, Some(ends(1))))
      assert(
        math.abs(c.estimated(within) - c.counted(v => v >= ends(0) && v <= ends(1))) <= 2 * bucket + 1e-6,
        s"seed $seed: $ends"
      )
      for (v <- c.distinct)
        assert(math.abs(c.estimated(Equals(1, Some(v))) - c.counted(_ == v)) <= 2 * bucket, s"seed $seed: $v")
    }
  }
}
