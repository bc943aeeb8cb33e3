package dovetail.kernel.size

import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, KnownSize, Operator, RelSet}
import dovetail.kernel.profile.{Estimate, Source}

/**
 * Estimates the rows of every sub-join of a join graph. The search and explain get all their sizes from it.
 *
 * The estimate depends on the set of relations alone and not on the join order, so that two plans of one set are
 * compared by their costs and not by estimation noise. Relations are taken in one fixed order, largest first. Each
 * relation multiplies the rows by its own rows and by the share of pairs that its predicates with earlier relations
 * keep.
 *
 *  - Within an equivalence class, each new member divides by the larger of its domain and the smallest domain before it
 *    (containment, Selinger et al. 1979; the product over a class is min d / Π d, so `a=b AND b=c AND a=c` is not
 *    counted three times). The domain is the NDV before predicates on other columns. Textbooks shrink it with the
 *    filtered rows, which doubles the effect of independent filters on both sides.
 *  - Several classes to the same relation are a composite key. Their joint NDV, which is at most the rows of that
 *    relation's table, replaces the product of the single NDVs. So `fact1 JOIN fact2 ON (item, ticket, customer)` has
 *    about as many rows as the smaller fact and not a single row.
 *  - If the ranges of both sides are known, only the common range counts: a date dimension of 200 years joined with 5
 *    years of sales has a domain of 5 years. As many rows are assumed to lie in the common range as it can hold,
 *    because people filter dimensions to the values that the facts have.
 *  - Relations with samples are joined by counting ([[SampleJoins]]). The formulas then size the other relations in
 *    proportion.
 *  - A member of unknown domain draws from its class's domain ([[dovetail.kernel.graph.EquivalenceClass.domain]]).
 *
 * [[SetFold]] takes the relations one by one and applies the formulas of [[EqualityShare]]. [[JoinBounds]] gives upper
 * bounds of the result. [[OperatorSizes]] builds on these sizes for outer, semi, anti and existence joins.
 * [[KnownSizes]] corrects both by sizes that are known better.
 *
 * Not thread-safe: one model serves one search.
 */
final class CardinalityModel(graph: JoinGraph) {
  import CardinalityModel.LogMost

  /** Counts on the relations' samples. */
  val samples: SampleJoins = new SampleJoins(graph)

  private val bounds  = new JoinBounds(graph, samples)
  private val limits  = new SampleBounds(graph, samples)
  private val sampled = samples.covered.nonEmpty
  private val fold    = new SetFold(graph, bounds, sampled)
  private val logs    = new mutable.LongMap[Double]

  private val operators: Option[OperatorSizes] =
    if (graph.operators.isEmpty) None else Some(new OperatorSizes(graph, samples, innerSize))

  private lazy val known: Option[KnownSizes] =
    if (graph.sizes.isEmpty) None else Some(new KnownSizes(graph, set => estimated(set, set.length).rows))

  /** Size of the join of the first `count` of `relations`. It is for the search, which asks for no upper bound. */
  def sizeOf(relations: Array[Int], count: Int): SetSize =
    if (known.isEmpty || count < 2) estimated(relations, count)
    else {
      val size = known.get.sizeOf(relations, count)
      size.known match {
        case Some(KnownSize.Rows(told)) =>
          val rows = told.atLeast(1.0)
          if (rows.upper == rows.value) SetSize(rows.value, rows.value, rows.value)
          else {
            val own  = estimated(relations, count)
            val most = rows.bounded(own.upper).upper
            SetSize(rows.value, math.max(rows.value, math.min(most, own.cautious)), most)
          }
        case by =>
          val own = estimated(relations, count)
          val all = corrected(own.rows, size)
          // a factor does not raise a size above its bound
          val rows = if (by.isDefined) math.max(1.0, math.min(all, own.upper)) else all
          SetSize(rows, math.max(own.cautious, rows), math.max(own.upper, rows))
      }
    }

  /** Share of all pairs of rows that the equalities of an operator of the graph keep. */
  def shareOfKeys(operator: Operator): Double = operators.fold(1.0)(_.shareOfKeys(operator))

  /** Estimated rows of the join of these relations, not corrected by known sizes. */
  def estimatedRows(relations: Array[Int]): Double = estimated(relations, relations.length).rows

  /** Size of the join of these relations with bounds and source. It is for results, not for the search. */
  def estimate(relations: Array[Int]): Estimate =
    if (relations.length == 1) graph.relations(relations.head).profile.rows
    else {
      val source = relations.map(r => graph.relations(r).profile.rows.source).reduce((a, b) => Source.weakest(a, b))
      val size   =
        operators.fold(inner(relations, relations.length, withBound = true))(_.sizeOf(relations, relations.length))
      val own = Estimate.upTo(size.rows, size.upper, source)
      known.map(_.sizeOf(relations, relations.length)).fold(own) { size =>
        val value  = corrected(own.value, size)
        def around = if (size.correction == 1.0) own else Estimate.upTo(value, math.max(value, own.upper), source)
        size.known.fold(around)(_.rows(own).atLeast(1.0).bounded(own.upper))
      }
    }

  /** Corrects an estimate by the known sizes of sets within the set. At least 1, at most [[Estimate.Ceiling]]. */
  private def corrected(rows: Double, by: KnownSizes.Size): Double =
    math.max(1.0, math.min(rows * by.correction, Estimate.Ceiling))

  /** Estimated size, not corrected by known sizes. */
  private def estimated(relations: Array[Int], count: Int): SetSize =
    if (operators.isEmpty) inner(relations, count, withBound = false) else operators.get.sizeOf(relations, count)

  /** Size of inner joins in the form that operators need: its bound is no lower than the estimate. */
  private def innerSize(set: Array[Int]): SetSize = {
    val size = inner(set, set.length, withBound = true)
    size.copy(upper = math.max(size.rows, size.upper))
  }

  /** Size of inner joins by formulas. Counts on samples replace the formulas for the part that they cover. */
  private def inner(relations: Array[Int], count: Int, withBound: Boolean): SetSize =
    if (count < 2 || !sampled) fold(relations, count, withBound).size
    else {
      val whole  = fold(relations, count, withBound)
      val pieces = samples.pieces(RelSet(relations.take(count).toIndexedSeq: _*) - new RelSet(whole.beyond))
      if (pieces.counted.isEmpty) whole.size else counted(whole, pieces, count)
    }

  /** Logarithm of the rows of equality joins by formulas. */
  private def logOf(set: RelSet): Double =
    logs.getOrElseUpdate(set.bits, fold(set.toVector.toArray, set.size, withBound = false).logPairs)

  /**
   * Size of a set with connected pieces that are counted on samples. Each count replaces the formulas' estimate of its
   * piece. What several pieces have counts once.
   *
   * @param count number of relations in the set
   */
  private def counted(whole: SetFold.Result, pieces: SampledPieces.Pieces, count: Int): SetSize = {
    def formula(set: RelSet) = math.exp(math.max(-LogMost, math.min(logOf(set), LogMost)))
    // logarithm of the factor by which the formulas are off
    def offBy(set: RelSet) = math.log(samples.rowsOf(set, formula(_))) - logOf(set)
    val size               = whole.size
    val by                 = pieces.counted.map(offBy).sum - pieces.overlap.map(offBy).filterNot(_.isInfinite).sum
    val rows               = math.exp(whole.logPairs + whole.logPredicates + by)
    val all                = pieces.counted.size == 1 && pieces.counted.head.size == count
    val cautious           = if (all) math.min(size.cautious, limits.rowsOf(pieces.counted.head)) else size.cautious
    size.copy(rows = math.max(1.0, math.min(rows, bounds.limit(size.upper))), cautious = cautious)
  }
}

private object CardinalityModel {

  /** Limit for logarithms of rows: products of a few such numbers are neither infinite nor 0. */
  private val LogMost = math.log(Estimate.Ceiling)
}
