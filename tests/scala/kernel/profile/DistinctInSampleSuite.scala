package dovetail.kernel.profile

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class DistinctInSampleSuite extends AnyFunSuite {
  private val Rows = 50000

  /** Draws some of `Rows` rows, and returns the estimated and the true number of distinct values. */
  private def estimated(value: Int => Long, drawn: Int): (Double, Double) = {
    val all = Vector.tabulate(Rows)(value)
    (DistinctInSample(new Random(7).shuffle(all).take(drawn).toArray, Rows.toDouble), all.distinct.size.toDouble)
  }

  test("a whole table and a key: exact; nothing: nothing") {
    assert(estimated(_ % 777L, Rows) == ((777.0, 777.0)))
    assert(estimated(_.toLong, 1000) == ((Rows.toDouble, Rows.toDouble)))
    assert(DistinctInSample(Array.emptyLongArray, 1000.0) == 0.0)
    assert(DistinctInSample(Array(5L), 1000.0) == 1000.0, "one row: nobody saw it twice")
  }

  test("few values, many values, two rows per value: near") {
    for (
      (name, value) <-
        Seq[(String, Int => Long)](("few", _ % 50L), ("hundreds", _ % 900L), ("pairs", _ / 2L), ("tens", _ / 10L));
      drawn <- Seq(5000, 20000)
    ) {
      val (found, truth) = estimated(value, drawn)
      assert(math.abs(found / truth - 1.0) < 0.06, s"$name, $drawn drawn: $found instead of $truth")
    }
  }

  test("never fewer than were seen, nor more than there are rows; skew makes it too low, not too high") {
    val random         = new Random(3)
    val skewed         = Vector.fill(Rows)(math.pow(random.nextDouble(), -1.2).toLong)
    val drawn          = new Random(5).shuffle(skewed).take(2000)
    val (found, truth) = (DistinctInSample(drawn.toArray, Rows.toDouble), skewed.distinct.size)
    assert(found >= drawn.distinct.size && found <= 1.2 * truth, s"$found of $truth")
  }
}
