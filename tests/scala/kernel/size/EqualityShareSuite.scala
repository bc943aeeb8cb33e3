package dovetail.kernel.size

import org.scalacheck.Gen
import org.scalactic.TolerantNumerics
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** The formulas of inner joins by equalities, compared with values computed by hand. */
class EqualityShareSuite extends AnyFunSuite with ScalaCheckPropertyChecks with TableDrivenPropertyChecks {
  import EqualityShare._

  implicit private val tolerance: org.scalactic.Equality[Double] = TolerantNumerics.tolerantDoubleEquality(1e-9)

  private val nan   = Double.NaN
  private val share = Gen.choose(0.0, 1.0)
  private val some  = Gen.choose(1.0, 1e6)

  test("share of a range that lies in another one") {
    val cases = Table(
      ("low", "high", "from", "to", "values", "share"),
      (0.0, 10.0, 0.0, 100.0, 100.0, 0.1),
      (-50.0, 25.0, 0.0, 100.0, 100.0, 0.25), // cut at the lower end
      (90.0, 300.0, 0.0, 100.0, 100.0, 0.1),  // cut at the upper end
      (-1.0, 200.0, 0.0, 100.0, 100.0, 1.0),  // around it
      (5.0, 5.0, 0.0, 100.0, 20.0, 0.05),     // one value of twenty
      (0.0, 1.0, 0.0, 100.0, 4.0, 0.25),      // at least one value of four
      (200.0, 300.0, 0.0, 100.0, 100.0, 1.0), // nothing in common: the caller handles it
      (0.0, 10.0, 7.0, 7.0, 1.0, 1.0),        // one point
      (nan, 10.0, 0.0, 100.0, 100.0, 1.0),
      (0.0, 10.0, nan, nan, 100.0, 1.0)
    )
    forAll(cases)((low, high, from, to, values, expected) => assert(ofRange(low, high, from, to, values) === expected))
    // the width of the range is no number
    assert(ofRange(0.0, Double.MaxValue, -Double.MaxValue, Double.MaxValue, 10.0) === 0.5)
  }

  test("share of a domain along a range of another key: the geometric mean of following it and of standing apart") {
    // 10 of 100 rows stay. There are 4 values of 25 rows each: a domain that follows the range keeps 1/4 (at least one
    // value), an independent one nearly all four.
    val apart = 4 * (1 - math.pow(0.9, 25)) / 4
    assert(alongRange(4.0, 100.0, 0.1) === math.sqrt(0.25 * apart))
    // a key of the table: a tenth is left in either case
    assert(alongRange(100.0, 100.0, 0.1) === 0.1)
    assert(alongRange(100.0, 100.0, 1.0) == 1.0)
    assert(alongRange(1.0, 100.0, 0.5) === 1.0)
  }

  test("share of a domain along a range lies between the restriction and 1") {
    forAll(some, some, share) { (domain, rows, restriction) =>
      whenever(domain <= rows && restriction * rows >= 1.0) {
        val left = alongRange(domain, rows, restriction)
        assert(left >= restriction * (1 - 1e-9) && left <= 1.0)
      }
    }
  }

  test("share of the rows that lie in a part of the domain: as many as the part can hold") {
    val cases = Table(
      ("table rows", "part", "rows", "share"),
      (1000.0, 0.1, 1000.0, 0.1),
      (1000.0, 0.1, 100.0, 1.0),
      (1000.0, 0.1, 50.0, 1.0),
      (1000.0, 0.1, 400.0, 0.25),
      (1000.0, 1.0, 1000.0, 1.0)
    )
    forAll(cases) { (tableRows, part, rows, expected) =>
      assert(ofRows(tableRows, part, rows, None, narrowed = 1.0) === expected)
      // all of the part by predicates of the other side
      assert(ofRows(tableRows, part, rows, None, narrowed = part * 0.5) === part * math.min(1.0, tableRows / rows))
      if (tableRows >= rows) assert(ofRows(1e9, part, rows, Some(tableRows), narrowed = 0.5) === expected)
    }
    // a fortieth of the days by the data, and a fifth of these by predicates on the facts; 92 days are left
    assert(ofRows(73049.0, 0.005, 92.0, None, narrowed = 0.2) === 0.2)
    // more rows in the range than a formula has expected
    assert(ofRows(1e6, 1.0, 50000.0, Some(1300.0), narrowed = 1.0) === 1.0)
  }

  test("share of the pairs: containment in the larger domain") {
    assert(ofPairs(50.0, 80.0, 1.0, 1.0) === 1.0 / 80)
    assert(ofPairs(80.0, 50.0, 1.0, 1.0) === 1.0 / 80)
    assert(ofPairs(50.0, 80.0, 0.5, 1.0) === 0.5 / 80)
    assert(ofPairs(50.0, 80.0, 0.5, 1.4) === 0.7 / 80)
    assert(ofPairs(50.0, 80.0, 0.0, 1.4) == 0.0)
    forAll(some, some, share)((a, b, within) => assert(ofPairs(a, b, within, 1.0) == ofPairs(b, a, within, 1.0)))
  }

  test("joint domain: as counted, at most the product; else by back-off, at most the rows") {
    assert(jointDomain(Some(30.0), Seq(10.0, 10.0), 1000.0) == 30.0)
    assert(jointDomain(Some(30.0), Seq(2.0, 10.0), 1000.0) == 20.0)
    assert(jointDomain(None, Seq(16.0, 100.0), 1000.0) === 400.0) // 100 times the root of 16
    assert(jointDomain(None, Seq(16.0, 100.0), 250.0) == 250.0)
    assert(jointDomain(None, Seq(7.0), 250.0) === 7.0)
  }

  test("composite keys: the joint domain instead of the product, busy combinations instead of busy values") {
    assert(compositeCorrection(1000.0, 100.0, 50.0, 1.0, 1.0) === 10.0)
    assert(compositeCorrection(1000.0, 50.0, 100.0, 1.0, 1.0) === 10.0)
    assert(compositeCorrection(1000.0, 100.0, 50.0, 1.2, 1.5) === 8.0)
    assert(compositeCorrection(1000.0, 0.0, 0.0, 1.0, 1.0) === 1000.0) // a joint domain of 0 counts as one value
  }
}
