package dovetail.kernel.profile

import scala.collection.mutable

import dovetail.kernel.profile.Condition._

/**
 * Estimates the rows and columns that a predicate leaves.
 *
 * Single predicates follow Selinger et al. 1979 and Spark's FilterEstimation: an equality keeps 1/NDV inside the range,
 * a range keeps its share of [min, max] or of the histogram, and the predicate becomes the column's new range. We
 * depart from both in four points: NOT and OR respect NULLs, a predicate that we cannot look into has its own default
 * instead of 1.0, conjuncts on different columns are combined by back-off instead of a product, and the NDV of the
 * columns that are not filtered shrinks with the rows.
 */
object Filters {

  def apply(relation: RelationProfile, predicate: Condition): RelationProfile = {
    val conjuncts   = Condition.conjuncts(predicate)
    val (ranges, _) = Interval.collect(conjuncts)
    val rows        = relation.rows.scaled(selectivity(relation, predicate))
    val rejected    = conjuncts.flatMap(valueShare(relation, _)).flatMap(_._1).distinct
    val nullFree    = rejected.foldLeft(relation.columns)((columns, id) =>
      columns.updated(id, relation.column(id).copy(nulls = Some(0.0)))
    )
    val onlyNull = conjuncts.collect { case IsNull(id) => id }.foldLeft(nullFree) { (columns, id) =>
      columns.updated(id, relation.column(id).copy(ndv = Some(0.0), nulls = Some(1.0)))
    }
    val narrowed = ranges.foldLeft(onlyNull) { case (columns, (id, interval)) =>
      val before = relation.column(id)
      val after  = interval.narrow(before)
      val inside =
        if (after.min == before.min && after.max == before.max) before.rangeRows
        else Some(interval.share(before) * before.rangeRows.getOrElse(relation.baseRows))
      columns.updated(id, after.copy(rangeRows = inside))
    }
    val filtered = ranges.map(_._1).toSet
    val columns  = narrowed.map { case (id, c) =>
      id -> (if (filtered(id)) c.copy(ndv = c.ndv.map(math.min(_, math.max(rows.value, 1.0))))
             else c.copy(ndv = c.ndv.map(Assumptions.distinctAfter(_, relation.rows.value, rows.value))))
    }
    relation.copy(rows = rows, columns = columns)
  }

  /** Ends of the values that the conjuncts of a predicate leave of each column that they restrict to a range. */
  def ranges(predicate: Condition): Vector[(Long, (Double, Double))] =
    Interval.collect(Condition.conjuncts(predicate))._1.collect {
      case (id, i) if i.ends != Interval().ends => id -> i.ends
    }

  /** Share of the relation's rows for which `predicate` is true (not false, not NULL). */
  def selectivity(relation: RelationProfile, predicate: Condition): Double = {
    val s = predicate match {
      case or: Or                                                => disjunction(relation, Condition.disjuncts(or))
      case Not(child) if valueShare(relation, predicate).isEmpty => negation(relation, child)
      case Constant(keeps)                                       => if (keeps) 1.0 else 0.0
      case IsNull(id) => relation.column(id).nulls.getOrElse(Assumptions.IsNull)
      case _: Opaque  => Assumptions.Opaque
      case _          => conjunction(relation, Condition.conjuncts(predicate))
    }
    // numbers near the largest ones may leave the range of Double somewhere
    if (s.isNaN) Assumptions.Opaque else math.max(0.0, math.min(1.0, s))
  }

  /**
   * Selectivity of a disjunction. Equalities of one column exclude each other, so their shares add up; other operands
   * are taken to be independent.
   */
  private def disjunction(relation: RelationProfile, operands: Vector[Condition]): Double = {
    val ofColumn = mutable.LinkedHashMap.empty[Long, Double]
    val others   = Vector.newBuilder[Double]
    operands.foreach { c =>
      val share = selectivity(relation, c)
      c match {
        case Equals(id, _, _) => ofColumn(id) = ofColumn.getOrElse(id, 0.0) + share
        case In(id, _, _, _)  => ofColumn(id) = ofColumn.getOrElse(id, 0.0) + share
        case _                => others += share
      }
    }
    (ofColumn.values.map(math.min(1.0, _)) ++ others.result()).foldLeft(0.0)((a, b) => a + b - a * b)
  }

  /**
   * Selectivity of a conjunction. Predicates on one column form one interval, which counts once. The non-NULL share of
   * every column that must not be NULL counts in full, once. The shares of values that the predicates keep may be
   * correlated, so they are combined by back-off.
   */
  private def conjunction(relation: RelationProfile, conjuncts: Vector[Condition]): Double = {
    val (ranges, others) = Interval.collect(conjuncts)
    val (ofValues, rest) = others.map(c => c -> valueShare(relation, c)).partition(_._2.nonEmpty)
    val values           = ofValues.flatMap(_._2)
    val columns          = (ranges.map(_._1) ++ values.flatMap(_._1)).distinct
    val nullAndNot       = rest.exists { case (IsNull(id), _) => columns.contains(id); case _ => false }
    val shares           = together(relation, ranges) ++ values.map(_._2) ++ rest.map(c => selectivity(relation, c._1))
    if (nullAndNot) 0.0 else columns.map(relation.column(_).nonNull).product * Assumptions.conjunction(shares)
  }

  /**
   * Shares of the intervals of several columns. If several columns are restricted to single values and their joint NDV
   * was counted, the existing combinations of values get the share of the combinations that do not exist.
   */
  private def together(relation: RelationProfile, ranges: Vector[(Long, Interval)]): Vector[Double] = {
    val pinned = ranges.collect { case (id, i) if i.pinned && relation.column(id).ndv.isDefined => id }.toSet
    val group  = relation.groups.keys.filter(_.subsetOf(pinned)).toVector.sortBy(g =>
      (-g.size, g.min, g.max)
    ).headOption.getOrElse(Set.empty[Long])
    val (in, out) = ranges.map { case (id, i) => (id, i.share(relation.column(id))) }.partition(r => group(r._1))
    if (in.isEmpty) out.map(_._2)
    else {
      val possible = group.toVector.sorted.map(relation.column(_).ndv.get).product
      math.min(
        in.map(_._2).min,
        in.map(_._2).product * math.max(1.0, possible / math.max(relation.groups(group), 1.0))
      ) +: out.map(_._2)
    }
  }

  /**
   * For a predicate that tests values of columns and is true only if they are not NULL: these columns, and the share of
   * rows with non-NULL values that it keeps. None for other predicates.
   */
  private def valueShare(relation: RelationProfile, p: Condition): Option[(Vector[Long], Double)] = p match {
    case IsNotNull(id)           => Some((Vector(id), 1.0))
    case StartsWith(id)          => Some((Vector(id), Assumptions.Prefix))
    case Matches(id)             => Some((Vector(id), Assumptions.Pattern))
    case CompareColumns(l, o, r) =>
      val (a, b) = (relation.column(l), relation.column(r))
      Some((Vector(l, r).distinct, o.fold(equalColumns(a, b))(orderedColumns(a, _, b))))
    case Not(Not(child))   => valueShare(relation, child)
    case Not(IsNotNull(_)) => None
    case Not(child)        => valueShare(relation, child).map { case (columns, share) => (columns, 1.0 - share) }
    case _: Equals | _: In | _: Compare =>
      Interval.collect(Vector(p))._1.headOption.map { case (id, i) => (Vector(id), i.share(relation.column(id))) }
    case _ => None
  }

  /**
   * Selectivity of NOT p. It keeps the rows for which p is false, so rows for which p is NULL are dropped too. De
   * Morgan's laws are applied first, so that NULLs are counted at the leaves.
   */
  private def negation(relation: RelationProfile, p: Condition): Double = p match {
    // p and NOT p are never both true, but with back-off their shares can add up to more than 1
    case And(l, r)    => math.min(selectivity(relation, Or(Not(l), Not(r))), 1.0 - selectivity(relation, p))
    case Or(l, r)     => math.min(selectivity(relation, And(Not(l), Not(r))), 1.0 - selectivity(relation, p))
    case Not(child)   => selectivity(relation, child)
    case IsNull(id)   => selectivity(relation, IsNotNull(id))
    case IsNotNull(c) => selectivity(relation, IsNull(c))
    case other        => 1.0 - selectivity(relation, other)
  }

  private def equalColumns(a: ColumnProfile, b: ColumnProfile): Double = {
    val disjoint = (for (al <- a.min; ah <- a.max; bl <- b.min; bh <- b.max) yield ah < bl || bh < al).getOrElse(false)
    if (disjoint) 0.0
    else Seq(a.ndv, b.ndv).flatten.reduceOption(_ max _).fold(Assumptions.Equality)(1.0 / math.max(_, 1.0))
  }

  /**
   * Share of the rows that a comparison of two columns keeps, for uniform and independent values. It is exact if the
   * ranges do not overlap. Inside the overlap, both orders are equally likely.
   */
  private def orderedColumns(a: ColumnProfile, op: Comparison, b: ColumnProfile): Double =
    compared(a, op, b).getOrElse(Assumptions.ColumnComparison)

  /**
   * The same for columns of any two relations; None if a range is not known. If it is known where the values lie, each
   * part of a range counts by its rows: one date of the year 9999 is not as much as all dates before it.
   */
  def compared(a: ColumnProfile, op: Comparison, b: ColumnProfile): Option[Double] = {
    val share =
      for (al <- a.min; ah <- a.max; bl <- b.min; bh <- b.max if Seq(al, ah, bl, bh).forall(!_.isInfinite)) yield {
        val less = if (ah < bl) 1.0 else if (bh < al) 0.0 else lessShare(parts(a, al, ah), parts(b, bl, bh))
        op match {
          case Less | LessOrEqual => less
          case _                  => 1.0 - less
        }
      }
    share.filterNot(_.isNaN)
  }

  /** Parts of a column's range with the weight of each. */
  private def parts(c: ColumnProfile, low: Double, high: Double): Vector[Bucket] =
    c.distribution.flatMap(_.restrictedTo(low, high)).fold(Vector(Bucket(low, high, 1.0)))(_.buckets)

  /** P(x < y) for x and y of ranges that consist of parts. */
  private def lessShare(xs: Vector[Bucket], ys: Vector[Bucket]): Double = {
    val shares = for (y <- ys.iterator; x <- xs.iterator if x.low <= y.high) yield x.weight * y.weight *
      (if (x.high < y.low) 1.0 else lessShare(x.low, x.high, y.low, y.high))
    shares.sum / xs.iterator.map(_.weight).sum / ys.iterator.map(_.weight).sum
  }

  /** P(x < y) for x uniform in [al, ah], y uniform in [bl, bh]. */
  private def lessShare(al: Double, ah: Double, bl: Double, bh: Double): Double = {
    val (wa, wb) = (ah - al, bh - bl)
    if (wa <= 0.0 && wb <= 0.0) 0.5
    else if (wa <= 0.0) (bh - al) / wb
    else if (wb <= 0.0) (bl - al) / wa
    else {
      // integrate P(x < y) over y: piecewise linear in y
      val from  = math.max(bl, al)
      val to    = math.min(bh, ah)
      val inner = ((to - al) * (to - al) - (from - al) * (from - al)) / (2 * wa)
      val above = math.max(0.0, bh - math.max(ah, bl))
      math.max(0.0, math.min(1.0, (inner + above) / wb))
    }
  }
}
