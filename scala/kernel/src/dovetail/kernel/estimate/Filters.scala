package dovetail.kernel.estimate

import dovetail.kernel.estimate.Condition._

/**
 * Rows and columns that a predicate leaves.
 *
 * The single predicates follow Selinger et al. 1979 and Spark's FilterEstimation (equality 1/NDV inside the range, a range's share of [min, max] or of
 * the histogram, and the predicate becomes the column's new range). We depart from both in four points: NOT and OR respect NULLs, a predicate we cannot
 * look into has a default of its own rather than 1.0, conjuncts on different columns are combined by back-off rather than by product, and the NDV of the
 * columns that are not filtered shrinks with the rows.
 */
object Filters {

  def apply(relation: RelationProfile, predicate: Condition): RelationProfile = {
    val (ranges, others) = Interval.collect(Condition.conjuncts(predicate))
    // Predicates on one column are one interval; NULL tests say nothing about other columns; so only what is left can be correlated.
    val (nullTests, rest) = others.partition { case _: IsNotNull => true; case _ => false }
    val onColumns         = ranges.map { case (id, interval) => (id, interval, interval.selectivity(relation.column(id))) }
    val nullFree          =
      nullTests.collect { case IsNotNull(id) => id }.distinct.filterNot(id => ranges.exists(_._1 == id)).map(id => relation.column(id).nonNull).product
    val selectivity = Assumptions.conjunction(onColumns.map(_._3) ++ rest.map(this.selectivity(relation, _))) * nullFree
    val narrowed    = onColumns.foldLeft(relation.columns) { case (columns, (id, interval, _)) => columns.updated(id, interval.narrow(relation.column(id))) }
    val notNull     = nullTests.foldLeft(narrowed) {
      case (columns, IsNotNull(id)) => columns.updated(id, columns.getOrElse(id, ColumnProfile()).copy(nulls = Some(0.0))); case (columns, _) => columns
    }
    val rows     = relation.rows.scaled(selectivity)
    val filtered = ranges.map(_._1).toSet
    val columns  = notNull.map { case (id, c) =>
      id -> (if (filtered(id)) c.copy(ndv = c.ndv.map(math.min(_, math.max(rows.value, 1.0))))
             else c.copy(ndv = c.ndv.map(Assumptions.distinctAfter(_, relation.rows.value, rows.value))))
    }
    relation.copy(rows = rows, columns = columns)
  }

  /** Share of the relation's rows for which `predicate` is true (not false, not NULL). */
  def selectivity(relation: RelationProfile, predicate: Condition): Double = {
    val s = predicate match {
      case And(_, _) =>
        val (ranges, rest) = Interval.collect(Condition.conjuncts(predicate))
        Assumptions.conjunction(ranges.map { case (id, i) => i.selectivity(relation.column(id)) } ++ rest.map(selectivity(relation, _)))
      case Or(l, r) =>
        val (a, b) = (selectivity(relation, l), selectivity(relation, r))
        if (sameColumn(l, r)) a + b else a + b - a * b
      case Not(child)                    => negation(relation, child)
      case Constant(keeps)               => if (keeps) 1.0 else 0.0
      case IsNull(id)                    => relation.column(id).nulls.getOrElse(Assumptions.IsNull)
      case IsNotNull(id)                 => relation.column(id).nonNull
      case StartsWith(id)                => Assumptions.Prefix * relation.column(id).nonNull
      case Matches(id)                   => Assumptions.Pattern * relation.column(id).nonNull
      case CompareColumns(l, None, r)    => equalColumns(relation.column(l), relation.column(r))
      case CompareColumns(l, Some(o), r) => orderedColumns(relation.column(l), o, relation.column(r))
      case _: Opaque                     => Assumptions.Opaque
      case single => Interval.collect(Vector(single))._1.map { case (id, i) => i.selectivity(relation.column(id)) }.headOption.getOrElse(Assumptions.Opaque)
    }
    math.max(0.0, math.min(1.0, s))
  }

  /** NOT p keeps the rows for which p is false: those for which p is NULL go too. De Morgan first, so that NULLs are counted at the leaves. */
  private def negation(relation: RelationProfile, p: Condition): Double = p match {
    case And(l, r)    => selectivity(relation, Or(Not(l), Not(r)))
    case Or(l, r)     => selectivity(relation, And(Not(l), Not(r)))
    case Not(child)   => selectivity(relation, child)
    case IsNull(id)   => selectivity(relation, IsNotNull(id))
    case IsNotNull(c) => selectivity(relation, IsNull(c))
    case Constant(k)  => if (k) 0.0 else 1.0
    case other        =>
      val nonNull = columnsOf(other).map(id => relation.column(id).nonNull).product
      nonNull - selectivity(relation, other)
  }

  private def columnsOf(p: Condition): Seq[Long] = p match {
    case Equals(id, _)           => Seq(id)
    case In(id, _, _)            => Seq(id)
    case Compare(id, _, _)       => Seq(id)
    case StartsWith(id)          => Seq(id)
    case Matches(id)             => Seq(id)
    case CompareColumns(l, _, r) => Seq(l, r).distinct
    case _                       => Nil
  }

  private def sameColumn(l: Condition, r: Condition): Boolean = {
    def equalities(c: Condition): Option[Set[Long]] = c match {
      case Or(a, b)      => for (x <- equalities(a); y <- equalities(b)) yield x ++ y
      case Equals(id, _) => Some(Set(id))
      case In(id, _, _)  => Some(Set(id))
      case _             => None
    }
    (for (a <- equalities(l); b <- equalities(r)) yield a.size == 1 && a == b).getOrElse(false)
  }

  private def equalColumns(a: ColumnProfile, b: ColumnProfile): Double = {
    val disjoint = (for (al <- a.min; ah <- a.max; bl <- b.min; bh <- b.max) yield ah < bl || bh < al).getOrElse(false)
    if (disjoint) 0.0
    else Seq(a.ndv, b.ndv).flatten.reduceOption(_ max _).fold(Assumptions.Equality)(1.0 / math.max(_, 1.0)) * a.nonNull * b.nonNull
  }

  /** Uniform and independent values: exact where the ranges do not overlap, an even chance inside the overlap. */
  private def orderedColumns(a: ColumnProfile, op: Comparison, b: ColumnProfile): Double = {
    val nonNull = a.nonNull * b.nonNull
    val share   = for (al <- a.min; ah <- a.max; bl <- b.min; bh <- b.max) yield {
      val less = if (ah < bl) 1.0 else if (bh < al) 0.0 else lessShare(al, ah, bl, bh)
      op match {
        case Less | LessOrEqual => less
        case _                  => 1.0 - less
      }
    }
    share.getOrElse(Assumptions.ColumnComparison) * nonNull
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
