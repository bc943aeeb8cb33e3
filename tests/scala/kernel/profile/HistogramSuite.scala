package dovetail.kernel.profile

import scala.util.Random

import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.profile.Condition._

/** Equi-height histograms, and the intervals that the conjuncts on one column form. */
class HistogramSuite extends AnyFunSuite {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  /** 1 to 100, ten values per bucket; as in Spark, a bucket begins with the last value of the previous one. */
  private val even = Histogram((0 until 10).map(i => Bucket(if (i == 0) 1 else i * 10, (i + 1) * 10, 10)).toVector)

  /**
   * A tenth of the values are 1 to 10; 50 fills six buckets and the end of the bucket before them; the rest goes up to
   * 90.
   */
  private val frequent = Histogram(
    Vector(Bucket(1, 10, 10), Bucket(10, 50, 20)) ++ Vector.fill(6)(Bucket(50, 50, 1)) ++ Vector(
      Bucket(50, 60, 5),
      Bucket(60, 90, 15)
    )
  )

  test("equality: a value of a bucket, all buckets of a frequent value, nothing outside") {
    assert(even.equalTo(35) === 0.1 / 10)
    assert(even.equalTo(30) === 0.1 / 10, "30 is a value of one bucket, though two begin or end with it")
    assert(even.equalTo(1) === 0.1 / 10)
    assert(even.equalTo(100) === 0.1 / 10)
    assert(even.equalTo(0) === 0.0)
    assert(even.equalTo(101) === 0.0)
    assert(frequent.equalTo(50) === 0.6 + 0.1 / 20)
    assert(Histogram(Vector(Bucket(1, 5, 3), Bucket(7, 9, 2))).equalTo(6) === 0.0)
    assert(Histogram(Vector(Bucket(1, 5, 3), Bucket(7, 9, 2))).equalTo(7) === 0.5 / 2)
  }

  test("ranges: whole buckets, and parts of those at the ends by their width") {
    assert(even.between(20, 50) === 0.3 + 0.1 / 10)
    assert(even.between(20, 50, lowIncluded = false) === 0.3)
    assert(even.between(20, 35) === 0.1 / 10 + 0.1 + 0.1 * 5 / 10)
    assert(even.between(1, 100) === 1.0)
    assert(even.between(Double.NegativeInfinity, 10) === 0.1)
    assert(even.between(100, Double.PositiveInfinity) === 0.1 / 10)
    assert(even.between(100, Double.PositiveInfinity, lowIncluded = false) === 0.0)
    assert(even.between(5, 4) === 0.0)
    assert(even.between(35, 35, highIncluded = false) === 0.0)
  }

  test("a range has its share of each bucket, wherever it begins and ends") {
    val random  = new Random(7)
    val buckets = Vector.tabulate(20)(i => Bucket(i * 10.0, i * 10.0 + random.nextInt(9), 1.0 + random.nextInt(5)))
    val all     = Histogram(buckets)
    val ends    = (-1 to 201).map(_.toDouble) ++ Seq(Double.NegativeInfinity, Double.PositiveInfinity)
    val single  = buckets.map(b => Histogram(Vector(b)))
    for (_ <- 1 to 500) {
      val (low, high)   = (ends(random.nextInt(ends.size)), ends(random.nextInt(ends.size)))
      val (from, until) = (random.nextBoolean(), random.nextBoolean())
      assert(all.between(low, high, from, until) === single.map(_.between(low, high, from, until)).sum / buckets.size)
      assert(all.ndvBetween(low, high, from, until) === single.map(_.ndvBetween(low, high, from, until)).sum)
      assert(
        all.restrictedTo(low, high, from, until).fold(Vector.empty[Bucket])(_.buckets) ==
          single.flatMap(_.restrictedTo(low, high, from, until)).flatMap(_.buckets)
      )
    }
  }

  test("a frequent value is in a range or not as its end says") {
    assert(frequent.between(50, 100, lowIncluded = false) === 0.2)
    assert(frequent.between(50, 100) === 0.2 + 0.6 + 0.1 / 20)
    assert(frequent.between(0, 50, highIncluded = false) === 0.2)
    assert(frequent.between(0, 50) === 0.8)
  }

  test("distinct values: a frequent value and a value at the border of two buckets count once") {
    assert(even.ndvBetween(1, 100) === 100.0)
    assert(even.ndvBetween(20, 30) === 1.0 + 10)
    assert(even.ndvBetween(20, 30, lowIncluded = false) === 10.0)
    assert(even.ndvBetween(35, 35) === 1.0)
    assert(frequent.ndvBetween(1, 90) === 10.0 + 20 + 5 + 15)
    assert(frequent.ndvBetween(50, 50) === 1.0)
    assert(Histogram(Vector.fill(3)(Bucket(7, 7, 1))).ndvBetween(0, 9) === 1.0)
  }

  test("what a range leaves keeps its proportions") {
    val cut = even.restrictedTo(19, 50).get
    assert(cut.min == 19.0 && cut.max == 50.0)
    // 3.1 buckets are left; a tenth of the first one lies up to 20
    assert(cut.between(19, 20) === 0.1 / 3.1)
    assert(cut.between(20, 30, lowIncluded = false) === 1 / 3.1)
    assert(even.restrictedTo(200, 300).isEmpty)
    assert(frequent.restrictedTo(50, 90, lowIncluded = false).get.equalTo(50) < 0.11)
    assert(frequent.restrictedTo(50, 50).get.equalTo(50) === 1.0)
  }

  test("buckets that overlap, descend or are none are refused") {
    assertThrows[IllegalArgumentException](Histogram(Vector.empty))
    assertThrows[IllegalArgumentException](Histogram(Vector(Bucket(5, 6, 1), Bucket(1, 2, 1))))
    assertThrows[IllegalArgumentException](Histogram(Vector(Bucket(1, 6, 1), Bucket(5, 9, 1))))
    assertThrows[IllegalArgumentException](Bucket(2, 1, 1))
  }

  private def interval(cs: Condition*): Interval = {
    val (intervals, rest) = Interval.collect(cs.toVector)
    assert(rest.isEmpty && intervals.map(_._1) == Vector(7L))
    intervals.head._2
  }
  private def c(op: Comparison, v: Double) = Compare(7, op, Some(v))

  test("conjuncts of one column intersect, in any order") {
    val conjuncts = Seq(c(GreaterOrEqual, 10), c(Greater, 10), c(Less, 20), c(LessOrEqual, 20), c(Less, 30))
    for (order <- conjuncts.permutations) {
      val i = interval(order: _*)
      assert((i.low, i.lowIncluded, i.high, i.highIncluded) == ((10.0, false, 20.0, false)))
    }
    for (order <- Seq(In(7, Vector(3, 1, 2), 3), Equals(7, Some(2)), In(7, Vector(2, 4), 2)).permutations)
      assert(interval(order: _*).points.contains(Vector(2.0)))
  }

  test("columns are told apart, and predicates that are no interval are left") {
    val (intervals, rest) =
      Interval.collect(Vector(Equals(2, None), IsNull(2), c(Less, 1), Compare(2, Less, None), Opaque("f")))
    assert(intervals.map(_._1) == Vector(2L, 7L))
    assert(intervals.head._2 == Interval(equalities = Some(1), openRanges = 1))
    assert(rest == Vector(IsNull(2), Opaque("f")))
  }

  test("with a histogram, a filter's range, equality and what is left follow it") {
    val column = ColumnProfile(
      ndv = Some(100),
      domain = Some(100),
      nulls = Some(0.5),
      min = Some(1),
      max = Some(100),
      histogram = Some(even)
    )
    val relation = RelationProfile(Estimate.exactly(1000, Source.Catalog), Map(7L -> column), 1000)
    assert(Filters.selectivity(relation, c(LessOrEqual, 30)) === 0.5 * 0.3)
    assert(Filters.selectivity(relation, Equals(7, Some(30))) === 0.5 * 0.01)
    val left = Filters(relation, And(c(Greater, 30), c(LessOrEqual, 50))).column(7)
    assert(left.ndv.get === 20.0)
    assert(left.domain.get === 20.0)
    assert(left.histogram.get.buckets.map(b => (b.low, b.high)) == Vector((30.0, 40.0), (40.0, 50.0)))
    assert(Filters(relation, Equals(7, Some(30))).column(7).histogram.isEmpty)
  }
}
