package dovetail.kernel.enumerate

import scala.collection.mutable
import scala.util.Random

import dovetail.kernel.graph.{JoinGraph, RelSet, WideSet}

/**
 * All trees of a small graph that `Joinable` allows.
 *
 * @param crossed whether trees may have cross products that no edge leads to
 */
final class LegalTrees(graph: JoinGraph, crossed: Boolean) {
  private def connected(a: RelSet, b: RelSet) =
    graph.edges.connect(WideSet(graph.size, a.toVector), WideSet(graph.size, b.toVector))

  private val splits = mutable.Map.empty[Long, Vector[(RelSet, RelSet)]]
  for (bits <- 1L until (1L << graph.size); set = new RelSet(bits) if set.size > 1) {
    val halves = Iterator.iterate(
      set.nextSubset(RelSet.empty)
    )(set.nextSubset).takeWhile(_.bits != bits).filter(_.contains(set.min)).toVector
    splits(bits) = halves.map(a => (a, set - a)).filter { case (a, b) =>
      made(a) && made(b) && graph.joinable.between(a, b).isDefined && (crossed || connected(a, b))
    }
  }
  private def made(s: RelSet): Boolean = s.size == 1 || splits(s.bits).nonEmpty

  def all: Vector[Shape] = treesOf(RelSet.first(graph.size))

  private def treesOf(s: RelSet): Vector[Shape] =
    if (s.size == 1) Vector(Shape.Leaf(s.min))
    else for ((a, b) <- splits(s.bits); l <- treesOf(a); r <- treesOf(b)) yield Shape.Join(l, r)

  def any(random: Random): Shape = {
    def treeOf(s: RelSet): Shape =
      if (s.size == 1) Shape.Leaf(s.min)
      else { val (a, b) = splits(s.bits)(random.nextInt(splits(s.bits).size)); Shape.Join(treeOf(a), treeOf(b)) }
    treeOf(RelSet.first(graph.size))
  }
}
