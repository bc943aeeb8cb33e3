package dovetail.kernel.enumerate

import dovetail.kernel.cost.JoinMethod

/**
 * Relations that broadcast joins bring to the rows of another relation before these are exchanged, from its scan upward:
 * of `(sales ⋈ days) ⋈ items`, the days if they are broadcast, and the items if they are, too. Everything that the
 * engine may share with another part of the query (an exchange, or what lies above one) contains them all.
 *
 * A broadcast of joined relations ends the list, as does any other join: whether the engine makes it depends on more
 * than its size.
 */
object StreamPartners {

  /** The partners of a relation of the tree. */
  def apply(tree: JoinTree, relation: Int): Set[Int] = stream(tree, relation).fold(Set.empty[Int])(_.partners)

  /** @param open whether no exchange, and no join that is not listed, lies above the scan so far */
  final private case class Stream(partners: Set[Int], open: Boolean)

  private def stream(tree: JoinTree, relation: Int): Option[Stream] = tree match {
    case l: JoinTree.Leaf => if (l.relation == relation) Some(Stream(Set.empty, open = true)) else None
    case j: JoinTree.Join =>
      def beside(other: JoinTree, copied: JoinMethod)(s: Stream) = other match {
        case l: JoinTree.Leaf if s.open && j.method == copied => s.copy(partners = s.partners + l.relation)
        case _                                                => s.copy(open = false)
      }
      stream(j.left, relation).map(beside(j.right, JoinMethod.BroadcastRight))
        .orElse(stream(j.right, relation).map(beside(j.left, JoinMethod.BroadcastLeft)))
  }
}
