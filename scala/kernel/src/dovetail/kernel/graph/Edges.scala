package dovetail.kernel.graph

/**
 * The edges of a graph with operators: pairs of sets of relations that a class, a predicate or an operator joins. They
 * guide the enumerators. [[Joinable]] decides whether two sets that an edge connects may be joined.
 *
 * An operator is an edge between the relations that it needs on its left and on its right. A predicate is an edge
 * between the relations that its two sides need. A class is an edge between any two of its members. If these edges
 * leave a side of an operator, or the whole graph, in several pieces, hyperedges between whole pieces connect them:
 * cross products of complete pieces.
 */
final class Edges(graph: JoinGraph) {
  private type Edge = (Set[Int], Set[Int])

  private val conflicts = graph.joinable.conflicts

  private val written: Vector[Edge] = {
    val classes    = for (c <- graph.classes; a <- c.relations; b <- c.relations if a < b) yield (Set(a), Set(b))
    val predicates = for {
      p      <- graph.predicates
      (l, r) <-
        p.sides.orElse(if (p.relations.size == 2) Some((p.relations.take(1), p.relations.drop(1))) else None).toVector
      (a, b) = (conflicts.side(p, l).toSet[Int], conflicts.side(p, r).toSet[Int])
      // if its sides overlap, the predicate is a filter above an operator, and joins nothing
      if !a.exists(b)
    } yield (a, b)
    val operators = graph.operators.map { o =>
      val needs = conflicts.operators(o.index).all
      (o.left.filter(needs).toSet, o.right.filter(needs).toSet)
    }
    (classes ++ predicates ++ operators).distinct
  }

  /** All edges, cross products last. */
  val all: Vector[(Vector[Int], Vector[Int])] = {
    val regions =
      (graph.operators.flatMap(o => Vector(o.left, o.right)) :+ graph.relations.indices.toVector).filter(_.size > 1)
    val edges = regions.foldLeft(written) { (known, region) =>
      val pieces = piecesOf(region, known)
      known ++ (for (a <- pieces; b <- pieces if a.head < b.head) yield (a.toSet, b.toSet))
    }
    edges.distinct.map { case (a, b) => (a.toVector.sorted, b.toVector.sorted) }
  }

  /**
   * For each relation, the other relations that occur in an edge together with it, ascending: its possible partners.
   */
  lazy val near: Vector[Vector[Int]] = {
    val sets = Vector.fill(graph.size)(scala.collection.mutable.BitSet.empty)
    all.foreach { case (l, r) => val both = l ++ r; for (a <- both; b <- both if a != b) sets(a) += b }
    sets.map(_.toVector)
  }

  // edges by the first relation of either side, with that side first
  private lazy val starting: Array[Array[(WideSet, WideSet)]] = {
    val lists                  = Array.fill(graph.size)(Array.newBuilder[(WideSet, WideSet)])
    def set(side: Vector[Int]) = WideSet(graph.size, side)
    all.foreach { case (l, r) => lists(l.head) += ((set(l), set(r))); lists(r.head) += ((set(r), set(l))) }
    lists.map(_.result())
  }

  /** Whether some edge leads from `a` to `b`. */
  def connect(a: WideSet, b: WideSet): Boolean = {
    val (few, many) = if (a.size <= b.size) (a, b) else (b, a)
    few.exists { r =>
      val edges = starting(r)
      var i     = 0
      while (i < edges.length && !(edges(i)._1.isSubsetOf(few) && edges(i)._2.isSubsetOf(many))) i += 1
      i < edges.length
    }
  }

  /** The relations of a region by connected piece, in the same form as [[JoinGraph.components]]. */
  private def piecesOf(region: Vector[Int], edges: Vector[Edge]): Vector[Vector[Int]] = {
    val inside = region.toSet
    var left   = edges.filter { case (l, r) => l.forall(inside) && r.forall(inside) }
    val forest = new Forest(graph.size)
    var grown  = true
    while (grown) {
      val (usable, not) = left.partition { case (l, r) => forest.together(l) && forest.together(r) }
      usable.foreach { case (l, r) => forest.link(l.head, r.head) }
      grown = usable.nonEmpty
      left = not
    }
    region.groupBy(forest.find).toVector.sortBy(_._1).map(_._2)
  }
}
