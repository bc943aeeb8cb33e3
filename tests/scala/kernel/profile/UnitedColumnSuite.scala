package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Columns of unions: compared with the columns of the values that the branches have. */
class UnitedColumnSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def range(low: Double, high: Double, ndv: Double): ColumnProfile =
    ColumnProfile(ndv = Some(ndv), domain = Some(ndv), nulls = Some(0.0), min = Some(low), max = Some(high))

  private def united(branches: (Double, ColumnProfile)*): ColumnProfile = UnitedColumn(branches.toVector)

  private def listed(shares: (Long, Double)*): ColumnProfile = {
    val n = Some(shares.size.toDouble)
    ColumnProfile(
      ndv = n,
      domain = n,
      frequent = Some(Frequencies(shares.map { case (k, s) => FrequentValue(k, None, s) }.toVector, complete = true))
    )
  }

  test("a table for each month: the values add up; tables of the same keys have these keys once") {
    val months = (0 until 12).map(m => 6e6 -> range(m * 2e6, (m + 1) * 2e6 - 1.0, 2e6))
    assert(united(months: _*).ndv.contains(24e6) && united(months.reverse: _*).domain.contains(24e6))
    val keys = (1 to 3).map(_ => 1e6 -> range(1.0, 18000.0, 18000.0))
    assert(united(keys: _*).ndv.contains(18000.0))
    // half of the second branch is new
    assert(united(1e6 -> range(0.0, 200.0, 200.0), 1e6 -> range(100.0, 300.0, 100.0)).ndv.contains(250.0))
  }

  test("a union is counted if nobody has counted only a few of its values") {
    val (counted, few) = (range(0.0, 1e6, 1e5), range(0.0, 1e6, 10.0).copy(uncounted = true))
    assert(!united(1e7 -> counted, 10.0 -> few).uncounted && !united(1e7 -> counted, 1e7 -> counted).uncounted)
    assert(united(1e7 -> counted, 1e6 -> range(0.0, 1e6, 6e4).copy(uncounted = true)).uncounted)
    assert(united(10.0 -> few).uncounted)
  }

  test("the values of whole numbers in random ranges are counted, whatever the order of the branches") {
    val branch = for (low <- Gen.choose(0, 3000); size <- Gen.choose(2, 1000)) yield (low, low + size)
    forAll(Gen.choose(1, 12).flatMap(Gen.listOfN(_, branch))) { branches =>
      val truth = branches.flatMap { case (low, high) => low until high }.toSet.size.toDouble
      val parts = branches.map { case (low, high) =>
        (high - low).toDouble -> range(low.toDouble, high.toDouble, (high - low).toDouble)
      }
      val found = united(parts: _*).ndv.get
      assert(math.abs(found - truth) < 1e-6 * truth)
      assert(found >= parts.map(_._2.ndv.get).max && found <= parts.map(_._1).sum)
    }
  }

  test("an upper limit in one branch is an upper limit of the union, unless all values are known") {
    val limit = range(0.0, 1e6, 6e5).copy(uncounted = true, repetition = 0.5)
    val both  = united(6e5 -> limit, 6e5 -> range(0.0, 1e6, 6e5))
    assert(both.uncounted && math.abs(both.repetition - 0.25) < 1e-12)
    val known = listed(1L -> 0.5, 2L -> 0.5).copy(uncounted = true)
    assert(!united(10.0 -> known, 10.0 -> known).uncounted)
  }

  test("without ranges, the branches are taken to have the same values") {
    val text = ColumnProfile(ndv = Some(50.0), domain = Some(60.0))
    val both = united(100.0 -> text, 1000.0 -> text.copy(ndv = Some(40.0)))
    assert(both.ndv.contains(50.0) && both.domain.contains(60.0))
    assert(united(100.0 -> text, 100.0 -> ColumnProfile()).ndv.isEmpty)
    assert(united(100.0 -> range(0.0, 9.0, 10.0), 100.0 -> text).ndv.contains(50.0))
  }

  test("NULLs and rows that were never seen are shares of all rows; a branch of NULLs has no values") {
    val none = ColumnProfile(ndv = Some(1.0), domain = Some(1.0), nulls = Some(1.0))
    val one  = range(1.0, 5.0, 5.0)
    val c    = united(300.0 -> one.copy(nulls = Some(0.5), unseen = 0.4), 100.0 -> none)
    assert(c.nulls.exists(n => math.abs(n - 250.0 / 400) < 1e-12) && math.abs(c.unseen - 0.3) < 1e-12)
    assert(c.ndv.contains(5.0) && c.min.contains(1.0) && c.max.contains(5.0))
    assert(united(10.0 -> none, 10.0 -> none).ndv.isEmpty && united(10.0 -> none).nulls.contains(1.0))
    assert(united(100.0 -> ColumnProfile(), 100.0 -> ColumnProfile()).nulls.isEmpty)
    // no rows, no values
    assert(united(0.0 -> ColumnProfile(), 10.0 -> one).min.contains(1.0))
  }

  test("values that are all known keep their shares, weighted by rows") {
    val c = united(100.0 -> listed(1L -> 1.0), 200.0 -> listed(2L -> 1.0), 100.0 -> listed(1L -> 0.5, 3L -> 0.5))
    assert(c.frequent.contains(Frequencies(
      Vector(FrequentValue(2L, None, 0.5), FrequentValue(1L, None, 0.375), FrequentValue(3L, None, 0.125)),
      complete = true
    )))
    assert(c.ndv.contains(3.0) && c.domain.contains(3.0))
    assert(united(100.0 -> listed(1L -> 1.0), 100.0 -> ColumnProfile(ndv = Some(4.0))).frequent.isEmpty)
    // too many to keep all: the number of values is still known
    val many = (0L until 3L).map(i => 1000.0 -> listed((0L until 400L).map(k => (i * 400L + k) -> 1.0 / 400): _*))
    val most = united(many: _*)
    assert(most.frequent.exists(f => !f.complete && f.values.size == UnitedColumn.MostFrequent))
    assert(most.ndv.contains(1200.0))
  }
}
