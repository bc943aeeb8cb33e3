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
}
