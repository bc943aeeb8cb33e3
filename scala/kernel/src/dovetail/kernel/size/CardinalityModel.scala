package dovetail.kernel.size

import dovetail.kernel.graph.{JoinGraph, RelSet}
import dovetail.kernel.profile.{Estimate, Source}

/**
 * Rows of every sub-join of a join graph: the only way the search and explain get a size.
 *
 * The number is a function of the set of relations alone, whatever order joins them (so that two plans of one set are
 * compared by their costs, not by estimation noise): relations are taken in one fixed order, largest first, and each
 * multiplies the rows by its own and by the share of pairs that its predicates to those before it keep.
 *
 *  - Within an equivalence class each new member divides by the larger of its domain and the smallest domain before it
 *    (containment, Selinger et al. 1979; the product over a class is min d / Π d, so `a=b AND b=c AND a=c` is not
 *    counted thrice). The domain is the NDV before predicates on other columns: textbooks shrink it with the filtered
 *    rows, which doubles the effect of independent filters on both sides.
 *  - Several classes to the same relation are a composite key: their joint NDV, never more than that relation's table
 *    has rows, takes the place of the product of the single ones. That is what makes `fact1 JOIN fact2 ON (item,
 *    ticket, customer)` come out near the smaller fact and not at one row.
 *  - Where both sides' ranges are known, only the common range counts: a date dimension of 200 years joined with 5
 *    years of sales has a domain of 5 years. Rows are taken to lie in the common range as far as that range can hold
 *    them (people filter dimensions to what the facts have).
 *  - Relations with samples are joined by counting ([[SampleJoins]]); the formulas then size the rest in proportion.
 *  - A member of unknown domain draws from its class's domain ([[dovetail.kernel.graph.EquivalenceClass.domain]]).
 *
 * [[SetFold]] takes the relations one by one, by the formulas of [[EqualityShare]]. [[JoinBounds]] says what the result
 * cannot exceed. Outer, semi, anti and existence joins are sized above this, by [[OperatorSizes]]; what somebody knows
 * better corrects both ([[KnownSizes]]).
 *
 * Not thread-safe: one model serves one search.
 */
final class CardinalityModel(graph: JoinGraph) {

  /** What is counted on the relations' samples. */
  val samples: SampleJoins = new SampleJoins(graph)

  private val bounds  = new JoinBounds(graph, samples)
  private val sampled = samples.covered.nonEmpty
  private val fold    = new SetFold(graph, bounds, sampled)

  private val operators: Option[OperatorSizes] =
    if (graph.operators.isEmpty) None else Some(new OperatorSizes(graph, samples, innerSize))

  private lazy val known: Option[KnownSizes] =
    if (graph.sizes.isEmpty) None else Some(new KnownSizes(graph, set => estimated(set, set.length).rows))

  /** Size of the join of the first `count` of `relations`: for the search, which asks for no upper bound. */
  def sizeOf(relations: Array[Int], count: Int): SetSize =
    if (known.isEmpty || count < 2) estimated(relations, count)
    else {
      val size = known.get.sizeOf(relations, count)
      size.known match {
        case Some(rows) =>
          val most = if (rows.upper == rows.value) rows.value else rows.bounded(estimated(relations, count).upper).upper
          SetSize(rows.value, most, most)
        case None =>
          val own  = estimated(relations, count)
          val rows = corrected(own.rows, size)
          SetSize(rows, math.max(own.cautious, rows), math.max(own.upper, rows))
      }
    }

  /** Rows of the join of these relations as they are estimated without what somebody knows better. */
  def estimatedRows(relations: Array[Int]): Double = estimated(relations, relations.length).rows

  /** Size of the join of these relations with bounds and source: for results, not for the search. */
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
        size.known.fold(around)(_.bounded(own.upper))
      }
    }

  /** An estimate that the known sizes of sets within the set correct: at least 1, at most [[Estimate.Ceiling]]. */
  private def corrected(rows: Double, by: KnownSizes.Size): Double =
    math.max(1.0, math.min(rows * by.correction, Estimate.Ceiling))

  /** Without what somebody knows better. */
  private def estimated(relations: Array[Int], count: Int): SetSize =
    if (operators.isEmpty) inner(relations, count, withBound = false) else operators.get.sizeOf(relations, count)

  /** Of inner joins, as operators take it: with a bound that is no lower than the estimate. */
  private def innerSize(set: Array[Int]): SetSize = {
    val size = inner(set, set.length, withBound = true)
    size.copy(upper = math.max(size.rows, size.upper))
  }

  /** Of inner joins by formulas; and what can be counted on samples takes the place of its part of them. */
  private def inner(relations: Array[Int], count: Int, withBound: Boolean): SetSize =
    if (count < 2 || !sampled) fold(relations, count, withBound).size
    else {
      val pieces = samples.pieces(RelSet(relations.take(count).toIndexedSeq: _*))
      val whole  = fold(relations, count, withBound)
      if (pieces.isEmpty) whole.size else counted(whole, pieces, count)
    }

  /**
   * Size of a set of which connected pieces are counted on samples: each count takes the place of what the formulas
   * make of its piece.
   *
   * @param count relations in the set
   */
  private def counted(whole: SetFold.Result, pieces: Vector[RelSet], count: Int): SetSize = {
    val logCounted = pieces.map { piece =>
      math.log(samples.rowsOf(piece)) - fold(piece.toVector.toArray, piece.size, withBound = false).logPairs
    }.sum
    val size     = whole.size
    val rows     = math.exp(whole.logPairs + whole.logPredicates + logCounted)
    val all      = pieces.size == 1 && pieces.head.size == count
    val cautious = if (all) math.min(size.cautious, samples.cautiousRowsOf(pieces.head)) else size.cautious
    size.copy(rows = math.max(1.0, math.min(rows, bounds.limit(size.upper))), cautious = cautious)
  }
}
