package dovetail.kernel.size

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Estimate

/**
 * Upper bounds of the rows of an inner join, derived from what is certain: the maximum rows of each relation, keys that
 * are unique beyond doubt, and the maximum rows with one key (its degree; Atserias, Grohe and Marx, FOCS 2008; Cai,
 * Balazinska and Suciu, "Pessimistic cardinality estimation", SIGMOD 2019). [[CardinalityModel]] limits its estimates
 * to these bounds. They also limit the rows that are assumed when the search decides whether a join is too risky to
 * broadcast.
 *
 * We depart from the papers, which look for the best order. Any order gives a bound, and the search asks for a bound of
 * every pair, so we take the lower bound of two orders. Not thread-safe.
 */
final class JoinBounds(graph: JoinGraph, samples: SampleJoins) {
  private val n                                 = graph.size
  private val classesOf: Array[Array[Int]]      = graph.classesOf.map(_.toArray).toArray
  private val upper: Array[Double]              = graph.relations.map(r => math.max(r.profile.rows.upper, 1.0)).toArray
  private val uniqueOn: Array[Vector[Set[Int]]] = Array.tabulate(n)(uniqueClassSets)
  // per relation and class: maximum rows with one key, infinite if no maximum is certain
  private val degreeOf: Array[Array[Double]] =
    Array.tabulate(n)(r =>
      classesOf(r).map(c =>
        (member(r, c).column.degree ++ samples.degree(r, c)).reduceOption(_ min _).getOrElse(Double.PositiveInfinity)
      )
    )

  // classes that the relations so far have bound, stamped with the round so that nothing needs to be cleared
  private val bound = new Array[Int](graph.classes.size)
  private var round = 0

  /** Whether something is certain about any key. If not, the bound is the product of all rows and says nothing. */
  val certain: Boolean = uniqueOn.exists(_.nonEmpty) || degreeOf.exists(_.exists(_ < Double.PositiveInfinity))

  /** The bound of a set for which no bound was asked. */
  val none: Double = Estimate.Ceiling

  /**
   * The limit of an estimate that has this bound. Without certain keys, the bound is a product of no less than the rows
   * and says nothing, so there is no limit.
   */
  def limit(bound: Double): Double = if (certain) bound else none

  /**
   * Upper bound of the join of the first `count` of `relations`; at least 1. Their order should be worth trying from
   * both ends, such as an order by size.
   */
  def upperBound(relations: Array[Int], count: Int): Double =
    math.min(along(relations, count, 0, 1), along(relations, count, count - 1, -1))

  /** Bound along one order: all rows of the first relation, times the maximum rows per key of each further relation. */
  private def along(relations: Array[Int], count: Int, from: Int, step: Int): Double = {
    round += 1
    var rows = 1.0
    var i    = from
    while (i >= 0 && i < count) {
      val r    = relations(i)
      val cs   = classesOf(r)
      var most = upper(r)
      var k    = 0
      while (k < cs.length) {
        if (bound(cs(k)) == round) most = math.min(most, degreeOf(r)(k))
        k += 1
      }
      // the relations before bind a key that is unique beyond doubt: `r` adds no rows
      if (uniqueOn(r).exists(_.forall(bound(_) == round))) most = math.min(most, 1.0)
      k = 0
      while (k < cs.length) { bound(cs(k)) = round; k += 1 }
      rows = math.min(rows * most, Estimate.Ceiling)
      i += step
    }
    rows
  }

  private def member(r: Int, c: Int) = graph.classes(c).memberOf(r).get

  private def uniqueClassSets(r: Int): Vector[Set[Int]] = {
    val keys = graph.relations(r).profile.uniqueKeys
    if (keys.isEmpty) Vector.empty
    else {
      val byColumn =
        classesOf(r).flatMap(c =>
          graph.classes(c).members.collect { case m if m.relation == r && m.columns.size == 1 => m.columns.head -> c }
        ).toMap
      keys.toVector.filter(_.forall(byColumn.contains)).map(_.map(byColumn)).sortBy(_.toVector.sorted.mkString(","))
    }
  }
}
