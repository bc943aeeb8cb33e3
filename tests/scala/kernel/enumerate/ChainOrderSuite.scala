package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Orders of a chain of joins, compared with all permutations. */
class ChainOrderSuite extends AnyFunSuite {

  /**
   * A chain in which each build multiplies the rows by a factor, some builds need an earlier one, and some joins need a
   * partitioning of the probe.
   */
  final private class Chain(random: Random, builds: Int) {
    val needs: Vector[Long] = Vector.tabulate(builds)(i =>
      if (i > 0 && random.nextInt(4) == 0) 1L << random.nextInt(i) else 0L
    )
    private val factors            = Vector.fill(builds)(math.exp(random.nextGaussian()))
    def rows(joined: Long): Double =
      factors.indices.foldLeft(1000.0)((r, i) => if ((joined >>> i & 1L) == 0L) r else r * factors(i))
    val keys: Vector[Int] = Vector.fill(builds)(if (random.nextBoolean()) ChainOrder.AnyKey else random.nextInt(3))
    val order: ChainOrder =
      new ChainOrder(needs, keys, start = 0, rows, s => s.in + 2.0 * s.out + (if (s.moves) 5.0 * s.in else 0.0))

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
    val order =
      new ChainOrder(Vector.fill(20)(0L), Vector.fill(20)(ChainOrder.AnyKey), 0, rows, s => s.in + s.out)
    assert(order.best == factors.indices.sortBy(factors(_)).toVector)
  }

  test("a build that needs itself, or one behind it, is refused") {
    val keys = Vector.fill(2)(ChainOrder.AnyKey)
    assertThrows[IllegalArgumentException](new ChainOrder(Vector(1L, 0L), keys, 0, _ => 1.0, _.in))
    assertThrows[IllegalArgumentException](new ChainOrder(Vector(2L, 0L), keys, 0, _ => 1.0, _.in))
  }

  test("rows move only for a join whose key they are not partitioned by") {
    val chain = new ChainOrder(Vector.fill(4)(0L), Vector(1, ChainOrder.AnyKey, 1, 2), start = 1, _ => 10.0, _.in)
    assert(chain.steps(Vector(0, 1, 2, 3)).map(_.moves) == Vector(false, false, false, true))
    assert(chain.steps(Vector(3, 1, 0, 2)).map(_.moves) == Vector(true, false, true, false))
    assert(chain.moves(Vector(0, 3, 2, 1)) == 2)
  }

  test("an order that saves rows is not taken if the exchanges it adds cost more") {
    // build 1 leaves a tenth of the rows, but its join needs another partitioning than the probe and build 0 have
    def best(exchange: Double) = {
      val rows = (joined: Long) => if ((joined >>> 1 & 1L) == 0L) 1000.0 else 100.0
      new ChainOrder(Vector(0L, 0L), Vector(0, 1), 0, rows, s => s.in + (if (s.moves) exchange * s.in else 0.0)).best
    }
    // 0, 1: 1000 + 1000 and one exchange of 1000; 1, 0: 1000 + 100 and exchanges of 1000 and 100
    assert(best(exchange = 5.0) == Vector(1, 0))
    assert(best(exchange = 20.0) == Vector(0, 1))
  }
}
