package dovetail.kernel.profile

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Intervals for shares of a table, by simulated samples. */
class SamplingSuite extends AnyFunSuite {

  test("the true share lies in the likely interval in nearly all samples, and never above the certain bound") {
    val random = new Random(5)
    val drawn  = 500
    for (share <- Seq(0.001, 0.01, 0.2, 0.5, 0.99)) {
      val found = (1 to 1000).map { _ =>
        val kept        = (1 to drawn).count(_ => random.nextDouble() < share).toDouble
        val (low, high) = Sampling.likely(kept, drawn.toDouble)
        assert(0.0 <= low && low <= high && high <= Sampling.atMost(kept, drawn.toDouble))
        assert(share <= Sampling.atMost(kept, drawn.toDouble))
        low <= share && share <= high
      }
      assert(found.count(identity) >= 900, s"share $share")
    }
  }

  test("nothing drawn tells nothing; no row or every row kept leaves the interval open on one side") {
    assert(Sampling.likely(0.0, 0.0) == ((0.0, 1.0)))
    val (none, few) = Sampling.likely(0.0, 100.0)
    assert(none == 0.0 && few > 0.0 && few < 0.1)
    val (most, all) = Sampling.likely(100.0, 100.0)
    assert(math.abs(all - 1.0) < 1e-9 && most > 0.9 && most < 1.0)
  }

  test("what no drawn row has: the formula's number if it is too small to be seen, less than one row otherwise") {
    def near(a: Double, b: Double) = assert(math.abs(a / b - 1.0) < 0.1, s"$a is not near $b")
    near(Sampling.unseen(20000.0, 1e-6), 1e-6)
    near(Sampling.unseen(20000.0, 0.1), 1.0 / 20000.0)
    near(Sampling.share(0.0, 20000.0, 1e-6), 1e-6)
    assert(Sampling.unseen(20000.0, 0.0) == 0.0)
  }

  test("partners of randomly drawn rows: many rows with partners decide, few are mixed with what they allow") {
    def partners(hits: Double, formula: Double) =
      Sampling.partnersOfRandom(hits / 20000.0, hits, 20000.0, formula / 20000.0) * 20000.0
    // numbers of rows: with a thousand hits, no formula matters
    for (formula <- Seq(1e-3, 1000.0, 1e6)) assert(math.abs(partners(1000.0, formula) - 1000.0) < 10.0)
    // one hit happens by chance where a tenth is expected, and it excludes thousands
    assert(partners(1.0, 0.1) > 0.2 && partners(1.0, 0.1) < 0.6)
    assert(partners(1.0, 1e4) > 1.0 && partners(1.0, 1e4) < 5.0)
    // the result lies between count and formula, and moves with both
    for (hits <- Seq(1.0, 3.0, 10.0, 50.0); formula <- Seq(0.01, 1.0, 30.0, 1e5)) {
      val mixed = partners(hits, formula)
      assert(mixed >= math.min(hits, formula) * 0.999 && mixed <= math.max(hits, formula) * 1.001, s"$hits, $formula")
      assert(mixed <= partners(hits, formula * 2.0) && mixed <= partners(hits * 1.1, formula))
    }
  }
}
