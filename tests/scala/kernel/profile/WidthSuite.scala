package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Byte bounds hold for any part of a table's rows, and a column without a bound leaves its row without one. */
class WidthSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val lengths =
    Gen.nonEmptyListOf(Gen.oneOf(Gen.choose(0, 40), Gen.choose(0, 100000))).map(_.map(_.toDouble).toVector)

  private def text(values: Vector[Double], longest: Boolean, total: Boolean): Width = Width.measured(
    values.sum / values.size,
    if (longest) Some(values.max) else None,
    if (total) Some(Width.padded(values.size.toDouble, values.sum)) else None,
    Source.Footer
  )

  test("no choice of rows exceeds the bound, by longest value or by total") {
    forAll(lengths, Gen.oneOf(true, false), Gen.long) { (values, byLongest, seed) =>
      val width  = text(values, longest = byLongest, total = !byLongest)
      val bytes  = RowBytes(Vector(width, Width.fixed(4.0, Width.Slot)))
      val chosen = new scala.util.Random(seed).shuffle(values).take(1 + (seed.abs % values.size).toInt)
      val taken  = chosen.map(l => Width.slot(l) + Width.Slot).sum
      assert(bytes.atMost(chosen.size.toDouble, values.size.toDouble) >= taken - 1e-6)
    }
  }

  test("rows that each come k times take k times the total") {
    val bytes = RowBytes(Vector(text(Vector(1.0, 999.0), longest = false, total = true)))
    assert(bytes.atMost(2.0, 2.0) === Width.slot(1.0) + Width.slot(999.0))
    assert(bytes.atMost(1.0, 2.0) === bytes.atMost(2.0, 2.0) - Width.Slot, "the one row may be the long one")
    assert(bytes.atMost(6.0, 2.0) === 3.0 * bytes.atMost(2.0, 2.0))
    assert(bytes.atMost(5.0, 2.0) - bytes.atMost(4.0, 2.0) === 0.5 * Width.padded(2.0, 1000.0) + Width.Slot)
  }

  test("the tighter of both bounds: few rows by their longest values, many by the total") {
    val bytes = RowBytes(Vector(Width(10.0, most = 100.0, total = 1000.0, Source.Collected)))
    assert(bytes.atMost(3.0, 100.0) === 300.0)
    assert(bytes.atMost(50.0, 100.0) === 1000.0 + 50.0 * Width.Slot)
  }

  test("one column that nobody measured leaves a row without a bound") {
    val known = Width.measured(5.0, Some(9.0), Some(900.0), Source.Footer)
    assert(RowBytes(Vector(known, Width.unknown(20.0))).atMost(1.0, 1.0) === Estimate.Ceiling)
    assert(RowBytes(Vector(known)).atMost(1.0, 1.0) < 100.0)
    assert(!known.or(Width.unknown(1.0)).known && known.or(known).known && known.multiplied.total === Estimate.Ceiling)
    assert(known.or(Width.unknown(1.0)).source == Source.Assumed)
  }
}
