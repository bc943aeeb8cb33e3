package dovetail.kernel.size

import scala.collection.immutable.BitSet
import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, KnownSize, Words}
import dovetail.kernel.profile.Estimate

/**
 * Sizes of joins that are known, put above the estimates of [[CardinalityModel]]: a set that is known has its size, one
 * that contains known sets is corrected by how far their own estimates are off.
 *
 * A set is covered by known ones: first the largest, then each time the one that adds most relations. Each counts by
 * the factor between its size and its estimate, divided by the correction of what it shares with those before it, which
 * has been counted: as in a junction tree, where the size of `a b c` is that of `a b` times that of `b c` over that of
 * `b`. So every relation is corrected once, however many known sets it is in, and errors do not add up as they would in
 * a product over all of them. It is a function of the set alone, like the estimates.
 *
 * @param estimate rows of a set as they are estimated without
 */
final private[size] class KnownSizes(graph: JoinGraph, estimate: Array[Int] => Double) {
  import KnownSizes._

  private val words = new Words(graph.size)

  // larger ones first, ties in the order of their relations
  private val known: Array[Known] =
    graph.sizes.toVector
      .map { case (set, size) => (BitSet(set.toSeq: _*), size) }
      .sortBy { case (set, _) => (-set.size, set.toVector.mkString(",")) }
      .map { case (set, size) => new Known(words.packed(set), size, estimate(set.toArray)) }
      .toArray

  private val found = mutable.HashMap.empty[Words.Key, Size]

  def sizeOf(relations: Array[Int], count: Int): Size = sizeOf(words.packed(relations, count))

  private def sizeOf(set: Array[Long]): Size = {
    if (found.size > MostKept) found.clear()
    val key = new Words.Key(set)
    found.getOrElse(key, { val size = sized(set); found(key) = size; size })
  }

  private def sized(set: Array[Long]): Size = {
    val within = known.filter(k => Words.within(k.set, set))
    within.find(k => Words.count(k.set) == Words.count(set)) match {
      case Some(k) => Size(k.factor, Some(k.rows))
      case None    => Size(if (within.isEmpty) 1.0 else covered(within), None)
    }
  }

  private def covered(within: Array[Known]): Double = {
    var correction = 1.0
    var done       = new Array[Long](words.length)
    var next       = within.headOption
    while (next.isDefined) {
      val shared = Words.common(next.get.set, done)
      correction *= next.get.factor / (if (Words.count(shared) > 1) sizeOf(shared).correction else 1.0)
      done = Words.union(done, next.get.set)
      next =
        within.filter(k => !Words.within(k.set, done)).sortBy(k => -Words.count(Words.without(k.set, done))).headOption
    }
    correction
  }
}

private[size] object KnownSizes {

  /** Sets whose correction is kept, some 100 bytes each. */
  private val MostKept = 100000

  /** @param known its size, where that is known; @param correction what to multiply its estimate by */
  final case class Size(correction: Double, known: Option[Estimate])

  final private class Known(val set: Array[Long], size: KnownSize, estimated: Double) {
    val rows: Estimate = size.rows(estimated).atLeast(1.0)
    val factor: Double = rows.value / math.max(estimated, 1.0)
  }
}
