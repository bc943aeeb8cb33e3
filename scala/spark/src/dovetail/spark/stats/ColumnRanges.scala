package org.apache.spark.sql.dovetail.stats

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.{BINARY_ARITHMETIC, CAST}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{KnownRanges, TimeColumns, TotalArithmetic}
import org.apache.spark.sql.dovetail.predicates.KnownRanges.Range
import org.apache.spark.sql.types.{DateType, IntegralType, TimestampNTZType, TimestampType}

/**
 * Finds the ranges of columns that decide whether an expression of the plan may fail: those that are converted between
 * dates and timestamps, and those of integer arithmetic in ANSI mode, such as `d1.week_seq = d2.week_seq - 53`. Ranges
 * of a table's columns count only if the footers of all its files tell them. A plan without such expressions costs a
 * look at them.
 */
object ColumnRanges {

  def learn(plan: LogicalPlan, statistics: PlanStatistics): Unit =
    if (plan.containsAnyPattern(CAST, BINARY_ARITHMETIC)) {
      val asked = columns(plan)
      if (asked.nonEmpty) {
        // another plan of the query may have had only some of the values under this identity
        asked.foreach(KnownRanges.remove)
        val inputs   = plan.collectLeaves().size
        val found    = sources(plan).filter(s => asked.contains(s.column.exprId))
        val repeated = found.groupBy(_.column.exprId).collect { case (id, s) if s.size > 1 => id }.toSet
        val mixed    = repeated ++ plan.flatMap(unitedBy).map(_.exprId)
        for (s <- found if !mixed(s.column.exprId)) {
          PlanningTime.check()
          val range = s match {
            case OfLeaf(a, leaf) => if (inputs >= LeastInputs) statistics.range(leaf, a).flatMap(exact(a, _)) else None
            case Computed(_, e)  => computed(e)
          }
          range.foreach(KnownRanges.add(s.column.exprId, _))
        }
      }
    }

  /** Columns whose ranges decide whether an expression of the plan may fail, and those that they are computed from. */
  private def columns(plan: LogicalPlan): Set[ExprId] = {
    val asked                    = mutable.Set.empty[ExprId]
    def add(all: Seq[Attribute]) = all.foreach(a => asked += a.exprId)
    // a column is used above the operator that computes it
    plan.foreach { p =>
      p.expressions.foreach(_.foreach(e => add(TimeColumns.converted(e).toSeq ++ TotalArithmetic.limiting(e))))
      if (asked.nonEmpty)
        named(p).foreach(a => if (asked(a.exprId)) add(TotalArithmetic.operands(a.child) ++ attribute(a.child)))
    }
    asked.toSet
  }

  /** Where the values of a column come from. */
  sealed private trait Source { def column: Attribute }
  private case class OfLeaf(column: Attribute, leaf: LeafNode)     extends Source
  private case class Computed(column: Attribute, from: Expression) extends Source

  /** Sources of all columns of a plan. Those that others are computed from come first. */
  private def sources(plan: LogicalPlan): Seq[Source] = {
    val found = Vector.newBuilder[Source]
    plan.foreachUp {
      case leaf: LeafNode => leaf.output.foreach(a => found += OfLeaf(a, leaf))
      case other          => named(other).foreach(a => found += Computed(a.toAttribute, a.child))
    }
    found.result()
  }

  private def named(plan: LogicalPlan): Seq[Alias] = plan match {
    case p: Project   => p.projectList.collect { case a: Alias => a }
    case g: Aggregate => g.aggregateExpressions.collect { case a: Alias => a }
    case w: Window    => w.windowExpressions.collect { case a: Alias => a }
    case _            => Nil
  }

  private def attribute(e: Expression): Option[Attribute] = e match {
    case a: Attribute => Some(a)
    case _            => None
  }

  /** Columns that have the values of several inputs under the identity of the first one, as those of UNION do. */
  private def unitedBy(plan: LogicalPlan): Seq[Attribute] = plan match {
    case _: Join | _: LeafNode | _: UnaryNode => Nil
    case several                              => several.output
  }

  private def computed(e: Expression): Option[Range] = e match {
    case a: Attribute        => KnownRanges(a)
    case w: WindowExpression => w.windowFunction match {
        case _: RowNumber | _: Rank | _: DenseRank => Some((BigInt(1), MostRowsOfTask))
        case other                                 => counted(other)
      }
    case other => counted(other).orElse(TotalArithmetic.range(other))
  }

  private def counted(e: Expression): Option[Range] = e match {
    case a: AggregateExpression if a.aggregateFunction.isInstanceOf[Count] => Some((BigInt(0), MostRows))
    case _                                                                 => None
  }

  /** Ends of a range as whole numbers, if the footers' numbers are exact. */
  private def exact(a: Attribute, ends: (Double, Double)): Option[Range] = {
    val (low, high) = ends
    val most        = a.dataType match {
      case _: IntegralType => MostExact
      // a microsecond more or less does not count (TimeColumns)
      case DateType | TimestampType | TimestampNTZType => Long.MaxValue.toDouble
      case _                                           => -1.0
    }
    if (low >= -most && high <= most) Some((BigDecimal(low).toBigInt, BigDecimal(high).toBigInt)) else None
  }

  /** Fewest inputs of a plan that has more than one order: for others, no file is opened. */
  private val LeastInputs = 3

  /** Rows of one partition of a window, which one task sorts. The functions themselves fail at twice as many. */
  private val MostRowsOfTask = BigInt(1) << 30

  /** Rows that a query can count: reading a billion of them per second takes 13 days. */
  private val MostRows = BigInt(1) << 50

  /** Whole numbers up to this one are exact in a double. */
  private val MostExact = (1L << 53).toDouble
}
