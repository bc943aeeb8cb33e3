package dovetail.kernel.size

import scala.util.Random

import org.scalactic.Tolerance
import org.scalatest.funsuite.AnyFunSuite

/** The rows of a key that a sample did not draw, compared with tables of which rows are drawn at random. */
class UndrawnRowsSuite extends AnyFunSuite with Tolerance {

  /** The estimate for a table with these rows per key, of which the sample has its expected frequencies. */
  private def of(rowsPerKey: Vector[Int], fraction: Double): UndrawnRows = {
    val moments = rowsPerKey.map(n => (n * fraction, n * fraction * (1.0 - fraction) + math.pow(n * fraction, 2)))
    new UndrawnRows(moments.map(_._1).sum, moments.map(_._2).sum, fraction, rowsPerKey.size.toDouble)
  }

  test("equally many rows per key: the rest of them") {
    val more = of(Vector.fill(100)(10), 0.3)
    for (drawn <- 0 to 10) assert(more(drawn.toDouble) === 10.0 - drawn +- 1e-6)
    assert(more(12.0) === 0.0)
    assert(more.some(3.0, 1.0) === 1.0 +- 1e-6)
    assert(more.some(10.0, 1.0) === 0.0 +- 1e-6)
    assert(more.some(3.0, 0.1) === 1.0 - math.pow(0.9, 7.0) +- 1e-6)
  }

  test("one row or none: a key that was drawn has no more") {
    val more = of(Vector.tabulate(1000)(i => if (i < 600) 1 else 0), 0.25)
    assert(more(1.0) === 0.0 +- 1e-9)
    // of the keys that were not drawn, 450 of 850 exist
    assert(more(0.0) === 450.0 / 850 +- 1e-9)
    assert(more.some(0.0, 1.0) === 450.0 / 850 +- 1e-9)
    assert(more.some(0.0, 0.5) === 225.0 / 850 +- 1e-9)
    assert(more.some(1.0, 1.0) === 0.0 +- 1e-9)
  }

  test("rows that are spread by chance: each key has as many more, however many were drawn") {
    // a mean of 0.8 rows drawn, and a variance of 0.8 or less
    val even = new UndrawnRows(800.0, 1440.0, 0.4, 1000.0)
    val more = new UndrawnRows(800.0, 1280.0, 0.4, 1000.0)
    for (drawn <- Seq(0.0, 1.0, 5.0)) assert(even(drawn) === 1.2 +- 1e-9)
    assert(even.some(2.0, 1.0) === 1.0 - math.exp(-1.2) +- 1e-6)
    assert(even.some(2.0, 0.25) === 1.0 - math.exp(-0.3) +- 1e-6)
    assert(more(0.0) > more(1.0) && more(1.0) > more(2.0), "less than by chance: the more drawn, the fewer left")
  }

  test("few keys with many rows: the more were drawn, the more there are") {
    val random    = new Random(1)
    val fraction  = 0.2
    val perKey    = Vector.fill(4000)((-math.log(1.0 - random.nextDouble()) * 12).toInt)
    val drawn     = perKey.map(n => (0 until n).count(_ => random.nextDouble() < fraction))
    val (sum, sq) = (drawn.sum.toDouble, drawn.map(d => d.toDouble * d).sum)
    val more      = new UndrawnRows(sum, sq, fraction, perKey.size.toDouble)
    for (n <- 0 to 4) {
      val left = perKey.zip(drawn).collect { case (all, `n`) => (all - n).toDouble }
      assert(more(n.toDouble) === left.sum / left.size +- (0.15 * left.sum / left.size), s"$n drawn")
      assert(more.some(n.toDouble, 1.0) === left.count(_ > 0).toDouble / left.size +- 0.05, s"$n drawn")
    }
  }

  test("nothing drawn, nothing expected") {
    val more = new UndrawnRows(0.0, 0.0, 0.5, 1.0)
    assert(more(0.0) === 0.0)
    assert(more.some(0.0, 1.0) === 0.0)
  }
}
