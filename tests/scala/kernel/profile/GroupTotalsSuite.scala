package dovetail.kernel.profile

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Distributions of aggregate functions over groups: closed formulas, drawn groups, and properties on any input. */
class GroupTotalsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private def near(found: Double, expected: Double, error: Double): Unit =
    assert(math.abs(found - expected) <= error, s"$found instead of $expected")

  private val Infinite = Double.PositiveInfinity

  test("counts: a geometric number of rows") {
    val counts = new GroupTotals(rows = 40000.0, groups = 10000.0).count(nonNull = 1.0)
    // each group has at least one row; with probability 3/4 there is a further one
    near(counts.equalTo(0.0), 0.0, 0.0)
    near(counts.equalTo(1.0), 0.25, 1e-9)
    near(counts.between(1.0, Infinite, lowIncluded = false), 0.75, 1e-9)
    near(counts.between(10.0, Infinite), math.pow(0.75, 9.0), 1e-9)
    // the last ranges are wide, and their counts are spread evenly
    near(counts.between(40.0, Infinite, lowIncluded = false), math.pow(0.75, 40.0), 1e-4)
  }

  test("counts of a column with NULLs may be zero: between NULLs of single rows and NULLs of whole groups") {
    val counts = new GroupTotals(rows = 40000.0, groups = 10000.0).count(nonNull = 0.5)
    // single rows: the sum over n of (1/4)(3/4)^(n-1) (1/2)^n = (1/8) / (1 - 3/8) = 0.2; whole groups: all may be NULL
    near(counts.equalTo(0.0), math.sqrt(0.2 * 1.0), 1e-9)
    near(counts.between(0.0, Infinite), 1.0, 1e-9)
    // rows of an outer join without a partner: a tenth of the groups, one row each
    val padded = new GroupTotals(rows = 1e7, groups = 1e6).count(nonNull = 1.0 - 1e5 / 1e7)
    assert(padded.equalTo(0.0) > 0.005 && padded.equalTo(0.0) < 0.1, padded.equalTo(0.0))
  }

  test("all groups are known") {
    val counts = new GroupTotals(rows = 60.0, groups = 3.0, Vector(30.0, 20.0, 10.0)).count(nonNull = 1.0)
    near(counts.between(20.0, Infinite), 2.0 / 3.0, 1e-9)
    near(counts.between(15.0, Infinite), 2.0 / 3.0, 1e-9)
  }

  test("groups of frequent values have their own sizes") {
    val sizes  = Vector(50000.0, 20000.0, 300.0)
    val totals = new GroupTotals(rows = 100300.0, groups = 10003.0, sizes)
    val counts = totals.count(nonNull = 1.0)
    near(counts.between(1000.0, Infinite) * 10003.0, 2.0, 0.1)
    near(counts.between(200.0, Infinite) * 10003.0, 3.0, 0.5)
    // the other groups have three rows
    near(counts.between(1.0, Infinite, lowIncluded = false), 2.0 / 3.0, 1e-3)
    // sums beyond four standard deviations are in one bucket: the third one is not told apart
    near(totals.sum(column).get.between(500000.0, Infinite) * 10003.0, 2.0, 1.5)
  }

  test("counts of a key that looks unique: few groups have a second row, but some") {
    val counts = new GroupTotals(rows = 10000.0, groups = 10000.0).count(nonNull = 1.0)
    near(counts.between(1.0, Infinite, lowIncluded = false), 0.01, 1e-3)
  }

  test("counts never exceed the rows") {
    val counts = new GroupTotals(rows = 100.0, groups = 2.0).count(nonNull = 1.0)
    assert(counts.max <= 100.0)
    assert(counts.between(100.0, Infinite, lowIncluded = false) == 0.0)
  }

  /** Groups of a geometric number of rows, whose values are uniform over [0, 100]. */
  private def drawn(mean: Double): Vector[Vector[Double]] = {
    val random = new Random(1)
    Vector.fill(20000) {
      val size = Iterator.continually(random.nextDouble() < 1.0 / mean).indexWhere(identity) + 1
      Vector.fill(size)(random.nextDouble() * 100.0)
    }
  }

  private val column = ColumnProfile(min = Some(0.0), max = Some(100.0), nulls = Some(0.0))

  for (mean <- Seq(1.5, 4.0, 50.0)) {
    val groups = drawn(mean)
    val totals = new GroupTotals(groups.map(_.size).sum.toDouble, groups.size.toDouble)

    def compare(what: String, histogram: Option[Histogram], values: Vector[Double], error: Double): Unit =
      test(s"$what of groups of $mean rows is spread as in drawn groups") {
        val sorted = values.sorted
        for (percent <- Seq(10, 25, 50, 75, 90, 99)) {
          val limit = sorted(sorted.size * percent / 100)
          near(histogram.get.between(Double.NegativeInfinity, limit), percent / 100.0, error)
        }
      }

    compare("sum", totals.sum(column), groups.map(_.sum), error = 0.16)
    test(s"largest and smallest values of groups of $mean rows: between independent values and values that are alike") {
      for (
        (found, values) <-
          Seq(totals.largest(column) -> groups.map(_.max), totals.smallest(column) -> groups.map(_.min));
        limit <- Seq(10.0, 25.0, 50.0, 75.0, 90.0)
      ) {
        val ends  = Seq(values.count(_ <= limit).toDouble / values.size, limit / 100.0)
        val share = found.get.between(Double.NegativeInfinity, limit)
        assert(share >= ends.min - 0.03 && share <= ends.max + 0.03, s"$share of $limit, $ends")
      }
    }
    // groups are alike within in part, so averages are spread wider than those of independent rows
    compare("average", totals.average(column), groups.map(g => g.sum / g.size), error = 0.3)
  }

  test("sums of values of both signs are around their mean, those of negative values below zero") {
    val totals = new GroupTotals(1000.0, 100.0)
    val both   = totals.sum(column.copy(min = Some(-100.0))).get
    near(both.between(0.0, Infinite), 0.5, 0.01)
    val below = totals.sum(column.copy(min = Some(-100.0), max = Some(-50.0))).get
    near(below.between(0.0, Infinite), 0.0, 1e-6)
    assert(below.max <= -50.0)
  }

  test("a column of one value: sums follow the sizes, averages are that value") {
    val totals = new GroupTotals(1000.0, 100.0)
    val two    = column.copy(min = Some(2.0), max = Some(2.0))
    assert(totals.average(two).get.equalTo(2.0) > 0.99)
    assert(totals.largest(two).get.equalTo(2.0) == 1.0)
    near(totals.sum(two).get.between(0.0, 20.0), 0.63, 0.1)
  }

  test("estimates beyond all measure, and values that are no numbers") {
    for (rows <- Seq(1e15, 1e17, 1e24, 1e30); groups <- Seq(1.0, 1000.0)) {
      val totals = new GroupTotals(rows, groups)
      val every  = Seq(totals.count(1.0), totals.count(0.0), totals.count(0.5)) ++
        Seq(totals.sum(column), totals.largest(column), totals.smallest(column), totals.average(column)).flatten
      every.foreach(h => near(h.between(Double.NegativeInfinity, Infinite), 1.0, 1e-6))
    }
    val values = Vector(1.0, 2.0, Infinite, Double.NaN).map(v => FrequentValue(v.hashCode.toLong, Some(v), 0.25))
    val listed = ColumnProfile(frequent = Some(Frequencies(values, complete = true)))
    assert(new GroupTotals(1000.0, 100.0).largest(listed).forall(_.max <= 2.0))
  }

  test("nothing is said about columns without a range, or with one too large to square") {
    val totals = new GroupTotals(1000.0, 100.0)
    assert(totals.sum(ColumnProfile(min = Some(-Double.MaxValue), max = Some(Double.MaxValue))).isEmpty)
    assert(totals.sum(ColumnProfile()).isEmpty)
    assert(totals.sum(ColumnProfile(min = Some(0.0), max = Some(1e300))).isEmpty)
  }

  private val number = Gen.oneOf(Gen.choose(-1e6, 1e6), Gen.choose(-1e100, 1e100), Gen.const(0.0), Gen.const(1e-300))
  private val sized  = Gen.oneOf(Gen.choose(0.0, 10.0), Gen.choose(0.0, 1e12))

  test("any input gives a distribution: shares between 0 and 1 that add up, whatever the threshold") {
    val heavy = Gen.listOf(sized).map(_.toVector)
    forAll(Gen.zip(number, number), sized, sized, Gen.choose(0.0, 1.0), number, heavy) {
      (ends, rows, groups, share, at, n) =>
        val (a, b)     = ends
        val totals     = new GroupTotals(rows, groups, n)
        val c          = ColumnProfile(min = Some(a min b), max = Some(a max b), nulls = Some(1.0 - share))
        val histograms = Seq(totals.sum(c), totals.average(c), totals.largest(c), totals.smallest(c)).flatten
        assert(histograms.size == 4)
        (totals.count(share) +: histograms).foreach { h =>
          val (below, above) = (h.between(Double.NegativeInfinity, at), h.between(at, Infinite, lowIncluded = false))
          assert(below >= 0.0 && above >= 0.0 && below <= 1.0 && above <= 1.0, s"$below + $above of $h")
          assert(math.abs(h.between(Double.NegativeInfinity, Infinite) - 1.0) < 1e-6)
        }
    }
  }
}
