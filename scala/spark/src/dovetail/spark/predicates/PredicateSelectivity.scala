package org.apache.spark.sql.dovetail.predicates

import dovetail.kernel.graph.{ForeignKeys, Member}
import dovetail.kernel.profile.{Alternatives, Assumptions, ColumnProfile, Condition, Filters, RelationProfile, Source}
import dovetail.kernel.size.JoinSize
import org.apache.spark.sql.catalyst.expressions._

/**
 * Estimates the share of row combinations that a predicate over several relations keeps.
 *
 * Parts that read one relation are estimated on that relation. The parts are combined as if the relations were
 * independent of each other.
 *
 * An OR of ANDs over several tables (TPC-DS q13, q48, q85) implies a weaker OR on each table, which Spark has already
 * pushed down to the table (PushExtraPredicateThroughJoin). The rows that this weaker OR removes must not be counted
 * twice. So the estimate is the share under the condition that all pushed ORs hold. If a relation has a sample, its
 * rows show which alternatives they satisfy, and which alternatives occur together ([[Alternatives]]).
 *
 * @param keys  expressions that equalities make equal
 * @param tried counts the alternatives on the rows of a relation's sample
 */
final class PredicateSelectivity(
    profiles: Vector[RelationProfile],
    relationsOf: Expression => Vector[Int],
    keys: Vector[Vector[JoinPredicates.ClassMember]],
    tried: PredicateSelectivity.Tried = PredicateSelectivity.untried
) {
  import PredicateSelectivity._

  def apply(e: Expression): Double = byRows(e).getOrElse(byFormulas(e))

  /**
   * The share of each conjunct over several relations. Two comparisons that are an interval (`day >= first_day AND day
   * <= last_day`) get one share: the first has it, and the second keeps all rows.
   */
  def ofEach(conjuncts: Vector[Expression]): Vector[Double] = ofEach(conjuncts, apply)

  private def ofEach(conjuncts: Vector[Expression], of: Expression => Double): Vector[Double] = {
    val intervals = new Intervals(relationsOf, column)
    conjuncts.indices.foldLeft((conjuncts.map(of), Set.empty[Int])) { case ((shares, used), i) =>
      val pair = if (used(i)) None
      else conjuncts.indices.drop(i + 1).find(j => !used(j) && intervals.together(conjuncts(i), conjuncts(j)))
      pair.fold((shares, used)) { j =>
        // the two complements exclude each other
        val both  = shares(i) + shares(j) - 1.0
        val least = leastOfInterval(conjuncts(i), conjuncts(j))
        val kept  = rivals(conjuncts(i), conjuncts(j)).fold(math.max(both, least)) { n =>
          // nobody knows whether the intervals of a key overlap: by their ranges they may, and versions do not
          math.sqrt(math.max(both, 1.0 / n) / n)
        }
        (shares.updated(i, math.min(kept, shares(i) * shares(j))).updated(j, 1.0), used + i + j)
      }
    }._1
  }

  /**
   * Estimates without samples. A predicate above an outer join needs this, because samples do not include the rows that
   * the outer join fills with NULLs.
   */
  def byFormulas(e: Expression): Double = {
    val implied = impliedLocally(e).map(share).product
    if (implied <= 0.0) share(e) else math.min(1.0, share(e) / implied)
  }

  /** Estimates an OR if the conditions of at least one relation could be tried on its sample; None otherwise. */
  private def byRows(e: Expression): Option[Double] = {
    val alternatives = Disjuncts(e).map(Conjuncts(_))
    if (alternatives.size < 2 || alternatives.size > Alternatives.MostAlternatives) None
    else {
      val found = relationsOf(e).map { r =>
        val local   = alternatives.map(_.filter(relationsOf(_) == Vector(r)).reduceOption(And(_, _)))
        val formula = Alternatives.ofShares(local.map(_.fold(1.0)(share)))
        (local, formula, if (local.exists(_.nonEmpty)) tried(r, local, formula) else None)
      }
      if (found.forall(_._3.isEmpty)) None
      else {
        // if every alternative has a condition on the relation, Spark has pushed their OR down to it
        val relations = found.map { case (local, formula, counted) =>
          val all = counted.getOrElse(formula)
          if (local.forall(_.nonEmpty)) all.satisfied else all
        }
        val across = Alternatives.ofShares(alternatives.map(_.filter(relationsOf(_).size > 1).map(share).product))
        Some(relations.foldLeft(across)(_ and _).share)
      }
    }
  }

  private def share(e: Expression): Double = math.max(
    0.0,
    math.min(
      1.0,
      relationsOf(e) match {
        case Vector()         => 1.0
        case Vector(relation) => Filters.selectivity(profiles(relation), new Conditions()(e))
        case _                => spanning(e)
      }
    )
  )

  /** The OR of the conditions on a relation, for each relation on which every alternative of an OR has a condition. */
  private def impliedLocally(e: Expression): Vector[Expression] = {
    val alternatives = Disjuncts(e).map(Conjuncts(_))
    if (alternatives.size < 2) Vector.empty
    else
      relationsOf(e).flatMap { r =>
        val local = alternatives.map(_.filter(relationsOf(_) == Vector(r)))
        if (local.forall(_.nonEmpty)) Some(Disjuncts.together(local.map(Conjuncts.together(_)))) else None
      }
  }

  private def spanning(e: Expression): Double = e match {
    case And(_, _) =>
      // conjuncts on one relation are taken together, so that ranges become intervals and correlated ones are damped
      val (single, several) = Conjuncts(e).partition(relationsOf(_).size == 1)
      val byRelation        = single.groupBy(c => relationsOf(c).head).toVector.sortBy(_._1).map(_._2.reduce(And(_, _)))
      byRelation.map(share).product * ofEach(several.toVector, share).product
    case Or(l, r)      => val (a, b) = (share(l), share(r)); a + b - a * b
    case Not(c)        => 1.0 - share(c)
    case EqualTo(l, r) => equality(l, r)
    case In(v, list) if list.nonEmpty && list.size <= Alternatives.MostAlternatives =>
      share(Disjuncts.together(list.toVector.map(EqualTo(v, _))))
    case EqualNullSafe(l, r)      => nullSafe(l, r)
    case Inequality(large, small) => ordered(small, large)
    case _                        => Assumptions.JoinOpaque
  }

  /** By the ranges of both columns, if they are known. */
  private def ordered(small: Expression, large: Expression): Double =
    (for (a <- column(small); b <- column(large); share <- Filters.compared(a, Condition.Less, b))
      yield math.max(share, LeastCompared)).getOrElse(Assumptions.JoinInequality)

  private def column(e: Expression): Option[ColumnProfile] = relationsOf(e) match {
    case Vector(r) =>
      val columns = profiles(r).columns
      new Conditions().column(e).flatMap(columns.get).orElse(ShiftedColumn(e, a => columns.get(a.exprId.id)))
    case _ => None
  }

  /**
   * Least share of the row combinations that a condition on an interval keeps. If intervals lie side by side, each
   * value lies in one of them. That is far less than [[LeastCompared]] of many intervals, so the ranges must be those
   * of the rows that the query reads.
   */
  private def leastOfInterval(one: Expression, other: Expression): Double = {
    val ends    = withBothEnds(one, other)
    val current = relationsOf(And(one, other)).forall(r => Current.contains(profiles(r).rows.source)) &&
      (one.children ++ other.children).flatMap(column(_)).forall(_.unseen <= 0.0)
    if (ends.isEmpty || !current) LeastCompared
    else math.min(LeastCompared, 1.0 / math.max(ends.map(e => profiles(e.relation).baseRows).min, 1.0))
  }

  /** The ends of intervals that are both columns of one relation, or computed from them. */
  private def withBothEnds(one: Expression, other: Expression): Vector[Ends] = (one, other) match {
    case (Inequality(large, small), Inequality(large2, small2)) =>
      Vector(small -> large2, small2 -> large).flatMap { case (begin, end) =>
        if (begin.semanticEquals(end)) Vector.empty else relationsOf(begin).map(Ends(_, begin, end))
      }
    case _ => Vector.empty
  }

  /**
   * Intervals with the same key, if the two relations are joined by a key, too: the versions of a row, of which each
   * point in time has one (a slowly changing dimension). At least 1. Ends that are computed from one column are a fixed
   * time apart, and their ranges tell how far.
   */
  private def rivals(one: Expression, other: Expression): Option[Double] = {
    val both  = relationsOf(And(one, other))
    val found = withBothEnds(one, other).filter(_.ofTwoColumns).flatMap { ends =>
      val r      = ends.relation
      val joined = keys.filter(k => both.forall(other => k.exists(_.relation == other)))
      val values = joined.flatMap(_.find(_.relation == r)).map(m => distinct(m.expression).getOrElse(1.0))
      val rows   = math.max(profiles(r).baseRows, 1.0)
      if (values.isEmpty) None else Some(rows / math.max(1.0, math.min(Assumptions.jointNdv(values), rows)))
    }
    found.reduceOption(_ min _)
  }

  private def equality(l: Expression, r: Expression): Double = {
    val domains = (relationsOf(l), relationsOf(r)) match {
      case (Vector(a), Vector(b)) => domainsOf(members(a, l, b, r), l, r)
      case _                      => Vector(distinct(l), distinct(r))
    }
    if (domains.forall(_.isEmpty)) Assumptions.JoinOpaque
    else JoinSize.equality(domains.head.getOrElse(1.0), domains.last.getOrElse(1.0))
  }

  /** The sides of an equality; a column that nobody has counted may refer to the other one. */
  private def members(a: Int, l: Expression, b: Int, r: Expression): Vector[Member] = ForeignKeys(
    Vector(JoinPredicates.ClassMember(a, l), JoinPredicates.ClassMember(b, r))
      .map(JoinPredicates.member(_, profiles, _ => "")),
    profiles
  )

  /** The domains of both sides of an equality. */
  private def domainsOf(sides: Vector[Member], l: Expression, r: Expression): Vector[Option[Double]] =
    sides.zip(Vector(l, r)).map { case (m, e) => m.column.domain.orElse(distinct(e)) }

  /** `l <=> r`: NULLs meet each other. */
  private def nullSafe(l: Expression, r: Expression): Double = (relationsOf(l), relationsOf(r)) match {
    case (Vector(a), Vector(b)) =>
      val sides  = members(a, l, b, r)
      val values = 1.0 / math.max(domainsOf(sides, l, r).flatten.max, 1.0)
      JoinSize.nullSafe(sides.head.column.nonNull, sides.last.column.nonNull, values)
    case _ => equality(l, r)
  }

  private def distinct(e: Expression): Option[Double] = relationsOf(e) match {
    case Vector(r) =>
      val column = new Conditions().column(e).flatMap(profiles(r).column(_).domain)
      column.orElse(DistinctValues.domain(
        e,
        profiles(r)
      )).orElse(Some(profiles(r).baseRows * Assumptions.GroupingFraction))
    case _ => None
  }
}

object PredicateSelectivity {

  /**
   * Counts, on the sample of a relation, which alternatives of an OR its rows satisfy.
   *
   * Arguments: the relation; the condition of each alternative on this relation (None if all rows satisfy the
   * alternative); and the estimate by formulas, to be mixed with the counts. The result is None if there is no sample,
   * or if a condition cannot be evaluated on it.
   */
  type Tried = (Int, Vector[Option[Expression]], Alternatives) => Option[Alternatives]

  val untried: Tried = (_, _, _) => None

  /** The ends of an interval, which are expressions over one relation. */
  final private case class Ends(relation: Int, begin: Expression, end: Expression) {
    def ofTwoColumns: Boolean = begin.references.intersect(end.references).isEmpty
  }

  /**
   * Least share of the row combinations that a comparison of two relations keeps: ranges may be out of date, so that a
   * comparison which they rule out may still keep some.
   */
  private val LeastCompared = 0.001

  /** Sources of statistics of the data as they are now. Those of a catalog or a database may be from before. */
  private val Current = Set[Source](Source.Exact, Source.Collected, Source.Footer)
}
