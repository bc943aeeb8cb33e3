package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Orders of a chain of joins, compared with all permutations. */
class ChainOrderSuite extends AnyFunSuite {

  /** A chain in which each build multiplies the rows by a factor, and some builds need an earlier one. */
  final private class Chain(random: Random, builds: Int) {
    val needs: Vector[Long] = Vector.tabulate(builds)(i =>
      if (i > 0 && random.nextInt(4) == 0) 1L << random.nextInt(i) else 0L
    )
    private val factors            = Vector.fill(builds)(math.exp(random.nextGaussian()))
    def rows(joined: Long): Double =
      factors.indices.foldLeft(1000.0)((r, i) => if ((joined >>> i & 1L) == 0L) r else r * factors(i))
    val order: ChainOrder = new ChainOrder(builds, needs, rows, (in, out) => in + 2.0 * out)

    def legal(order: Seq[Int]): Boolean =
      order.indices.forall(n => (needs(order(n)) & ~order.take(n).foldLeft(0L)((m, i) => m | 1L << i)) == 0L)
  }

  test("the exact order costs as little as any legal permutation") {
    val random = new Random(7)
    (1 to 200).foreach { n =>
      val chain = new Chain(random, 1 + n % 6)
      val best  = chain.order.best
      val all   = chain.needs.indices.permutations.filter(chain.legal).map(o => chain.order.costOf(o.toVector)).toVector
      assert(chain.legal(best) && best.sorted == chain.needs.indices.toVector)
      assert(math.abs(chain.order.costOf(best) - all.min) <= 1e-9 * all.min, s"$best")
    }
  }

  test("a long chain has a legal order, the builds that leave the fewest rows first") {
    val random = new Random(8)
    (1 to 20).foreach { _ =>
      val chain = new Chain(random, ChainOrder.MostExact + 1 + random.nextInt(30))
      val best  = chain.order.best
      assert(chain.legal(best) && best.sorted == chain.needs.indices.toVector)
    }
    // no build needs another one: they are ordered by how few rows they leave
    val factors = Vector.tabulate(20)(i => 1.0 / (1 + (i * 7) % 20))
    val rows    =
      (joined: Long) => factors.indices.foldLeft(1e6)((r, i) => if ((joined >>> i & 1L) == 0L) r else r * factors(i))
    val order = new ChainOrder(20, Vector.fill(20)(0L), rows, (in, out) => in + out)
    assert(order.best == factors.indices.sortBy(factors(_)).toVector)
  }

  test("a build that needs itself, or one behind it, is refused") {
    assertThrows[IllegalArgumentException](new ChainOrder(2, Vector(1L, 0L), _ => 1.0, _ + _))
    assertThrows[IllegalArgumentException](new ChainOrder(2, Vector(2L, 0L), _ => 1.0, _ + _))
  }
}
