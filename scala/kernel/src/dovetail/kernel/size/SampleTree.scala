package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.EquivalenceClass

/**
 * A join tree of a set of relations with samples, along which [[SampleJoins]] counts: the tree whose edges share the
 * most classes. It has every class in one connected piece if any tree has (Bernstein and Goodman 1981). Of edges that
 * share as many classes, it has those whose keys have more values: what a cycle leaves over is estimated
 * ([[CycleEqualities]]), and so it should be what keeps most pairs. If the relations are not connected, it is a forest.
 */
final private[size] class SampleTree private (edges: Vector[SampleTree.Edge]) {
  import SampleTree._

  def relations: Vector[Int] = edges.map(_.relation)

  /** One relation of each connected part. */
  def roots: Vector[Int] = edges.filter(_.parent == NoParent).map(_.relation)

  /** The connected part of a relation, with this relation as its root. */
  def rooted(root: Int): Node = {
    def below(relation: Int, above: Int): Vector[Node] = edges.collect {
      case e if e.parent == relation && e.relation != above                         => node(e.relation, relation, e)
      case e if e.relation == relation && e.parent != above && e.parent != NoParent => node(e.parent, relation, e)
    }
    def node(relation: Int, above: Int, by: Edge): Node = Node(relation, by.classes, below(relation, above))
    Node(root, Vector.empty, below(root, NoParent))
  }

  /** The first relation of each piece of the tree that has the class; the pieces are not connected by the class. */
  def apart(c: EquivalenceClass): Vector[Int] =
    edges.filter(e => c.relations.contains(e.relation) && !e.classes.contains(c.index)).map(_.relation)
}

private[size] object SampleTree {

  /**
   * A relation with its subtree, and the classes that join it with its parent: everything that a message depends on.
   */
  final case class Node(relation: Int, classes: Vector[Int], children: Vector[Node]) {
    override val hashCode: Int = scala.runtime.ScalaRunTime._hashCode(this)
  }

  /** A relation, its parent in the join tree, and the classes that join the two. */
  final private case class Edge(relation: Int, parent: Int, classes: Vector[Int])

  /**
   * The tree of these relations.
   *
   * @param root      the first root
   * @param classesOf classes of each relation
   * @param domainOf  distinct values of each class
   */
  def apply(relations: Vector[Int], root: Int, classesOf: Array[Vector[Int]], domainOf: Array[Double]): SampleTree = {
    val tree                              = mutable.ArrayBuffer(Edge(root, NoParent, Vector.empty))
    val left                              = relations.filter(_ != root).sorted.toBuffer
    def pairs(e: Edge): Double            = e.classes.map(domainOf).product
    def better(a: Edge, b: Edge): Boolean =
      a.classes.size > b.classes.size || (a.classes.size == b.classes.size && pairs(a) > pairs(b))
    while (left.nonEmpty) {
      val next = (for (r <- left.iterator; t <- tree.iterator)
        yield Edge(r, t.relation, classesOf(r).filter(classesOf(t.relation).contains)))
        .reduce((a, b) => if (better(b, a)) b else a)
      tree += (if (next.classes.isEmpty) next.copy(parent = NoParent) else next)
      left -= next.relation
    }
    new SampleTree(tree.toVector)
  }

  /** The parent of a root. */
  private val NoParent = -1
}
