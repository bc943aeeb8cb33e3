package dovetail.kernel.size

import dovetail.kernel.graph.JoinGraph
import dovetail.kernel.profile.Estimate

/**
 * Rows that an inner join of some relations cannot exceed, by what is certain: rows of each relation at most, keys that
 * are unique beyond doubt, rows of one key at most (its degree; Atserias, Grohe and Marx, FOCS 2008; Cai, Balazinska
 * and Suciu, "Pessimistic cardinality estimation", SIGMOD 2019). [[CardinalityModel]] cuts its estimates off here, and
 * joins that are broadcast have to stay below.
 *
 * Departs from the papers, which look for the best order: any order gives a bound, and this is asked for every pair of
 * the search, so it takes the lower one of two. Not thread-safe.
 */
final class JoinBounds(graph: JoinGraph, samples: SampleJoins) {
  private val n                                 = graph.size
  private val classesOf: Array[Array[Int]]      = graph.classesOf.map(_.toArray).toArray
  private val upper: Array[Double]              = graph.relations.map(r => math.max(r.profile.rows.upper, 1.0)).toArray
  private val uniqueOn: Array[Vector[Set[Int]]] = Array.tabulate(n)(uniqueClassSets)
  // per relation and class: rows of one key at most, infinite where that is not certain
  private val degreeOf: Array[Array[Double]] =
    Array.tabulate(n)(r =>
      classesOf(r).map(c =>
        (member(r, c).column.degree ++ samples.degree(r, c)).reduceOption(_ min _).getOrElse(Double.PositiveInfinity)
      )
    )

  // classes that the relations so far have bound, stamped by round so that nothing needs to be cleared
  private val bound = new Array[Int](graph.classes.size)
  private var round = 0

  /** Something is certain of some key. Where nothing is, the bound is the product of all rows and says nothing. */
  val certain: Boolean = uniqueOn.exists(_.nonEmpty) || degreeOf.exists(_.exists(_ < Double.PositiveInfinity))

  /** The bound of a set that nobody asked a bound for. */
  val none: Double = Estimate.Ceiling

  /**
   * Where to cut an estimate off whose bound this is: without certain keys the bound is a product of no less than the
   * rows, and says nothing.
   */
  def limit(bound: Double): Double = if (certain) bound else none

  /**
   * The first `count` of `relations` joined; these are in an order worth trying from both ends, as by size. At least 1.
   */
  def upperBound(relations: Array[Int], count: Int): Double =
    math.min(along(relations, count, 0, 1), along(relations, count, count - 1, -1))

  /** All rows of the first relation, and for each further one as many as it has of one key at most. */
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
      // a key that is unique beyond doubt, bound by the relations before: `r` adds no rows
      if (uniqueOn(r).exists(_.forall(bound(_) == round))) most = math.min(most, 1.0)
      k = 0
      while (k < cs.length) { bound(cs(k)) = round; k += 1 }
      rows = math.min(rows * most, Estimate.Ceiling)
      i += step
    }
    rows
  }

  private def member(r: Int, c: Int) = graph.classes(c).members.find(_.relation == r).get

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
