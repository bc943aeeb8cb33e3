package dovetail.kernel.size

import java.util.Arrays

import scala.collection.mutable

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.{ImpliedRange, RelationSample}

/**
 * What the common range of one join key implies for the other join keys of its relation. Five years of sales meet five
 * of two hundred years of days, and these days belong to neighboring weeks. A third table that leaves the weeks of one
 * year then keeps a fifth of the sales, not one part in two hundred of them. [[SetFold]] takes this from the rows of
 * the relation's sample; without one, [[EqualityShare.alongRange]] guesses between keys that follow each other and keys
 * that are independent.
 *
 * Rows that were read in a few places tell no range, and neither do rows of a table that has changed since. Not
 * thread-safe.
 */
final private[size] class ImpliedKeys(graph: JoinGraph) {
  import ImpliedKeys._

  // samples that tell ranges of two keys or more, or null
  private val samples: Array[RelationSample] = graph.relations.map(r =>
    r.sample.filter(s => !s.clustered && s.current && graph.classesOf(r.index).count(s.ordered) > 1).orNull
  ).toArray

  private val found = mutable.HashMap.empty[(Int, Int, Int, Double, Double), Option[ImpliedRange]]

  /** Whether the sample of a relation may narrow other keys if this share of a key's domain counts. */
  def tells(relation: Int, restriction: Double): Boolean =
    restriction <= ImpliedRange.MostShare && samples(relation) != null

  /**
   * A key in the rows in which another key of its relation lies in the range of a class. It is the same object if the
   * sample tells no narrower range.
   *
   * @param by     class of the other key
   * @param before earlier members of that class
   */
  def narrowed(relation: Int, key: JoinKey, by: Int, before: ClassFold): JoinKey =
    // nobody knows the range of rows that were added later
    if (key.unseen > 0.0) key
    else
      found.getOrElseUpdate(
        (relation, by, key.classIndex, before.low, before.high),
        range(samples(relation), by, key.classIndex, before.low, before.high)
      ).fold(key)(key.within(_, before.narrowed))
}

private object ImpliedKeys {

  /** The range of the second class's keys in the kept rows whose key of the first class lies in a range. */
  private def range(s: RelationSample, by: Int, of: Int, low: Double, high: Double): Option[ImpliedRange] =
    if (!s.ordered(by) || !s.ordered(of)) None
    else {
      val (theirs, own, rows) = (s.keys(by), s.keys(of), s.kept.toArray)
      val all, inside         = new Array[Double](rows.length)
      var some, within, i     = 0
      while (i < rows.length) {
        val (a, b) = (theirs.codes(rows(i)), own.codes(rows(i)))
        if (a >= 0 && b >= 0) {
          val (place, value) = (theirs.keys(a).toDouble, own.keys(b).toDouble)
          all(some) = value
          some += 1
          // an unknown end is NaN, and excludes nothing
          if (!(place < low) && !(place > high)) { inside(within) = value; within += 1 }
        }
        i += 1
      }
      val values = Arrays.copyOf(all, some)
      ImpliedRange.ofRows(values, values, Arrays.copyOf(inside, within), s.complete)
    }
}
