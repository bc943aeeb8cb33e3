package dovetail.kernel.enumerate

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.RelationSample

/**
 * A filter on one relation that keeps the rows from the smallest to the largest key of other relations. Files whose
 * rows lie in the order of the key, or nearly so, are then read in part.
 *
 * @param reduced relation whose scan is filtered
 * @param by      relations that the keys come from: first the one that has the key, then relations that restrict it,
 *                each of which is joined with the first one
 * @param keys    index of the equality of the key ([[JoinGraph.keys]])
 * @param low     smallest key, as far as samples show
 * @param high    largest key
 */
final case class KeyRange(reduced: Int, by: Vector[Int], keys: Int, low: Double, high: Double) {

  /** The relations that only restrict the first one. */
  def tested: Set[Int] = by.tail.toSet
}

/**
 * Finds the key ranges that a graph may have: a small relation that is restricted, alone or by a neighbor, has the keys
 * of a part of the range only (a year of a calendar). Its sample shows which. This applies "small materialized
 * aggregates" (Moerkotte, VLDB 1998), the ends that files keep of each row group, to the other side of a join.
 *
 * The rules are those of Bloom filters ([[ReducerCandidates]]).
 *
 * @param check called before each look at a sample; it may throw to end the search
 */
final class KeyRanges(graph: JoinGraph, rules: ReducerRules, check: () => Unit = () => ()) {
  import KeyRanges._

  /** For each relation and class at most one range, the narrowest. */
  def all: Vector[KeyRange] = for {
    (reduced, c) <- rules.reducible.toVector.sorted
    sources =
      rules.readable.toVector.sorted.collect { case (s, `c`) if graph.filters(c, reduced, s) && usable(s, c) => s }
    best <- sources.flatMap(range(reduced, c, _)).sortBy(r => r.high - r.low).headOption
    if rules.forced || share(best).forall(_ <= ReducerCandidates.MostKept)
  } yield best

  private def usable(s: Int, c: Int): Boolean =
    rules.small(s) && sample(s).exists(known => known.ordered(c) && known.keys.contains(c))

  private def sample(r: Int): Option[RelationSample] = graph.relations(r).sample

  private def range(reduced: Int, c: Int, source: Int): Option[KeyRange] = {
    check()
    val near  = neighbors(source, reduced, c)
    val codes = sample(source).get.keys(c).codes
    val tests = near.map(partnersIn(source, _))
    val keys  = keptRows(source).filter(row => codes(row) >= 0 && tests.forall(_(row))).map(codes(_))
    val whole = (source +: near).forall(sample(_).exists(_.complete))
    if (keys.isEmpty || (!whole && keys.length < LeastRows)) None
    else {
      val column      = sample(source).get.keys(c).keys
      val (low, high) = (column(keys.min).toDouble, column(keys.max).toDouble)
      // rows that were not drawn may lie outside of those that were, by about the distance of two of them
      val gap = if (whole) 0.0 else (high - low) / (keys.length - 1)
      Some(KeyRange(reduced, source +: near, c, low - gap, high + gap))
    }
  }

  /** Small relations with a predicate of their own that restrict the source over another class. */
  private def neighbors(source: Int, reduced: Int, c: Int): Vector[Int] =
    rules.small.toVector.sorted.filter(n =>
      n != source && n != reduced && graph.levels.isTop(n) && graph.relations(n).profile.restricted &&
        graph.onlyClasses(Vector(source, n)) && linked(source, n).nonEmpty && !graph.classesOf(n).contains(c)
    ).take(MostNeighbors)

  /** Classes that both relations have, in whose samples equal values have equal keys. */
  private def linked(a: Int, b: Int): Vector[Int] = {
    val shared = graph.sharedClasses(a, b)
    if (shared.forall(k => Vector(a, b).forall(sample(_).exists(_.keys.contains(k))))) shared
    else Vector.empty
  }

  private def keptRows(r: Int): Array[Int] = sample(r).get.kept.toArray

  private def code(r: Int, c: Int, row: Int): Int = sample(r).get.keys(c).codes(row)

  /** Whether a row of the source has the keys of a kept row of the neighbor, one class at a time. */
  private def partnersIn(source: Int, neighbor: Int): Int => Boolean = {
    val tests = linked(source, neighbor).map { k =>
      val (own, other) = (sample(source).get.keys(k), sample(neighbor).get.keys(k))
      val kept         = keptRows(neighbor).iterator.map(code(neighbor, k, _)).filter(_ >= 0).toSet
      // kept across queries, as for the estimates
      val places = sample(source).get.memo.places(own, other)
      (row: Int) => { val i = own.codes(row); i >= 0 && places(i) >= 0 && kept(places(i)) }
    }
    row => tests.forall(_(row))
  }

  /** Share of the range of the reduced relation's column that lies between the keys, if its range is known. */
  private def share(r: KeyRange): Option[Double] =
    for {
      column <- graph.keys(r.keys).memberOf(r.reduced).map(_.column)
      first  <- column.min
      last   <- column.max if last > first
    } yield math.max(0.0, math.min(r.high, last) - math.max(r.low, first)) / (last - first)
}

object KeyRanges {

  /** Least number of rows of a sample that tell a range, if there are rows that were not drawn. */
  private val LeastRows = 5

  /** Maximum number of relations that restrict the source: each is one more join before the scan may begin. */
  private val MostNeighbors = 2
}
