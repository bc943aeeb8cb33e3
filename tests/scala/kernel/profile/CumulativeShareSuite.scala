package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Shares of values in ranges, and the histograms that are made from some values. */
class CumulativeShareSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  private val values = Gen.nonEmptyListOf(Gen.choose(-50, 50).map(_.toDouble)).map(_.sorted.toArray)
  private val ends   = Gen.choose(-60.0, 60.0)

  test("shares add up, and lie between 0 and 1") {
    forAll(values, Gen.choose(1, 20), ends, ends, ends) { (vs, parts, a, b, c) =>
      val of              = CumulativeShare(Histogram.ofQuantiles(vs, parts, None, None))
      val sorted          = Vector(a, b, c).sorted
      val (x, y, z)       = (sorted(0), sorted(1), sorted(2))
      val (first, second) = (of.between(x, y), of.between(y, z))
      assert(first >= 0.0 && of.between(x, z) <= 1.0 && of.between(-100.0, 100.0) === 1.0)
      // a value that fills buckets counts on both sides of itself
      assert(first + second >= of.between(x, z) - 1e-9)
    }
  }

  test("it is about the number of values in the range, if the quantiles are many") {
    forAll(values, ends, ends) { (vs, a, b) =>
      val (low, high) = (math.min(a, b), math.max(a, b))
      val of          = CumulativeShare(Histogram.ofQuantiles(vs, vs.length, None, None))
      val inside      = vs.count(v => v >= low && v <= high)
      assert(math.abs(of.between(low, high) * vs.length - inside) <= 2.0 + 1e-9)
    }
  }

  test("frequent values count as a whole, at both ends") {
    val of =
      CumulativeShare(Histogram(Vector(Bucket(1.0, 1.0, 1.0, 3.0), Bucket(1.0, 5.0, 4.0), Bucket(5.0, 9.0, 4.0))))
    assert(of.between(1.0, 1.0) === 0.6 && of.between(1.0, 5.0) === 0.8 && of.between(2.0, 7.0) === 0.25)
    assert(of.between(-5.0, 0.5) === 0.0 && of.between(9.5, 12.0) === 0.0 && of.between(5.0, 2.0) == 0.0)
  }

  test("a value far from all others takes its own share, not that of the range it makes wide") {
    val dates = -1.0 +: (1 to 3650).map(20000000.0 + _).toArray
    val of    = CumulativeShare(Histogram.ofQuantiles(dates, 64, Some(-1.0), Some(20003650.0)))
    assert(of.between(20000001.0, 20003650.0) > 0.98 && of.between(-1.0, 100.0) < 0.01)
    assert(math.abs(of.between(20000001.0, 20000365.0) - 0.1) < 0.01)
  }

  test("places that are spread evenly over an ordered table give an even spread") {
    def of(place: Double) = {
      val places = (0 until 8).flatMap(i => Vector.fill(100)(1000.0 * (i + place))).toArray
      CumulativeShare(Histogram.ofQuantiles(places, 8, Some(0.0), Some(8000.0), place))
    }
    // in the middle of the part that it stands for, and at its beginning
    Seq(0.5, 0.05).map(of).foreach { s =>
      forAll(Gen.choose(0.0, 8000.0))(v => assert(s.between(0.0, v) === v / 8000.0))
    }
  }

  test("-0.0 is 0.0, at the ends of buckets and of ranges") {
    val of = CumulativeShare(Histogram(Vector(Bucket(-0.0, 0.0, 1.0), Bucket(0.0, 10.0, 10.0))))
    assert(of.between(0.0, 10.0) === 1.0 && of.between(-0.0, 10.0) === 1.0 && of.between(-0.0, 0.0) === 0.5)
  }
}
