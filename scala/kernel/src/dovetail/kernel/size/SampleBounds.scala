package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, RelSet}
import dovetail.kernel.profile.Estimate
import dovetail.kernel.size.SampleBounds._

/**
 * Rows that a join counted by [[SampleJoins]] should not exceed, however wrong the count is. The search makes no
 * broadcast that would be too large with so many rows.
 *
 *  - A count on complete samples is exact if all predicates were tried on them and the join is acyclic.
 *  - In a cyclic join, the equalities of the join tree alone give a limit: the others are counted as if they kept all.
 *  - Partial samples may be off by [[Doubt]]. A predicate that was not tried on a sample is taken to keep all of it.
 *  - Partial samples miss rows of a table of which fewer than three divided by the chance to draw one exist (the rule
 *    of three: if none is seen in n draws, at most three in n exist, at 95 %), each with its partners.
 *  - Rows that lay together, and rows of a table that has changed since, tell no limit.
 */
final private[size] class SampleBounds(graph: JoinGraph, joins: SampleJoins) {
  import joins.{classesOf, samples}

  private val n                      = graph.size
  private val members: Array[RelSet] =
    if (joins.covered.isEmpty) Array.empty
    else graph.classes.map(c => RelSet(c.relations.filter(joins.covered.contains(_)): _*)).toArray
  private val trees    = new mutable.LongMap[Double]
  private val partners = Array.fill(n)(new Array[Met](n))

  /** @param piece relations with samples that equalities connect */
  def rowsOf(piece: RelSet): Double = {
    val (complete, partial) = piece.toVector.partition(samples(_).complete)
    if (partial.isEmpty)
      if (piece.size <= joins.largest && complete.forall(shareLeftOut(_) >= 1.0 - Rounding)) counted(piece)
      else Estimate.Ceiling
    else if (partial.exists(r => samples(r).clustered || !samples(r).current)) Estimate.Ceiling
    else {
      val tried = piece.toVector.map(tryable).product
      if (tried <= 0.0) Estimate.Ceiling
      else math.min(Estimate.Ceiling, counted(piece) / tried * Doubt + unseen(piece, partial))
    }
  }

  /** Rows as counted, without the equalities that close a cycle. */
  private def counted(set: RelSet): Double =
    if (set.size > joins.largest || isForest(set)) joins.rowsOf(set)
    else trees.getOrElseUpdate(set.bits, joins.ofJoinTree(set))

  /**
   * Whether the classes connect the set without a cycle for certain: every tree of its relations has as many edges as
   * there are members to connect. Most joins are of this kind, and it is known without a join tree.
   */
  private def isForest(set: RelSet): Boolean = {
    var (links, c) = (0, 0)
    while (c < members.length) { links += math.max((members(c) & set).size - 1, 0); c += 1 }
    links == set.size - 1 || joins.isAcyclic(set)
  }

  /** Rows of the table that the estimate has, per row that the sample has kept: below 1 if formulas removed some. */
  private def shareLeftOut(relation: Int): Double = joins.rows(relation) / joins.sampledRows(relation)

  /** The same as far as it is no rounding: few kept rows make the estimate another one than the sample's own share. */
  private def tryable(relation: Int): Double = {
    val share = shareLeftOut(relation)
    if (share < Untried) share else 1.0
  }

  /**
   * Rows of the join with rows that were not drawn. Each meets the most frequent key of complete samples, and one row of
   * each partial sample, as far as the count does not cover more: it expects rows of usual keys, and [[Doubt]] is for
   * keys some times as frequent. Beyond that, one partial sample is met with its most frequent key. That a key is in no
   * sample and frequent in several tables is too rare to count with.
   */
  private def unseen(set: RelSet, partial: Vector[Int]): Double = {
    val all          = set.toVector
    def most(r: Int) = all.map(met(r, _).largest).max
    def skew(r: Int) = all.map(met(r, _).skew).max
    val whole        = all.filter(samples(_).complete).map(most).product
    val beyondUsual  = if (partial.size > 1) math.max(1.0, partial.map(skew).max / Doubt) else 1.0
    RuleOfThree * partial.map(1.0 / joins.fractionOf(_)).product * whole * beyondUsual
  }

  /** The rows of a relation's sample that one row of another relation meets by their common classes. */
  private def met(relation: Int, other: Int): Met = {
    if (partners(relation)(other) == null) {
      val keys = if (relation == other) Vector.empty else classesOf(relation).filter(classesOf(other).contains)
      partners(relation)(other) = if (keys.isEmpty) Met(1.0, 1.0) else Met(joins.groupsOf(relation, keys).kept)
    }
    partners(relation)(other)
  }
}

private object SampleBounds {

  /**
   * @param largest rows with the most frequent key, at least 1
   * @param skew    the same as a multiple of the average, at least 1
   */
  final private case class Met(largest: Double, skew: Double)

  private object Met {
    def apply(keys: KeyGroups.Counts): Met =
      if (keys.filled == 0) Met(1.0, 1.0) else Met(keys.largest, keys.largest * keys.filled / keys.rows)
  }

  /**
   * Factor by which a count on partial samples may be too low. The largest factor measured on real joins of up to eight
   * relations was 19; 95 % were within 4.
   */
  val Doubt = 8.0

  /** If none of n drawn rows is of a kind, at most this many in n rows are, at 95 %. */
  val RuleOfThree = 3.0

  /** Relative error of a number of rows that a share of a sample was multiplied with. */
  val Rounding = 1e-6

  /** Share of the kept rows below which formulas have certainly removed some: priors of few rows change less. */
  val Untried = 0.5
}
