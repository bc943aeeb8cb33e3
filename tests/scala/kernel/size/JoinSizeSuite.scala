package dovetail.kernel.size

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, RelationProfile, Source}
import dovetail.kernel.size.JoinSize._

/**
 * Size formulas of joins: those of Spark's cost-based optimizer (Hu et al. 2017), and Dovetail's for the joins whose
 * inputs' sizes Spark passes through.
 */
class JoinSizeSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val (a, b, distinctA, distinctB) = (1000.0, 400.0, 50.0, 80.0)

  test("num(A IJ B) = num(A) * num(B) / max(distinct(A.k), distinct(B.k))") {
    assert(a * b * equality(distinctA, distinctB) == a * b / math.max(distinctA, distinctB))
    assert(a * b * equality(distinctB, distinctA) == a * b / math.max(distinctA, distinctB))
    assert(equality(0.0, 0.0) == 1.0)
  }

  test("num(A LOJ B) = max(num(A IJ B), num(A)), and num(A ROJ B) is the same from the other side") {
    assert(leftOuter(5000.0, a) == 5000.0)
    assert(leftOuter(200.0, a) == a)
    assert(leftOuter(200.0, b) == b)
  }

  test("num(A FOJ B) = num(A LOJ B) + num(A ROJ B) - num(A IJ B)") {
    assert(fullOuter(200.0, a, b) == a + b - 200.0)
    assert(fullOuter(5000.0, a, b) == 5000.0)
    assert(fullOuter(600.0, a, b) == a + 600.0 - 600.0)
  }

  test("a full outer join is at least as large as any of the others") {
    val rows = Gen.choose(0.0, 1e9)
    forAll(rows, rows, Gen.choose(0.0, 1.0)) { (l, r, s) =>
      val ij = l * r * s
      assert(fullOuter(ij, l, r) >= Seq(ij, leftOuter(ij, l), leftOuter(ij, r)).max * (1 - 1e-9))
    }
  }

  private def relation(rows: Double) = RelationProfile(Estimate.exactly(rows, Source.Exact), Map.empty, rows)

  test("semi join: as many of the common domain as the right side still has") {
    def share(leftDomain: Option[Double], ndv: Option[Double], domain: Option[Double]) =
      semiShare(
        ColumnProfile(ndv = leftDomain, domain = leftDomain) -> relation(a),
        ColumnProfile(ndv = ndv, domain = domain)            -> relation(b)
      )
    assert(share(Some(100.0), Some(30.0), Some(100.0)) == 30.0 / 100)
    assert(share(Some(200.0), Some(30.0), Some(100.0)) == 30.0 / 200)
    assert(share(None, Some(30.0), Some(100.0)) == 30.0 / 100)
    assert(share(Some(10.0), Some(30.0), Some(20.0)) == 1.0)
    assert(share(Some(100.0), None, Some(100.0)) == Assumptions.SemiJoin)
    assert(share(None, Some(30.0), None) == Assumptions.SemiJoin)
    // at most as many keys as rows
    assert(math.abs(share(Some(b * 1000), None, None) - 1.0 / 1000) < 1e-9)
  }

  private def days(from: Double, to: Double, ndv: Double, unseen: Double = 0.0) =
    ColumnProfile(
      ndv = Some(ndv),
      domain = Some(to - from + 1.0),
      min = Some(from),
      max = Some(to),
      unseen = unseen
    )

  test("semi join: sales of 5 years that are looked up in one year of 200 years of days") {
    val (sales, year) = (days(36000, 37824, 1825), days(0, 72999, 365))
    val dimension     = relation(73000).copy(rows = Estimate.exactly(365, Source.Exact))
    assert(math.abs(semiShare(sales -> relation(1e6), year -> dimension) - 365.0 / 1825) < 1e-3)
    assert(semiShare(sales -> relation(1e6), days(0, 72999, 73000) -> relation(73000)) > 0.999, "all days are there")
    // one in forty days of the dimension has sales
    assert(math.abs(semiShare(days(0, 72999, 73000) -> relation(73000), sales -> relation(1e6)) - 0.025) < 1e-3)
  }

  test("semi join: predicates on both sides that are independent of each other") {
    // one in a hundred orders by their day, and items of one in 25 orders by another predicate
    val orders = days(0, 149999, 150000).copy(domain = Some(150000.0), rangeRows = Some(150000.0))
    val items  = days(0, 14999999, 600000).copy(domain = Some(15e6))
    val some   = relation(6e7).copy(rows = Estimate.exactly(6e5, Source.Exact))
    val mine   = relation(15e6).copy(rows = Estimate.exactly(150000, Source.Exact))
    assert(math.abs(semiShare(orders -> mine, items -> some) - 0.04) < 0.005)
  }

  test("anti join: of new rows, half of which lie beyond all rows that there are, half have no partner") {
    val share = semiShare(days(500, 1499, 1000) -> relation(1000), days(0, 999, 1000) -> relation(1000))
    assert(math.abs(antiShare(share) - 0.5) < 1e-2)
  }

  test("ranges that have nothing in common leave no partners, unless rows were added later") {
    val (old, today) = (days(0, 99, 100), days(100, 100, 1))
    assert(semiShare(old -> relation(a), today -> relation(b)) == 0.0)
    assert(semiShare(old.copy(unseen = 0.01) -> relation(a), today -> relation(b)) == 0.01)
    assert(semiShare(today -> relation(b), old.copy(unseen = 0.01) -> relation(a)) > 0.0)
  }

  test("anti join: what a semi join drops, but always something") {
    assert(antiShare(0.3) == 1.0 - 0.3)
    assert(antiShare(1.0) == Assumptions.AntiJoinFloor)
    assert(antiShare(0.999, 0.0) == 1.0 - 0.999)
    assert(antiShare(1.0, 0.001) == 0.001)
  }
}
