package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Max, Min}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Window, WindowGroupLimit}
import org.apache.spark.sql.dovetail.predicates.ComputedColumns.passedOn
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * A filter that keeps the first rows of each group, such as the latest row of each user: a row number or a rank over
 * the group is a number, or at most a number; or a column equals its maximum or minimum over the group. It keeps as
 * many rows as there are groups, times the number, or times the rows that have the extreme value.
 *
 * @param window   window that numbers the rows, or knows the maximum
 * @param perGroup rows kept of each group; more of them if there are ties
 * @param extreme  column whose largest or smallest value all kept rows have, unless rows are kept by their number
 * @param certain  whether no group keeps more rows: row numbers have no ties
 * @param keys     per grouping column, the columns of the filter's input that hold it
 * @param others   the other conjuncts, except those that hold for the first rows in any case
 */
final private[stats] class FirstRows private (
    val window: Window,
    perGroup: Double,
    extreme: Option[Attribute],
    certain: Boolean,
    keys: Seq[Seq[Attribute]],
    val others: Option[Expression]
) {

  /**
   * The profile after the filter, without the other conjuncts.
   *
   * @param input   profile of the filter's input
   * @param grouped profile of the window's input
   */
  def apply(input: RelationProfile, grouped: RelationProfile): RelationProfile = {
    val groups =
      if (window.partitionSpec.isEmpty) Estimate.exactly(1.0, input.rows.source)
      else GroupedRows(grouped, window.partitionSpec, Set.empty, grouped).rows
    val kept  = extreme.fold(perGroup)(rowsOfValue(_, input, groups.value))
    val value = math.min(input.rows.value, kept * groups.value)
    val most  = if (certain) math.min(input.rows.upper, perGroup * groups.upper) else input.rows.upper
    val rows  = Estimate.upTo(value, most, input.rows.source)
    val ids   = keys.flatten.map(_.exprId.id).toSet
    // each group keeps its values of the grouping columns, but not their frequencies
    val left   = FilterStatistics.left(input, input, AttributeSet(keys.flatten), rows)
    val unique = if (certain && perGroup == 1.0) FirstRows.combined(keys) else Set.empty[Set[Long]]
    left.copy(
      columns = left.columns.map { case (id, c) =>
        id -> (if (ids(id)) c.recoded.copy(origin = None) else c).copy(rangeRows = None)
      },
      baseRows = math.min(input.baseRows, math.max(value, 1.0)),
      uniqueKeys = input.uniqueKeys ++ unique
    )
  }

  /** Rows of a group with the same value of a column: the newest day of a table has many rows. */
  private def rowsOfValue(a: Attribute, input: RelationProfile, groups: Double): Double = {
    val size   = input.rows.value / math.max(groups, 1.0)
    val values = input.column(a.exprId.id).ndv.map(Assumptions.distinctAfter(_, input.rows.value, size))
    math.max(1.0, values.fold(size * Assumptions.Equality)(v => size / math.max(v, 1.0)))
  }
}

private[stats] object FirstRows {

  /** The first of the filter's conjuncts that keeps first rows, if there is one. */
  def apply(f: Filter): Option[FirstRows] = {
    val conjuncts = Conjuncts(f.condition)
    // a row number is certain, and one per group is a key
    conjuncts.flatMap(numbered(_, f.child)).headOption.orElse(
      conjuncts.flatMap(extreme(_, f.child)).headOption
    ).map(first =>
      new FirstRows(
        first.window,
        first.perGroup,
        first.extreme,
        first.certain,
        keysOf(first.window, f.child),
        conjuncts.filterNot(first.holds).reduceOption(And(_, _))
      )
    )
  }

  /** @param holds whether a conjunct holds for the first rows in any case, or is the one that keeps them */
  final private case class Kept(
      window: Window,
      perGroup: Double,
      extreme: Option[Attribute],
      certain: Boolean,
      holds: Expression => Boolean
  )

  /** Rows whose number or rank is a constant, or at most a constant. */
  private def numbered(conjunct: Expression, plan: LogicalPlan): Option[Kept] =
    for (limit <- limitOf(conjunct); (window, ties) <- source(limit.number, plan)) yield Kept(
      window,
      if (limit.single) 1.0 else limit.most,
      extreme = None,
      certain = !ties,
      c => c.references.nonEmpty && c.references.forall(_.exprId == limit.number.exprId)
    )

  /** Rows with the maximum or minimum of their group. */
  private def extreme(conjunct: Expression, plan: LogicalPlan): Option[Kept] = conjunct match {
    case EqualTo(a: Attribute, b: Attribute) =>
      def found(of: Attribute, end: Attribute) = extreme(of, end, plan).map(window =>
        Kept(window, 1.0, Some(of), certain = false, c => (c eq conjunct) || isCheck(c, a, b))
      )
      found(a, b).orElse(found(b, a))
    case _ => None
  }

  private def isCheck(c: Expression, of: Attribute*): Boolean = c match {
    case IsNotNull(x) => of.exists(x.semanticEquals(_))
    case _            => false
  }

  /** The window that computes `end` as the maximum or minimum of `a` in the whole group. */
  private def extreme(a: Attribute, end: Attribute, plan: LogicalPlan): Option[Window] = plan match {
    case p: Project =>
      for (x <- passedOn(a, p.projectList); e <- passedOn(end, p.projectList); w <- extreme(x, e, p.child)) yield w
    case w: Window => w.windowExpressions.find(_.exprId == end.exprId) match {
        case Some(Alias(WindowExpression(f: AggregateExpression, of), _)) if f.filter.isEmpty && isWhole(of) =>
          Some(w).filter(_ =>
            f.aggregateFunction match {
              case Max(x) => x.semanticEquals(a)
              case Min(x) => x.semanticEquals(a)
              case _      => false
            }
          )
        case Some(_) => None
        case None    => extreme(a, end, w.child)
      }
    case _ => None
  }

  /** Whether a window function sees all rows of a group. */
  private def isWhole(of: WindowSpecDefinition): Boolean = of.frameSpecification match {
    case SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing) => true
    case _                                                               => false
  }

  /**
   * A conjunct that limits a column.
   *
   * @param most   largest value of the column, at least 1
   * @param single whether it is the only value
   */
  final private case class Limit(number: Attribute, most: Double, single: Boolean)

  private def limitOf(conjunct: Expression): Option[Limit] = (conjunct match {
    case EqualTo(a: Attribute, Constant(n))            => Some(Limit(a, n, single = true))
    case EqualTo(Constant(n), a: Attribute)            => Some(Limit(a, n, single = true))
    case LessThanOrEqual(a: Attribute, Constant(n))    => Some(Limit(a, n, single = false))
    case GreaterThanOrEqual(Constant(n), a: Attribute) => Some(Limit(a, n, single = false))
    case LessThan(a: Attribute, Constant(n))           => Some(Limit(a, n - 1.0, single = false))
    case GreaterThan(Constant(n), a: Attribute)        => Some(Limit(a, n - 1.0, single = false))
    case _                                             => None
  }).filter(_.most >= 1.0)

  private object Constant {
    def unapply(e: Expression): Option[Double] = e match {
      case l: Literal => l.value match {
          case n: java.lang.Number => Some(n.doubleValue)
          case _                   => None
        }
      case _ => None
    }
  }

  /** The window that computes a column as a row number or a rank, and whether several rows may have the same number. */
  private def source(a: Attribute, plan: LogicalPlan): Option[(Window, Boolean)] = plan match {
    case p: Project => passedOn(a, p.projectList).flatMap(source(_, p.child))
    case w: Window  => w.windowExpressions.find(_.exprId == a.exprId) match {
        case Some(e) => ties(e).map(w -> _)
        case None    => source(a, w.child)
      }
    case _ => None
  }

  private def ties(e: Expression): Option[Boolean] = e match {
    case a: Alias            => ties(a.child)
    case w: WindowExpression => w.windowFunction match {
        case _: RowNumber           => Some(false)
        case _: Rank | _: DenseRank => Some(true)
        case _                      => None
      }
    case _ => None
  }

  /**
   * Per grouping column of a window, the columns of a plan above it that hold its values, under any name. None of them
   * if it is computed.
   */
  private def keysOf(window: Window, plan: LogicalPlan): Seq[Seq[Attribute]] = {
    val origins = plan.output.map(a => a -> origin(a, plan))
    window.partitionSpec.map {
      case k: Attribute =>
        val of = origin(k, window.child).exprId; origins.collect { case (a, o) if o.exprId == of => a }
      case _ => Nil
    }
  }

  /** The column that a column holds unchanged, as far down as operators only pass columns on. */
  private def origin(a: Attribute, plan: LogicalPlan): Attribute = plan match {
    case p: Project                                  => passedOn(a, p.projectList).fold(a)(origin(_, p.child))
    case _: Window | _: WindowGroupLimit | _: Filter =>
      if (plan.children.head.outputSet.contains(a)) origin(a, plan.children.head) else a
    case _ => a
  }

  /** All choices of one column per key. If there are many, only the first one; none if a key has no column. */
  private def combined(keys: Seq[Seq[Attribute]]): Set[Set[Long]] = {
    val few = if (keys.map(_.size.toDouble).product > MostKeys) keys.map(_.take(1)) else keys
    few.foldLeft(Set(Set.empty[Long]))((sets, columns) =>
      for (set <- sets; column <- columns.toSet[Attribute]) yield set + column.exprId.id
    )
  }

  /** Most unique keys that a plan gets from one filter. */
  private val MostKeys = 16.0
}
