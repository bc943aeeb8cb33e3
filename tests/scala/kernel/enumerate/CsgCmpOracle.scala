package dovetail.kernel.enumerate

import scala.collection.mutable

/**
 * Connected subgraphs and csg-cmp pairs by their definition (Moerkotte and Neumann 2008, §2). Checks every subset and
 * every split of it, as DPsub does. For graphs of a few nodes.
 *
 * @param edges   pairs of disjoint sets of nodes, as bit masks; simple edges have one node on each side
 * @param allowed whether two sets that an edge connects may be joined
 */
final class CsgCmpOracle(size: Int, edges: Seq[(Long, Long)], allowed: (Long, Long) => Boolean = (_, _) => true) {
  private def within(a: Long, b: Long) = (a & ~b) == 0L

  def joined(a: Long, b: Long): Boolean = edges.exists { case (u, v) =>
    (within(u, a) && within(v, b)) || (within(v, a) && within(u, b))
  }

  private def splits(s: Long): Seq[(Long, Long)] =
    (1L until s).filter(a => within(a, s) && a < (s ^ a)).map(a => (a, s ^ a))

  val connected: Set[Long] = {
    val found = mutable.Set.empty[Long]
    for (s <- 1L until (1L << size))
      if (
        java.lang.Long.bitCount(s) == 1 || splits(s).exists { case (a, b) =>
          found(a) && found(b) && joined(a, b) && allowed(a, b)
        }
      ) found += s
    found.toSet
  }

  /** Unordered pairs: the half with the smaller mask comes first. */
  val pairs: Set[(Long, Long)] =
    connected.flatMap(s =>
      splits(s).filter { case (a, b) => connected(a) && connected(b) && joined(a, b) && allowed(a, b) }
    )
}
