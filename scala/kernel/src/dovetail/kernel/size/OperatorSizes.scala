package dovetail.kernel.size

import scala.collection.immutable.BitSet
import scala.collection.mutable

import dovetail.kernel.graph.{ForeignKeys, JoinGraph, JoinKind, Member, Operator, Words}
import dovetail.kernel.profile.{Assumptions, Estimate}

/**
 * Estimates the rows of sets of relations with outer, semi, anti and existence joins in them. It builds on the sizes of
 * inner joins from [[CardinalityModel]].
 *
 * The result depends on the set alone. The topmost operator of the written plan that has all it needs in the set splits
 * the set into the relations of its right side and the rest. Both parts are sized in the same way, then joined by the
 * formula of the operator's kind. At last, the predicates above the operator reduce the rows.
 *
 *  - Pairs: rows times rows times the share that the condition keeps, by the domains in the common range of both sides
 *    ([[CommonKeys]]). Several keys between two relations count by their joint NDV. If both sides are sampled
 *    relations, the partners of a left row are counted.
 *  - Partners: the share of rows that have a partner, by the common range and containment in the right side's keys.
 *    Other joins inside the right side reduce these keys, as if a key's rows stayed or went together in part
 *    ([[Assumptions.keysAfter]]). If both sides are sampled relations, the share is counted.
 *  - A left outer join adds the rows without a partner to the pairs, a full outer join those of both sides. Semi and
 *    anti joins keep a share of the left rows, an existence join all of them. The lower limit of an anti join's share
 *    is for formulas; a counted share is limited only by what a sample can tell.
 *  - A filter for the rows without a partner above a left outer join (`WHERE b.key IS NULL`) leaves what an anti join
 *    would.
 *
 * So a semi, anti or existence join never has more rows than its left side. A left outer join never has fewer rows than
 * its left side, and never more than there are combinations.
 *
 * @param inner sizes of inner joins
 */
final private[size] class OperatorSizes(graph: JoinGraph, samples: SampleJoins, inner: Array[Int] => SetSize) {
  import OperatorSizes._

  private val words     = new Words(graph.size)
  private val conflicts = graph.joinable.conflicts
  private val levels    = graph.levels
  private val filters   = graph.predicates.map(p => words.packed(graph.neededBy(p))).toArray
  private val joins     = graph.operators.map(new Operation(_)).toArray
  private val single    = new mutable.LongMap[SetSize] // sets of one word
  private val several   = mutable.HashMap.empty[Words.Key, SetSize]

  /** The parts of a join's size that depend only on the operator. */
  private class Operation(val operator: Operator) {
    private val needs           = new Words.Mask(words.packed(conflicts.operators(operator.index).all))
    val right: Array[Long]      = words.packed(BitSet(operator.right: _*))
    private val common          = operator.equalities.map { case (m, t) => commonKeys(m, t) }
    val keys: Double            = math.min(1.0, shareOfPairs(operator, common))
    val isCounted: Boolean      = isJointCounted(operator, common)
    val forward: Array[Partner] = operator.equalities.zip(common).map { case ((m, t), c) => partner(m, t, c) }.toArray
    val back: Array[Partner]    = operator.equalities.zip(common).map { case ((m, t), c) =>
      partner(t, m, c.swapped)
    }.toArray

    /**
     * Share of the left rows that have a partner, counted on the samples of the two relations that the equalities read.
     * Other relations of the left side may change which rows there are, but not whether these have partners: unless
     * they are outer joins, whose rows of NULLs have none.
     */
    lazy val counted: Option[PartnerShare] =
      for ((l, r) <- counting; share <- samples.partnered(l, r, operator)) yield share

    /** Mean number of partners of a left row, counted in the same way, before the rest of the condition. */
    lazy val multiplied: Option[Double] =
      for (
        (l, r) <- counting;
        n      <- samples.partners(l, r, operator, profile(operator.equalities.head._2).rows.value * keys)
      ) yield n

    private def counting: Option[(Int, Int)] =
      for {
        l <- one(_._1) if !operator.wideEquality && levels.levelOf(l) == levels.levelOf(operator.left)
        r <- one(_._2)
      } yield (l, r)

    /** The same for the rows of the right side, if the left side is a single relation. */
    lazy val countedBack: Option[PartnerShare] =
      for (l <- one(_._1) if !operator.wideEquality; r <- one(_._2); share <- samples.partnered(r, l, operator))
        yield share

    private def one(side: ((Member, Member)) => Member): Option[Int] =
      Some(operator.equalities.map(side(_).relation).distinct).collect { case Vector(r) => r }

    // tested first: a set without the operator seldom contains this relation of the right side
    private val first = Words.first(Words.common(needs.words, right))

    /** Whether the set contains all that the operator needs. */
    def isIn(set: Array[Long]): Boolean = (set(first >> 6) >>> first & 1L) != 0L && needs.within(set)
  }

  def sizeOf(relations: Array[Int], count: Int): SetSize = sizeOf(words.packed(relations, count))

  private def sizeOf(set: Array[Long]): SetSize =
    if (set.length == 1) {
      var size = single.getOrNull(set(0))
      if (size == null) { size = sized(set); single(set(0)) = size }
      size
    } else {
      if (several.size > MostKept) several.clear()
      val key = new Words.Key(set)
      several.getOrElse(key, { val size = sized(set); several(key) = size; size })
    }

  private def sized(set: Array[Long]): SetSize = {
    var last = joins.length - 1
    while (last >= 0 && !joins(last).isIn(set)) last -= 1
    if (last < 0) inner(Words.toArray(set))
    else {
      val (l, r) = (Words.without(set, joins(last).right), Words.common(set, joins(last).right))
      if (filters.isEmpty) joined(joins(last), l, r)
      else {
        val above = filters.indices.filter(p =>
          Words.within(filters(p), set) && !Words.within(filters(p), l) && !Words.within(filters(p), r)
        ).map(graph.predicates(_))
        val (partnerless, reading) = above.partition(_.partnerless.contains(joins(last).operator.index))
        val size                   = joined(joins(last), l, r, partnerless.nonEmpty)
        size.kept(Assumptions.conjunction(reading.map(_.selectivity)))
      }
    }
  }

  /** @param partnerless whether a filter keeps only the left rows without a partner */
  private def joined(
      j: Operation,
      leftSet: Array[Long],
      rightSet: Array[Long],
      partnerless: Boolean = false
  ): SetSize = {
    val o          = j.operator
    val (l, r)     = (sizeOf(leftSet), sizeOf(rightSet))
    val alone      = Words.count(rightSet) == 1
    def byKeys     = r.rows * j.keys
    lazy val pairs = {
      val partners = if (returnsPairs(o.kind) && alone) j.multiplied.getOrElse(byKeys) else byKeys
      math.min(l.rows * partners * o.selectivity, Estimate.Ceiling)
    }
    def share    = if (alone) j.counted else None
    def shareR   = if (alone && Words.count(leftSet) == 1) j.countedBack else None
    def matched  = partnered(o, share, j.forward, l, r, pairs)
    def matchedR = partnered(o, shareR, j.back, r, l, pairs)
    def anti     = l.kept(JoinSize.antiShare(matched, share.fold(Assumptions.AntiJoinFloor)(_.leastAlone)))
    o.kind match {
      case _ if partnerless   => anti
      case JoinKind.Semi      => l.kept(matched)
      case JoinKind.Anti      => anti
      case JoinKind.Existence => l
      case JoinKind.LeftOuter =>
        val outer    = math.max(l.rows, pairs + l.rows * (1.0 - matched))
        val upper    = if (alone && rightIsKey(o)) l.upper else l.upper * r.upper
        val cautious = l.cautious * (if (alone && likelyKey(o)) 1.0 else r.cautious)
        SetSize(math.min(outer, l.rows * r.rows), cautious, upper).capped
      case _ =>
        val outer = math.max(math.max(l.rows, r.rows), pairs + l.rows * (1.0 - matched) + r.rows * (1.0 - matchedR))
        val most  = math.max(l.rows * r.rows, l.rows + r.rows)
        SetSize(
          math.min(outer, most),
          l.cautious * r.cautious + l.cautious + r.cautious,
          l.upper * r.upper + l.upper + r.upper
        ).capped
    }
  }

  private def returnsPairs(kind: JoinKind) = kind == JoinKind.LeftOuter || kind == JoinKind.FullOuter

  /** Share of all pairs of rows that the equalities of this operator keep, at most 1. */
  def shareOfKeys(operator: Operator): Double = joins(operator.index).keys

  /** Share of the pairs of rows that the equalities keep. */
  private def shareOfPairs(o: Operator, common: Vector[CommonKeys]): Double =
    if (o.equalities.isEmpty) 1.0
    else {
      val (left, right) = (o.equalities.map(_._1), o.equalities.map(_._2))
      val domain        = math.max(jointDomain(left, common.map(_.mine)), jointDomain(right, common.map(_.theirs)))
      val equal         = common.map(_.pairs).min / domain
      // of several keys, nobody knows how often all are NULL together
      o.equalities match {
        case Vector((a, b)) if a.nullsMeet => JoinSize.nullSafe(a.column.nonNull, b.column.nonNull, equal)
        case many => many.map { case (a, b) => a.column.nonNull * b.column.nonNull }.min * equal
      }
    }

  /**
   * Distinct values of the joint domain of one side's keys.
   *
   * @param single domain of each key in the common range
   */
  private def jointDomain(ms: Vector[Member], single: Vector[Double]): Double = {
    val joint = if (single.size == 1) single.head else Assumptions.jointNdv(single)
    val one   = ms.map(_.relation).distinct.size == 1
    math.max(
      1.0,
      countedJoint(ms).fold(
        if (one && single.size > 1) math.min(joint, math.max(profile(ms.head).baseRows, 1.0)) else joint
      )(math.min(_, single.product))
    )
  }

  /**
   * Whether the combinations of several keys were counted on the side that has more of them. Those with NULLs are not
   * counted, so none may meet.
   */
  private def isJointCounted(o: Operator, common: Vector[CommonKeys]): Boolean = o.equalities.size > 1 && {
    val nullsMeet = o.equalities.exists { case (m, t) =>
      m.nullsMeet && m.column.nonNull < 1.0 && t.column.nonNull < 1.0
    }
    val (left, right) = (o.equalities.map(_._1), o.equalities.map(_._2))
    val more          = jointDomain(left, common.map(_.mine)) >= jointDomain(right, common.map(_.theirs))
    !nullsMeet && countedJoint(if (more) left else right).isDefined
  }

  private def countedJoint(ms: Vector[Member]): Option[Double] =
    if (ms.map(_.relation).distinct.size > 1 || ms.exists(_.columns.size != 1)) None
    else profile(ms.head).groups.get(ms.flatMap(_.columns).toSet)

  private def profile(m: Member) = graph.relations(m.relation).profile

  private def domainOf(m: Member, a: Member, b: Member): Double =
    m.column.domain.getOrElse(math.min(math.max(profile(m).baseRows, 1.0), classDomain(a, b)))

  private def classDomain(a: Member, b: Member): Double =
    (a.column.domain ++ b.column.domain).reduceOption(_ max _).getOrElse(math.max(
      1.0,
      math.min(profile(a).baseRows, profile(b).baseRows)
    ))

  private def commonKeys(m: Member, t: Member): CommonKeys =
    CommonKeys(
      CommonKeys.Side(m.column, domainOf(m, m, t), profile(m)),
      CommonKeys.Side(t.column, domainOf(t, m, t), profile(t))
    )

  private def partner(m: Member, t: Member, common: CommonKeys): Partner =
    Partner(
      m.column.nonNull,
      common,
      t.column.ndv,
      m.column.domain.isDefined,
      math.max(profile(t).rows.value, 1.0),
      if (m.nullsMeet && t.column.nonNull < 1.0) 1.0 - m.column.nonNull else 0.0
    )

  /**
   * Share of the rows of one side with a partner on the other side. The most selective key decides, because keys of one
   * relation are correlated, unless it is known how many combinations of keys there are. The rest of the condition must
   * keep at least one of a row's partners.
   */
  private def partnered(
      o: Operator,
      counted: Option[PartnerShare],
      keys: Array[Partner],
      mine: SetSize,
      other: SetSize,
      pairs: => Double
  ): Double = {
    val sure    = counted.exists(_.isSure)
    var matched = 1.0
    var i       = 0
    while (!sure && i < keys.length) { matched = math.min(matched, keys(i).share(other.rows)); i += 1 }
    // the share of rows with a partner is at most the mean number of partners
    if (joins(o.index).isCounted) matched = math.min(matched, other.rows * shareOfKeys(o))
    counted.foreach(share => matched = share.mixed(matched))
    // partners of a row that has a partner, before the rest of the condition
    val partners =
      if (o.selectivity <= 0.0 || matched <= 0.0) 1.0 else math.max(1.0, pairs / o.selectivity / (mine.rows * matched))
    val some = if (o.selectivity >= 1.0) 1.0 else -math.expm1(math.log1p(-o.selectivity) * partners)
    math.max(0.0, math.min(1.0, matched * some))
  }

  /**
   * Whether each row of the left side certainly has at most one partner, because the equalities contain a unique key of
   * the single relation on the right.
   */
  private def rightIsKey(o: Operator): Boolean = {
    val columns = o.equalities.collect { case (_, m) if m.columns.size == 1 => m.columns.head }.toSet
    o.equalities.headOption.exists { case (_, m) => profile(m).uniqueKeys.exists(_.subsetOf(columns)) }
  }

  /** The same, but counts are enough evidence. */
  private def likelyKey(o: Operator): Boolean =
    rightIsKey(o) || o.equalities.exists { case (_, m) =>
      ForeignKeys.isCountedKey(m.column, profile(m).baseRows)
    }
}

private[size] object OperatorSizes {

  /**
   * Maximum number of sizes kept for graphs of more than 64 relations: 100 bytes or more each, a few tens of megabytes.
   */
  private val MostKept = 100000

  /**
   * An equality, seen from one side.
   *
   * @param nonNull share of non-NULL keys on this side
   * @param keys    what the keys of both sides have in common
   * @param ndv     distinct values of the other side's key
   * @param domain  whether the values are known that this side's key draws from
   * @param rows    rows of the other side's relation
   * @param nulls   share of NULL keys on this side, if they meet those of the other side
   */
  final private case class Partner(
      nonNull: Double,
      keys: CommonKeys,
      ndv: Option[Double],
      domain: Boolean,
      rows: Double,
      nulls: Double
  ) {

    /** Share of the rows of this side whose key is among the keys of `among` rows of the other side (containment). */
    def share(among: Double): Double = {
      val left = math.min(among, rows)
      nulls + nonNull * (if (ndv.isDefined) keys.partnered(Assumptions.keysAfter(ndv.get, rows, left))
                         else {
                           val half = Assumptions.SemiJoin * keys.mineWithin
                           // the other side has at most as many keys as rows
                           if (domain) math.min(half, keys.partnered(left)) else half
                         })
    }
  }
}
