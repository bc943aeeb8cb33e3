package dovetail.kernel.enumerate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import dovetail.kernel.Graphs

/** The order of Ibaraki and Kameda, compared with all orders without a cross product. */
class IkkbzSuite extends AnyFunSuite {

  private class Tree(val rows: Array[Double], edges: Seq[Ikkbz.Edge]) {
    private def share(a: Int, b: Int) =
      edges.collectFirst { case Ikkbz.Edge(`a`, `b`, s) => s; case Ikkbz.Edge(`b`, `a`, s) => s }

    /** Sum of the rows of all prefixes of two or more relations, or None if one of them is a cross product. */
    def cost(order: Seq[Int]): Option[Double] = {
      val steps = order.indices.tail.map(i =>
        order.take(i).flatMap(share(_, order(i))) match {
          case Seq(s) => Some(s * rows(order(i)))
          case _      => None
        }
      )
      if (steps.exists(_.isEmpty)) None else Some(steps.flatten.scanLeft(rows(order.head))(_ * _).tail.sum)
    }
    def orders: Iterator[Seq[Int]] = rows.indices.permutations.filter(cost(_).isDefined)
    def ikkbz                      = new Ikkbz(rows, edges)
  }

  private def random(seed: Int): Tree = {
    val r           = new Random(seed)
    val n           = 2 + r.nextInt(6)
    def selectivity = math.pow(10.0, -5 * r.nextDouble())
    val shape       = Seq(Graphs.tree(n, r), Graphs.chain(n), Graphs.star(n))(seed % 3)
    val number      = r.shuffle((0 until n).toVector)
    new Tree(
      Array.fill(n)(Graphs.magnitude(5, r).toDouble),
      shape.map { case (a, b) => Ikkbz.Edge(number(a), number(b), selectivity) }
    )
  }

  private def same(a: Double, b: Double) = math.abs(a - b) <= 1e-9 * b

  test("trees of 2 to 7 relations: no order without a cross product is cheaper, whichever relation comes first") {
    for (seed <- 1 to 150) {
      val tree = random(seed)
      val all  = tree.orders.toVector
      val best = tree.ikkbz.order(tree.rows.indices.toVector)
      assert(same(tree.cost(best).get, all.map(tree.cost(_).get).min), s"seed $seed: $best")
      for (first <- tree.rows.indices) {
        val found = tree.ikkbz.startingWith(first)
        assert(
          found.nodes.head == first && same(
            tree.cost(found.nodes).get,
            all.filter(_.head == first).map(tree.cost(_).get).min
          ),
          s"seed $seed from $first"
        )
        assert(same(found.cost, tree.cost(found.nodes).get), s"seed $seed from $first: the cost it tells")
      }
    }
  }

  test("a tree by hand: the branch that keeps least goes first, and a relation waits for what it makes worth it") {
    // relation 1 multiplies the rows by 10, relation 2 after it by 0.001; relation 3 halves them
    val tree = new Tree(
      Array(100.0, 1000.0, 10.0, 50.0),
      Seq(Ikkbz.Edge(0, 1, 0.01), Ikkbz.Edge(1, 2, 0.0001), Ikkbz.Edge(0, 3, 0.01))
    )
    assert(tree.ikkbz.startingWith(0).nodes == Vector(0, 3, 1, 2))
    val dearer = new Tree(
      Array(100.0, 1000.0, 10.0, 99.0),
      Seq(Ikkbz.Edge(0, 1, 0.0011), Ikkbz.Edge(1, 2, 0.0001), Ikkbz.Edge(0, 3, 0.01))
    )
    assert(dearer.ikkbz.startingWith(0).nodes == Vector(0, 1, 2, 3))
  }

  test("products beyond the range of numbers: still an order of all relations") {
    val n    = 120
    val tree = new Tree(Array.fill(n)(1e9), Graphs.star(n).map { case (a, b) => Ikkbz.Edge(a, b, 0.5) })
    assert(tree.ikkbz.order((0 until n).toVector).sorted == (0 until n).toVector)
  }
}
