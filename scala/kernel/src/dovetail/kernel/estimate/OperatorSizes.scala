package dovetail.kernel.estimate

import scala.collection.immutable.BitSet
import scala.collection.mutable

import dovetail.kernel.graph.{JoinGraph, JoinKind, Member, Operator}

/**
 * Rows of sets of relations with outer, semi, anti and existence joins in them: above the sizes of inner joins in [[CardinalityModel]].
 *
 * A function of the set alone: the highest operator, as written, that has all it needs in the set splits it into the relations of its right side and the
 * rest. These are sized in the same way, then joined by the formula of the operator's kind; what predicates above it keep comes last.
 *
 *  - Pairs: rows times rows times the share that the condition keeps, by domains; several keys between two relations by their joint NDV.
 *  - Partners: the share of rows with one, by containment in the right side's keys, thinned out by what else is joined there; counted where both sides
 *    are sampled relations.
 *  - A left outer join adds the rows without a partner to the pairs, a full outer join those of both sides; semi and anti joins keep a share of the left
 *    rows, an existence join all of them.
 *
 * So a semi, anti or existence join never has more rows than its left side, and a left outer join never fewer, nor more than there are combinations.
 *
 * @param inner sizes of inner joins
 */
final private[estimate] class OperatorSizes(graph: JoinGraph, samples: SampleJoins, inner: BitSet => OperatorSizes.Size) {
  import OperatorSizes._

  private val conflicts = graph.joinable.conflicts
  private val known     = mutable.HashMap.empty[BitSet, Size]
  private val rights    = graph.operators.map(o => BitSet(o.right: _*))
  private val needs     = graph.operators.map(o => conflicts.operators(o.index).all)
  private val filters   = graph.predicates.map(p => conflicts.predicates(p.index).all)

  def of(set: BitSet): Size = known.getOrElse(set, { val size = sized(set); known(set) = size; size })

  private def sized(set: BitSet): Size = {
    val last = graph.operators.lastIndexWhere(o => needs(o.index).subsetOf(set))
    if (last < 0) inner(set)
    else {
      val (l, r) = (set &~ rights(last), set & rights(last))
      val above  = graph.predicates.indices.filter(p => filters(p).subsetOf(set) && !filters(p).subsetOf(l) && !filters(p).subsetOf(r))
      joined(graph.operators(last), l, r).kept(Assumptions.conjunction(above.map(graph.predicates(_).selectivity)))
    }
  }

  private def joined(o: Operator, leftSet: BitSet, rightSet: BitSet): Size = {
    val (l, r)   = (of(leftSet), of(rightSet))
    val keys     = math.min(1.0, shareOfPairs(o))
    val pairs    = math.min(l.rows * r.rows * keys * o.selectivity, Estimate.Ceiling)
    val matched  = partnered(o, leftSet, rightSet, l.rows, r.rows, pairs, mirrored = false)
    def matchedR = partnered(o, rightSet, leftSet, r.rows, l.rows, pairs, mirrored = true)
    val outer    = math.max(l.rows, pairs + l.rows * (1.0 - matched))
    val most     = l.rows * r.rows
    val one      = rightIsKey(o, rightSet)
    o.kind match {
      case JoinKind.Semi      => l.kept(matched)
      case JoinKind.Anti      => l.kept(JoinSize.antiShare(matched))
      case JoinKind.Existence => l
      case JoinKind.LeftOuter =>
        val upper = if (one) l.upper else l.upper * r.upper
        Size(math.min(outer, most), l.cautious * (if (one || likelyKey(o, rightSet)) 1.0 else r.cautious), upper).capped
      case _ =>
        val rows = math.max(math.max(l.rows, r.rows), pairs + l.rows * (1.0 - matched) + r.rows * (1.0 - matchedR))
        Size(math.min(rows, math.max(most, l.rows + r.rows)), l.cautious * r.cautious + l.cautious + r.cautious, l.upper * r.upper + l.upper + r.upper).capped
    }
  }

  /** Share of the pairs of rows that the equalities keep. */
  private def shareOfPairs(o: Operator): Double =
    if (o.equalities.isEmpty) 1.0
    else {
      val nonNull = o.equalities.map { case (a, b) => a.column.nonNull * b.column.nonNull }.min
      nonNull / math.max(jointDomain(o.equalities.map(e => e -> e._1)), jointDomain(o.equalities.map(e => e -> e._2)))
    }

  /** Distinct values that one side's keys draw from together. */
  private def jointDomain(members: Vector[((Member, Member), Member)]): Double = {
    val single = members.map { case ((a, b), m) => domainOf(m, a, b) }
    val joint  = if (single.size == 1) single.head else Assumptions.jointNdv(single)
    val ms     = members.map(_._2)
    val one    = ms.map(_.relation).distinct.size == 1
    val known  = if (one && ms.forall(_.columns.size == 1)) profile(ms.head).groups.get(ms.flatMap(_.columns).toSet) else None
    math.max(1.0, known.fold(if (one && single.size > 1) math.min(joint, math.max(profile(ms.head).baseRows, 1.0)) else joint)(math.min(_, single.product)))
  }

  private def profile(m: Member) = graph.relations(m.relation).profile

  private def domainOf(m: Member, a: Member, b: Member): Double =
    m.column.domain.getOrElse(math.min(math.max(profile(m).baseRows, 1.0), classDomain(a, b)))

  private def classDomain(a: Member, b: Member): Double =
    (a.column.domain ++ b.column.domain).reduceOption(_ max _).getOrElse(math.max(1.0, math.min(profile(a).baseRows, profile(b).baseRows)))

  /**
   * Share of the rows of one side with a partner on the other one: the most selective key decides, for keys of one relation go together; what the rest of
   * the condition keeps of the pairs has to keep one of each row's.
   */
  private def partnered(o: Operator, mine: BitSet, other: BitSet, rows: Double, otherRows: Double, pairs: Double, mirrored: Boolean): Double = {
    val keys    = if (mirrored) o.equalities.map(_.swap) else o.equalities
    val matched = counted(o, mine, other, mirrored).getOrElse {
      keys.map { case (m, t) =>
        val left = t.column.copy(ndv = ndvAmong(t, otherRows), domain = Some(domainOf(t, m, t)))
        m.column.nonNull * JoinSize.semiShare(Some(domainOf(m, m, t)), left)
      }.reduceOption(_ min _).getOrElse(1.0)
    }
    // partners of a row that has any, before the rest of the condition
    val partners = if (o.selectivity <= 0.0 || matched <= 0.0) 1.0 else math.max(1.0, pairs / o.selectivity / (rows * matched))
    val some     = if (o.selectivity >= 1.0) 1.0 else -math.expm1(math.log1p(-o.selectivity) * partners)
    math.max(0.0, math.min(1.0, matched * some))
  }

  /** Distinct values of a key that are left among so many rows of its side. */
  private def ndvAmong(m: Member, rows: Double): Option[Double] = {
    val own = math.max(profile(m).rows.value, 1.0)
    m.column.ndv.map(Assumptions.distinctAfter(_, own, math.min(rows, own)))
  }

  private def counted(o: Operator, mine: BitSet, other: BitSet, mirrored: Boolean): Option[Double] =
    if (mine.size == 1 && other.size == 1 && !o.wideEquality) samples.partnered(mine.head, other.head, o, mirrored) else None

  /** Each row of the left side has at most one partner, for certain: its equalities hold a unique key of the one relation on the right. */
  private def rightIsKey(o: Operator, right: BitSet): Boolean = right.size == 1 && {
    val columns = o.equalities.collect { case (_, m) if m.columns.size == 1 => m.columns.head }.toSet
    graph.relations(right.head).profile.uniqueKeys.exists(_.subsetOf(columns))
  }

  /** The same, by counts. */
  private def likelyKey(o: Operator, right: BitSet): Boolean = right.size == 1 && o.equalities.exists { case (_, m) =>
    m.column.domain.exists(_ >= Assumptions.UniqueNdvShare * profile(m).baseRows)
  }
}

private[estimate] object OperatorSizes {

  /** @param cautious rows that the set should not exceed, as [[CardinalityModel.cautiousRows]]; @param upper rows that it cannot exceed */
  final case class Size(rows: Double, cautious: Double, upper: Double) {

    /** At least one row, as everywhere in the search. Filters count for nothing where caution is asked for. */
    def kept(share: Double): Size = copy(rows = math.max(1.0, rows * share))

    def capped: Size = {
      def cap(x: Double) = math.min(x, Estimate.Ceiling)
      Size(cap(math.max(1.0, math.min(rows, upper))), cap(cautious), cap(upper))
    }
  }
}
