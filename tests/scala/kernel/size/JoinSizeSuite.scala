package dovetail.kernel.size

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import dovetail.kernel.profile.{Assumptions, ColumnProfile}
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

  private def column(ndv: Option[Double], domain: Option[Double]) = ColumnProfile(ndv = ndv, domain = domain)

  test("semi join: as many of the common domain as the right side still has") {
    assert(semiShare(Some(100.0), column(Some(30.0), Some(100.0))) == 30.0 / 100)
    assert(semiShare(Some(200.0), column(Some(30.0), Some(100.0))) == 30.0 / 200)
    assert(semiShare(None, column(Some(30.0), Some(100.0))) == 30.0 / 100)
    assert(semiShare(Some(10.0), column(Some(30.0), Some(20.0))) == 1.0)
    assert(semiShare(Some(100.0), column(None, Some(100.0))) == Assumptions.SemiJoin)
    assert(semiShare(None, column(Some(30.0), None)) == Assumptions.SemiJoin)
  }

  test("anti join: what a semi join drops, but always something") {
    assert(antiShare(0.3) == 1.0 - 0.3)
    assert(antiShare(1.0) == Assumptions.AntiJoinFloor)
    assert(antiShare(0.999, 0.0) == 1.0 - 0.999)
    assert(antiShare(1.0, 0.001) == 0.001)
  }
}
