package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  Attribute,
  AttributeSet,
  DenseRank,
  EqualTo,
  Expression,
  GreaterThan,
  GreaterThanOrEqual,
  LessThan,
  LessThanOrEqual,
  Literal,
  Rank,
  RowNumber,
  WindowExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Window, WindowGroupLimit}
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * A filter that keeps the first rows of each group: a row number or a rank over the group is a number, or at most a
 * number. For example, the latest row of each user. It keeps as many rows as there are groups, times the number.
 *
 * @param window   window that numbers the rows
 * @param perGroup rows kept of each group; more of them if a rank has ties
 * @param certain  whether no group keeps more rows: row numbers have no ties
 * @param keys     per grouping column, the columns of the filter's input that hold it
 * @param others   the conjuncts that read more than the number
 */
final private[stats] class FirstRows private (
    val window: Window,
    perGroup: Double,
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
    val value = math.min(input.rows.value, perGroup * groups.value)
    val most  = if (certain) math.min(input.rows.upper, perGroup * groups.upper) else input.rows.upper
    val rows  = Estimate.upTo(value, most, input.rows.source)
    val ids   = keys.flatten.map(_.exprId.id).toSet
    // each group keeps its values of the grouping columns, but not their frequencies
    val kept   = FilterStatistics.left(input, input, AttributeSet(keys.flatten), rows)
    val unique = if (certain && perGroup == 1.0) FirstRows.combined(keys) else Set.empty[Set[Long]]
    kept.copy(
      columns = kept.columns.map { case (id, c) =>
        id -> (if (ids(id)) c.recoded.copy(origin = None) else c).copy(rangeRows = None)
      },
      baseRows = math.min(input.baseRows, math.max(value, 1.0)),
      uniqueKeys = input.uniqueKeys ++ unique
    )
  }
}

private[stats] object FirstRows {

  /** The first of the filter's conjuncts that keeps first rows, if there is one. */
  def apply(f: Filter): Option[FirstRows] = {
    val conjuncts = Conjuncts(f.condition)
    val found     = for {
      limit          <- conjuncts.flatMap(limitOf(_))
      (window, ties) <- source(limit.number, f.child)
    } yield new FirstRows(
      window,
      if (limit.single) 1.0 else limit.most,
      certain = !ties,
      keysOf(window, f.child),
      conjuncts.filterNot(c =>
        c.references.nonEmpty && c.references.forall(_.exprId == limit.number.exprId)
      ).reduceOption(And(_, _))
    )
    found.headOption
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
    case p: Project => below(a, p).flatMap(source(_, p.child))
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
    case p: Project                                  => below(a, p).fold(a)(origin(_, p.child))
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

  /** The column below a projection that a column above it holds unchanged. */
  private def below(a: Attribute, p: Project): Option[Attribute] =
    p.projectList.find(_.exprId == a.exprId).flatMap {
      case c: Attribute => Some(c)
      case e: Alias     => e.child match {
          case c: Attribute => Some(c)
          case _            => None
        }
      case _ => None
    }
}
