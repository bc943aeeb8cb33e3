package dovetail.kernel.graph

import scala.collection.mutable

/**
 * The connected components of the nodes 0 until `size` while edges are added (Kruskal 1956; union-find with path
 * halving). The smallest node of a tree identifies it.
 */
final class Forest(size: Int) {
  private val parent = Array.range(0, size)

  /** The first node of the tree that contains `i`. */
  def find(i: Int): Int = { var r = i; while (parent(r) != r) { parent(r) = parent(parent(r)); r = parent(r) }; r }

  /** Merges the trees of `a` and `b`. Returns false if they were one tree already. */
  def link(a: Int, b: Int): Boolean = {
    val (x, y) = (find(a), find(b))
    if (x != y) parent(math.max(x, y)) = math.min(x, y)
    x != y
  }

  /** Whether all `nodes` are in one tree. */
  def together(nodes: Iterable[Int]): Boolean = nodes.forall(find(_) == find(nodes.head))

  /** The nodes of each tree, ascending. Trees are in the order of their first nodes. */
  def trees: Vector[Vector[Int]] = {
    val found = mutable.LinkedHashMap.empty[Int, Vector[Int]]
    parent.indices.foreach(i => found(find(i)) = found.getOrElse(find(i), Vector.empty) :+ i)
    found.values.toVector
  }
}
