package dovetail.kernel.size

import dovetail.kernel.profile.Estimate
import org.scalatest.funsuite.AnyFunSuite

class SetSizeSuite extends AnyFunSuite {

  test("a filter keeps a share of the rows, at least one; cautious rows and the bound ignore it") {
    assert(SetSize(100.0, 300.0, 900.0).kept(0.25) == SetSize(25.0, 300.0, 900.0))
    assert(SetSize(100.0, 300.0, 900.0).kept(0.0) == SetSize(1.0, 300.0, 900.0))
  }

  test("the estimate is cut off at the bound, all numbers at the ceiling") {
    assert(SetSize(1000.0, 300.0, 900.0).capped == SetSize(900.0, 300.0, 900.0))
    assert(SetSize(0.5, 1.0, 900.0).capped == SetSize(1.0, 1.0, 900.0))
    assert(SetSize(1e40, 1e40, 1e50).capped == SetSize(Estimate.Ceiling, Estimate.Ceiling, Estimate.Ceiling))
  }
}
