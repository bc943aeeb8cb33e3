package dovetail.kernel.enumerate

import java.util.{ArrayList, Comparator}

/**
 * Finds the cheapest order to join the relations of an acyclic graph one by one without a cross product, by the sum of
 * all intermediate rows (C_out).
 *
 * Ibaraki and Kameda, "On the Optimal Nesting Order for Computing N-Relational Joins", TODS 1984; Krishnamurthy, Boral
 * and Zaniolo, "Optimization of Nonrecursive Queries", VLDB 1986. With the first relation fixed, the tree determines
 * which relation must come before which. The rank (T - 1) / C of a sequence of relations, which multiplies the rows by
 * T and costs C per row, determines which should come first. Sequences below a relation are merged by rank. If the
 * relation itself has a higher rank than the sequence that must follow it, the two become one sequence. O(n log n) per
 * first relation, and every relation is tried as the first.
 *
 * @param rows  rows of each relation
 * @param edges edges of one or several trees: two relations and the share of their pairs that they keep
 */
final class Ikkbz(rows: Array[Double], edges: Seq[Ikkbz.Edge]) {
  import Ikkbz._

  private val adjacent: Array[Vector[(Int, Double)]] = {
    val lists = Array.fill(rows.length)(Vector.empty[(Int, Double)])
    edges.foreach { e => lists(e.a) :+= ((e.b, e.selectivity)); lists(e.b) :+= ((e.a, e.selectivity)) }
    lists
  }

  /** The best order of one tree, with each of its relations tried as the first. The first best order wins ties. */
  def order(tree: Vector[Int]): Vector[Int] =
    tree.map(startingWith).reduceLeft((a, b) => if (b.cost < a.cost) b else a).nodes

  /** The best order with a given first relation. */
  def startingWith(root: Int): Sequence = {
    val rest  = below(root, NoParent)
    var whole = new Sequence(root, null, null, math.min(rows(root), LargestProduct), 0.0)
    var i     = 0
    while (i < rest.size) { whole = whole.followedBy(rest.get(i)); i += 1 }
    whole
  }

  /**
   * All sequences below `v`, by rank. Each branch is sorted already, and the sort is stable, so it keeps the order
   * within a branch.
   */
  private def below(v: Int, parent: Int): ArrayList[Sequence] = {
    val all      = new ArrayList[Sequence]
    var branches = 0
    adjacent(v).foreach { case (child, selectivity) =>
      if (child != parent) { branch(child, v, selectivity, all); branches += 1 }
    }
    if (branches > 1) all.sort(byRank)
    all
  }

  private def branch(v: Int, parent: Int, selectivity: Double, out: ArrayList[Sequence]): Unit = {
    val rest   = below(v, parent)
    val factor = math.min(rows(v) * selectivity, LargestProduct)
    var head   = new Sequence(v, null, null, factor, factor)
    var i      = 0
    while (i < rest.size && rest.get(i).rank < head.rank) { head = head.followedBy(rest.get(i)); i += 1 }
    out.add(head)
    while (i < rest.size) { out.add(rest.get(i)); i += 1 }
  }
}

object Ikkbz {
  final case class Edge(a: Int, b: Int, selectivity: Double)

  /**
   * A sequence of relations: it multiplies the rows before it by `factor` and costs `cost` per such row. It consists of
   * two sequences, or of one relation.
   */
  final class Sequence private[Ikkbz] (
      private val node: Int,
      private val first: Sequence,
      private val second: Sequence,
      val factor: Double,
      val cost: Double
  ) {
    val rank: Double = if (cost <= 0.0) Double.NegativeInfinity else (factor - 1.0) / cost

    private[Ikkbz] def followedBy(that: Sequence): Sequence =
      new Sequence(
        -1,
        this,
        that,
        math.min(factor * that.factor, LargestProduct),
        math.min(cost + factor * that.cost, LargestProduct)
      )

    def nodes: Vector[Int] = {
      val found                   = Vector.newBuilder[Int]
      def walk(s: Sequence): Unit = if (s.first == null) found += s.node else { walk(s.first); walk(s.second) }
      walk(this)
      found.result()
    }
  }

  private val NoParent = -1

  /** Limit of products: low enough that the product of any two sums of products is within the range of a Double. */
  private val LargestProduct = 1e150

  private val byRank: Comparator[Sequence] = new Comparator[Sequence] {
    def compare(x: Sequence, y: Sequence): Int = java.lang.Double.compare(x.rank, y.rank)
  }
}
