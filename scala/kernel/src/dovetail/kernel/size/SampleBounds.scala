package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, RelSet}
import dovetail.kernel.profile.{Estimate, KeyFigures}
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

  private val n     = if (joins.covered.isEmpty) 0 else graph.size
  private val trees = new mutable.LongMap[Double]

  // number of classes that two relations share, and what one row of the second meets in the first
  private val shared   = Array.tabulate(n, n)((a, b) => if (a == b) 0 else classesOf(a).count(classesOf(b).contains))
  private val partners = Array.fill(n)(new Array[KeyFigures](n))

  private val members: Array[RelSet] =
    if (n == 0) Array.empty
    else graph.classes.map(c => RelSet(c.relations.filter(joins.covered.contains(_)): _*)).toArray

  /** @param piece relations with samples that equalities connect */
  def rowsOf(piece: RelSet): Double = {
    val (complete, partial) = piece.toVector.partition(samples(_).complete)
    if (partial.isEmpty)
      if (piece.size <= joins.largest && complete.forall(estimatedShare(_) >= 1.0 - Rounding)) counted(piece)
      else Estimate.Ceiling
    else if (partial.exists(r => samples(r).clustered || !samples(r).current)) Estimate.Ceiling
    else {
      val untried = piece.toVector.map(untriedShare).product
      if (untried <= 0.0) Estimate.Ceiling
      else math.min(Estimate.Ceiling, counted(piece) / untried * Doubt + unseen(piece, partial))
    }
  }

  /** Rows as counted, without the equalities that close a cycle. */
  private def counted(set: RelSet): Double =
    if (set.size > joins.largest || isForest(set)) joins.rowsOf(set)
    else trees.getOrElseUpdate(set.bits, joins.ofJoinTree(set))

  /**
   * Whether a join tree has all equalities of the set: the tree whose edges share the most classes has as many of them
   * as there are members to connect (Bernstein and Goodman 1981). Prim's algorithm.
   */
  private def isForest(set: RelSet): Boolean = {
    var (links, c) = (0, 0)
    while (c < members.length) { links += math.max((members(c) & set).size - 1, 0); c += 1 }
    val relations = set.toVector.toArray
    val weights   = relations.map(shared(relations(0))(_))
    weights(0) = Taken
    var edges = 0
    var step  = 1
    while (step < relations.length) {
      var next = 0
      var i    = 1
      while (i < relations.length) { if (weights(i) > weights(next)) next = i; i += 1 }
      edges += weights(next)
      weights(next) = Taken
      i = 1
      while (i < relations.length) {
        if (weights(i) != Taken) weights(i) = math.max(weights(i), shared(relations(next))(relations(i)))
        i += 1
      }
      step += 1
    }
    edges == links
  }

  /** Estimated rows per row that the sample has kept, on the scale of the table: below 1 if formulas removed some. */
  private def estimatedShare(relation: Int): Double = joins.rows(relation) / joins.messages.sampledRows(relation)

  /** Share that predicates keep which were not tried on the sample; priors of few kept rows are none. */
  private def untriedShare(relation: Int): Double = {
    val share = estimatedShare(relation)
    if (share < Untried) share else 1.0
  }

  /**
   * Rows of the join with rows that were not drawn. Each meets the most frequent keys of complete samples, and one row
   * of each partial sample. The count covers more: it expects rows of usual keys, and [[Doubt]] is for keys some times
   * as frequent. Beyond that, one partial sample is met with its most frequent key. That a key is in no sample and
   * frequent in several tables is too rare to count with.
   */
  private def unseen(set: RelSet, partial: Vector[Int]): Double = {
    def skew(r: Int) = set.toVector.filter(shared(r)(_) > 0).map(met(r, _).skew).max
    val beyondUsual  = if (partial.size > 1) math.max(1.0, partial.map(skew).max / Doubt) else 1.0
    RuleOfThree * partial.map(1.0 / joins.messages.fractionOf(_)).product * partial.map(along(set, _)).max * beyondUsual
  }

  /** Rows of the complete samples that one row of a relation meets, along the classes from relation to relation. */
  private def along(set: RelSet, from: Int): Double = {
    var rows    = 1.0
    var reached = Vector(from)
    var left    = set.toVector.filter(_ != from)
    while (left.nonEmpty) {
      // a piece is connected, so one of the others shares a class with those that are reached
      val next = left.find(r => reached.exists(shared(r)(_) > 0)).getOrElse(left.head)
      if (samples(next).complete)
        rows *= reached.filter(shared(next)(_) > 0).map(met(next, _).mostPartners).reduceOption(_ min _)
          .getOrElse(samples(next).rows.toDouble)
      reached :+= next
      left = left.filter(_ != next)
    }
    math.max(1.0, rows)
  }

  /** The rows of a relation's sample that one row of another relation meets by their common classes. */
  private def met(relation: Int, other: Int): KeyFigures = {
    if (partners(relation)(other) == null) {
      val keys = classesOf(relation).filter(classesOf(other).contains)
      partners(relation)(other) = joins.messages.figuresOf(relation, keys)
    }
    partners(relation)(other)
  }
}

private object SampleBounds {

  /**
   * Factor by which a count on partial samples may be too low. The largest factor measured on real joins of up to eight
   * relations was 19; 95 % were within 4.
   */
  val Doubt = 8.0

  /** In the place of the number of classes that a relation of the tree shares with it. */
  val Taken = -1

  /** If none of n drawn rows is of a kind, at most this many in n rows are, at 95 %. */
  val RuleOfThree = 3.0

  /** Relative error of a number of rows that a share of a sample was multiplied with. */
  val Rounding = 1e-6

  /** Share of the kept rows below which formulas have certainly removed some: priors of few rows change less. */
  val Untried = 0.5
}
