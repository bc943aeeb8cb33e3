package dovetail.kernel.graph

import scala.collection.mutable

/**
 * Which of the nodes 0 until `size` hang together, while edges come in (Kruskal 1956; union-find with path halving). A
 * tree goes by its first node.
 */
final class Forest(size: Int) {
  private val parent = Array.range(0, size)

  /** The first node of the tree that `i` is in. */
  def find(i: Int): Int = { var r = i; while (parent(r) != r) { parent(r) = parent(parent(r)); r = parent(r) }; r }

  /** Puts the two together; false if they were already. */
  def link(a: Int, b: Int): Boolean = {
    val (x, y) = (find(a), find(b))
    if (x != y) parent(math.max(x, y)) = math.min(x, y)
    x != y
  }

  /** All of them are in one tree. */
  def together(nodes: Iterable[Int]): Boolean = nodes.forall(find(_) == find(nodes.head))

  /** Each ascending, in the order of their first node. */
  def trees: Vector[Vector[Int]] = {
    val found = mutable.LinkedHashMap.empty[Int, Vector[Int]]
    parent.indices.foreach(i => found(find(i)) = found.getOrElse(find(i), Vector.empty) :+ i)
    found.values.toVector
  }
}
