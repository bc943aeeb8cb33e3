package dovetail.kernel.profile

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/**
 * Checks of numbers before they are used: corrupt statistics are dropped and reported, estimates keep their invariants,
 * and the formulas of assumptions keep their bounds.
 */
class ProfilesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val sane = Map("ndv" -> 50.0, "nulls" -> 10.0, "rows" -> 100.0, "min" -> 1.0, "max" -> 9.0, "width" -> 8.0)

  private def checked(changes: (String, Double)*): (ColumnProfile, Seq[String]) = {
    val n = sane ++ changes
    ColumnProfile.checked(
      n.get("ndv"),
      n.get("nulls"),
      n.get("rows"),
      n.get("min"),
      n.get("max"),
      None,
      n.get("width").map(Width.unknown)
    )
  }

  test("sane numbers pass") {
    assert(checked() == ((
      ColumnProfile(Some(50.0), Some(50.0), Some(10.0 / 100), Some(1.0), Some(9.0), None, Width.unknown(8.0)),
      Nil
    )))
  }

  test("what contradicts itself is dropped and named, the rest stays") {
    val cases = Seq[(String, Seq[(String, Double)], String, ColumnProfile => Boolean)](
      ("negative NDV", Seq("ndv" -> -1.0), "distinct count -1.0", _.ndv.isEmpty),
      ("NDV 0 with rows", Seq("ndv" -> 0.0), "distinct count 0.0", c => c.ndv.isEmpty && c.domain.isEmpty),
      ("NaN NDV", Seq("ndv" -> Double.NaN), "distinct count NaN", _.ndv.isEmpty),
      ("negative nulls", Seq("nulls" -> -5.0), "null count -5.0", _.nulls.isEmpty),
      ("more nulls than rows", Seq("nulls" -> 101.0), "null count 101.0", _.nulls.isEmpty),
      ("min above max", Seq("min" -> 10.0), "min 10.0 above max 9.0", c => c.min.isEmpty && c.max.isEmpty),
      ("negative width", Seq("width" -> -8.0), "width -8.0", _.width == Width.unknown(Assumptions.StringBytes)),
      ("NaN rows", Seq("rows" -> Double.NaN), "row count NaN", c => c.ndv.contains(50.0) && c.nulls.isEmpty),
      ("negative rows", Seq("rows" -> -100.0), "row count -100.0", c => c.ndv.contains(50.0) && c.nulls.isEmpty)
    )
    for ((what, changes, fault, dropped) <- cases) {
      val (profile, faults) = checked(changes: _*)
      assert(faults == Seq(fault), what)
      assert(dropped(profile), what)
    }
  }

  test("NDV 0 is right where all rows are NULL or there are none") {
    assert(checked(
      "ndv"   -> 0.0,
      "nulls" -> 100.0
    ) == ((ColumnProfile(Some(0.0), Some(0.0), Some(1.0), Some(1.0), Some(9.0), None, Width.unknown(8.0)), Nil)))
    assert(checked("ndv" -> 0.0, "nulls" -> 0.0, "rows" -> 0.0)._2.isEmpty)
  }

  test("more distinct values than rows are as many as rows; infinite ends of a range are no range") {
    assert(checked("ndv" -> 150.0)._1.ndv.contains(100.0))
    assert(checked("max" -> Double.PositiveInfinity)._1.max.isEmpty)
    assert(checked("min" -> Double.NaN)._1.min.isEmpty)
  }

  test("a histogram that cannot be is dropped and named") {
    def withHistogram(h: => Histogram) = ColumnProfile.checked(Some(5.0), None, None, None, None, Some(h), None)
    assert(withHistogram(Histogram(Vector(Bucket(1, 2, 2))))._1.histogram.nonEmpty)
    for (
      h <- Seq[() => Histogram](
        () => Histogram(Vector.empty),
        () => Histogram(Vector(Bucket(2, 1, 2))),
        () => Histogram(Vector(Bucket(1, Double.NaN, 2))),
        () => Histogram(Vector(Bucket(1, Double.PositiveInfinity, 2))),
        () => Histogram(Vector(Bucket(1, 2, -1))),
        () => Histogram(Vector(Bucket(1, 5, 2), Bucket(3, 9, 2)))
      )
    ) {
      val (profile, faults) = withHistogram(h())
      assert(profile.histogram.isEmpty && faults.size == 1 && faults.head.startsWith("histogram: "))
    }
  }

  test("any numbers at all make a profile") {
    val number = Gen.option(Gen.oneOf(
      Gen.oneOf(Double.NaN, Double.NegativeInfinity, Double.PositiveInfinity, 0.0, -0.0, -1.0),
      Gen.choose(-1e18, 1e18)
    ))
    forAll(number, number, number, number, number, number) { (ndv, nulls, rows, min, max, width) =>
      val (c, _) = ColumnProfile.checked(ndv, nulls, rows, min, max, None, width.map(Width.unknown))
      assert(c.nonNull >= 0.0 && c.nonNull <= 1.0 && c.ndv.forall(_ >= 0.0) && c.width.sensible)
    }
  }

  private val estimates =
    for {
      v <- Gen.choose(0.0, 1e12); l <- Gen.choose(0.0, 1.0); u <- Gen.choose(1.0, 100.0); s <- Gen.oneOf(Source.all)
    } yield Estimate(v, v * l, v * u, s)

  private def sound(e: Estimate) = assert(0.0 <= e.lower && e.lower <= e.value && e.value <= e.upper)

  test("an estimate is refused when it is not within its bounds") {
    for ((v, l, u) <- Seq((1.0, 2.0, 3.0), (4.0, 2.0, 3.0), (1.0, -1.0, 3.0), (Double.NaN, 0.0, 1.0)))
      assertThrows[IllegalArgumentException](Estimate(v, l, u, Source.Exact))
  }

  test("sums, products, shares and caps of estimates stay within their bounds; the weakest source wins") {
    forAll(estimates, estimates, Gen.choose(0.0, 2.0), Gen.choose(0.0, 1e6)) { (a, b, s, cap) =>
      Seq(a * b, a + b, a.scaled(s), a.atMost(cap)).foreach(sound)
      assert((a * b).source.rank == math.max(a.source.rank, b.source.rank) && (a + b).source == (a * b).source)
      assert((a + b).value == a.value + b.value && a.atMost(cap).upper <= cap)
    }
  }

  test("a share keeps the upper bound and gives up the lower one") {
    assert(Estimate(100, 50, 200, Source.Catalog).scaled(0.1) == Estimate(100 * 0.1, 0, 200, Source.Catalog))
    assert(Estimate(100, 50, 200, Source.Catalog).scaled(3.0) == Estimate(200, 0, 200, Source.Catalog))
  }

  test("nothing exceeds the ceiling") {
    assert(Estimate.exactly(1e300, Source.Exact).upper == Estimate.Ceiling)
    assert((Estimate.exactly(1e20, Source.Exact) * Estimate.guess(
      1e20,
      Source.Assumed
    )) == Estimate(Estimate.Ceiling, 0.0, Estimate.Ceiling, Source.Assumed))
    assert(Estimate.upTo(5, 3, Source.Exact) == Estimate(3, 0, 3, Source.Exact))
  }

  test("distinctAfter: between nothing and all, growing with the rows kept, and Yao's limits") {
    val positive = Gen.choose(0.0, 6.0).map(math.pow(10.0, _))
    forAll(positive, positive, Gen.choose(0.0, 1.2), Gen.choose(0.0, 1.2)) { (ndv, rows, s, t) =>
      val (few, many) = (math.min(s, t) * rows, math.max(s, t) * rows)
      val d           = Assumptions.distinctAfter(ndv, rows, few)
      assert(d >= 0.0 && d <= ndv * (1 + 1e-9) && d <= few * (1 + 1e-9))
      assert(d <= Assumptions.distinctAfter(ndv, rows, many) * (1 + 1e-9))
    }
    assert(Assumptions.distinctAfter(100, 1000, 1000) == 100.0)
    assert(Assumptions.distinctAfter(100, 1000, 0) == 0.0)
    // a key loses values with the rows; a column of few values keeps them
    assert(math.abs(Assumptions.distinctAfter(1000, 1000, 10) - 10) < 1e-6)
    assert(Assumptions.distinctAfter(3, 1e6, 1e4) > 3 - 1e-6)
  }

  test("distinctAfter agrees with counting in a random sample") {
    val random = new scala.util.Random(1)
    for ((ndv, rows, kept) <- Seq((100, 10000, 50), (100, 10000, 300), (5000, 10000, 2000), (1000, 100000, 1000))) {
      val counted =
        (1 to 20).map(_ => random.shuffle((0 until rows).toVector).take(kept).map(_ % ndv).distinct.size).sum / 20.0
      assert(
        math.abs(Assumptions.distinctAfter(ndv, rows, kept) / counted - 1) < 0.05,
        s"$ndv of $rows, $kept kept: counted $counted"
      )
    }
  }

  test(
    "keysAfter: between keys that stay or go as a whole and rows that do so one by one, growing with the rows kept"
  ) {
    val positive = Gen.choose(0.0, 6.0).map(math.pow(10.0, _))
    forAll(positive, Gen.choose(0.0, 1.0), Gen.choose(0.0, 1.2), Gen.choose(0.0, 1.2)) { (rows, unique, s, t) =>
      val ndv         = math.max(1.0, rows * unique)
      val (few, many) = (math.min(s, t) * rows, math.max(s, t) * rows)
      val keys        = Assumptions.keysAfter(ndv, rows, few)
      assert(keys >= math.min(1.0, few / rows) * ndv * (1 - 1e-9))
      assert(keys <= Assumptions.distinctAfter(ndv, rows, few) * (1 + 1e-9))
      assert(keys <= Assumptions.keysAfter(ndv, rows, many) * (1 + 1e-9))
    }
    // each key has one row, which stays or goes
    assert(math.abs(Assumptions.keysAfter(1000, 1000, 10) - 10) < 1e-6)
    assert(Assumptions.keysAfter(100, 1000, 1000) == 100.0 && Assumptions.keysAfter(100, 1000, 0) == 0.0)
  }

  test("keysAfter errs by less than distinctAfter where rows come in baskets") {
    // a thousand customers, each with three baskets of ten rows; a tenth of the baskets is kept
    val random                = new scala.util.Random(1)
    val baskets               = random.shuffle((0 until 3000).toVector).take(300).map(_ % 1000).distinct.size
    def off(estimate: Double) = math.abs(math.log(estimate / baskets))
    assert(off(Assumptions.keysAfter(1000, 30000, 3000)) < off(Assumptions.distinctAfter(1000, 30000, 3000)) / 4)
  }

  test("back-off: between independence and full correlation, whatever the order") {
    val shares = Gen.listOf(Gen.choose(0.0, 1.0))
    forAll(shares, Gen.choose(0.0, 1.0)) { (ss, one) =>
      val s = Assumptions.conjunction(ss)
      assert(s >= ss.product * (1 - 1e-9) && s <= (1.0 +: ss).min * (1 + 1e-9))
      assert(Assumptions.conjunction(ss.reverse) == s)
      assert(Assumptions.conjunction(one :: ss) <= s * (1 + 1e-9), "one more")
    }
    assert(Assumptions.conjunction(Nil) == 1.0 && Assumptions.conjunction(Seq(0.3)) == 0.3)
    assert(Assumptions.conjunction(Seq(0.5, 0.01)) < 0.01)
  }

  test("the joint NDV of columns: between the largest one and their product, whatever the order") {
    forAll(Gen.nonEmptyListOf(Gen.choose(1.0, 1e6))) { ndvs =>
      val joint = Assumptions.jointNdv(ndvs)
      assert(joint >= ndvs.max * (1 - 1e-9) && joint <= ndvs.product * (1 + 1e-9))
      assert(Assumptions.jointNdv(ndvs.reverse) == joint)
    }
    assert(Assumptions.jointNdv(Seq(4.0, 100.0)) > 100.0)
  }
}
