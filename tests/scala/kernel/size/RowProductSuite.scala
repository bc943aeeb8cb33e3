package dovetail.kernel.size

import dovetail.kernel.profile.Estimate
import org.scalatest.funsuite.AnyFunSuite

/** Products whose intermediate values exceed the range of a Double. */
class RowProductSuite extends AnyFunSuite {

  private def rows(limit: Double, factors: Double*): Double = {
    val product = new RowProduct
    factors.foreach(product.times)
    product.rows(limit)
  }

  test("a product within the range is the product, from 1 to the limit") {
    assert(rows(Estimate.Ceiling) == 1.0)
    assert(rows(Estimate.Ceiling, 200.0, 50.0, 0.25) == 2500.0)
    assert(rows(1000.0, 200.0, 50.0, 0.25) == 1000.0)
    assert(rows(Estimate.Ceiling, 0.5, 0.5) == 1.0)
    assert(rows(Estimate.Ceiling, 200.0, 0.0) == 1.0)
  }

  test("what grows beyond the range and comes back is not lost, in either direction") {
    val large = Seq.fill(60)(1e9)  // 1e540
    val small = Seq.fill(60)(1e-9) // 1e-540
    assert(math.abs(rows(Estimate.Ceiling, large ++ small :+ 42.0: _*) / 42.0 - 1.0) < 1e-9)
    assert(math.abs(rows(Estimate.Ceiling, small ++ large :+ 42.0: _*) / 42.0 - 1.0) < 1e-9)
  }

  test("what stays beyond the range is at the limit, or at one row") {
    assert(rows(Estimate.Ceiling, Seq.fill(60)(1e9): _*) == Estimate.Ceiling)
    assert(rows(1e12, Seq.fill(60)(1e9): _*) == 1e12)
    assert(rows(Estimate.Ceiling, Seq.fill(60)(1e-9): _*) == 1.0)
  }
}
