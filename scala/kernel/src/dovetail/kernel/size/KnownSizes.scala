package dovetail.kernel.size

import scala.collection.immutable.BitSet
import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, KnownSize, Words}
import dovetail.kernel.profile.{Estimate, Source}

/**
 * Corrects the estimates of [[CardinalityModel]] by known sizes of joins. A known set has its known size. A set that
 * contains known sets is corrected by the factors by which their own estimates are off.
 *
 * Known sets cover the set: first the largest one, then each time the one that adds the most relations. Each known set
 * counts by the factor between its size and its estimate, divided by the correction of the relations that it shares
 * with the known sets before it, because that correction was already counted. This is like a junction tree, in which
 * the size of `a b c` is the size of `a b` times the size of `b c` over the size of `b`. So every relation is corrected
 * once, however many known sets contain it, and errors do not add up as they would in a product over all known sets.
 * Like the estimate, the correction depends on the set alone.
 *
 * @param estimate estimated rows of a set, not corrected
 */
final private[size] class KnownSizes(graph: JoinGraph, estimate: Array[Int] => Double) {
  import KnownSizes._

  private val words = new Words(graph.size)

  // larger sets first, ties in the order of their relations
  private val known: Array[KnownSet] =
    graph.sizes.toVector
      .map { case (set, size) => (BitSet(set.toSeq: _*), size) }
      .sortBy { case (set, _) => (-set.size, set.toVector.mkString(",")) }
      .map { case (set, size) => new KnownSet(words.packed(set), size, estimate(set.toArray)) }
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
      case Some(k) => Size(k.factor, Some(k.size))
      case None    => Size(if (within.isEmpty) 1.0 else covered(within), None)
    }
  }

  private def covered(within: Array[KnownSet]): Double = {
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

  /** Number of sets whose correction is kept, some 100 bytes each. */
  private val MostKept = 100000

  /**
   * @param correction factor to multiply the set's estimate by
   * @param known      known size of the set, if there is one
   */
  final case class Size(correction: Double, known: Option[KnownSize])

  final private class KnownSet(val set: Array[Long], val size: KnownSize, estimated: Double) {
    private val rows   = size.rows(Estimate.guess(estimated, Source.Assumed)).value
    val factor: Double = math.max(rows, 1.0) / math.max(estimated, 1.0)
  }
}
