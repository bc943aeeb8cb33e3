package org.apache.spark.sql.dovetail.grouping

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.dovetail.predicates.{Movable, StrictExpression}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * An aggregate function in two steps, the first of which may run over any parts of a group's rows. `count` is merged by
 * the sum of counts, `avg` by sums and counts, and `sum`, `min` and `max` by themselves.
 *
 * Splits only functions whose result does not depend on how the rows are divided into parts (Yan and Larson, VLDB 1995,
 * call such functions decomposable), by these rules:
 *
 *  - Sums of integers up to 32 bits, added up in 64 bits: 2^32^ rows cannot overflow. Sums of 64-bit integers if they
 *    wrap around (not in ANSI mode), because then every order of additions gives the same result.
 *  - Sums of decimals up to [[MostDigits]] digits: Spark gives a sum ten digits more, so 10^10^ rows cannot overflow.
 *    An overflow of the merged sum fails, or gives NULL, as it does in the query.
 *  - No sums of floating point numbers: their last digits depend on the order of additions. Averages of integers are
 *    split, although Spark adds them up in 64-bit floating point: there the order matters only for sums above 2^53^. No
 *    averages of decimals below [[LeastDigits]] digits: Spark divides these as floating point numbers, too
 *    (`DecimalAggregates`). No minimum and no maximum of floating point numbers: of zeros with and without a sign, the
 *    first one wins.
 *  - No arguments and no FILTER conditions that may throw: an early function reads rows that a join would have removed.
 *    The first step alone applies the FILTER.
 *  - No DISTINCT. [[ofSet]] has functions with it that need no first step.
 *
 * @param partial columns that the first step computes
 * @param merged  value of the function, computed from the columns of `partial`; contains the aggregate functions of the
 *                second step
 */
final case class SplitFunction(partial: Vector[Alias], merged: Expression) {

  /** The same with a FILTER clause, which restricts the rows that the first step reads. */
  def filtered(condition: Option[Expression]): SplitFunction = copy(partial =
    partial.map(p =>
      p.withNewChildren(Seq(p.child.transform { case f: AggregateExpression => f.copy(filter = condition) }))
        .asInstanceOf[Alias]
    )
  )

  /** The same, if the columns of `partial` may be NULL where they are merged. */
  def filled: SplitFunction = copy(merged = merged.transform { case a: Attribute => a.withNullability(true) })
}

object SplitFunction {

  def apply(e: AggregateExpression): Option[SplitFunction] =
    if (e.isDistinct || e.mode != Complete || !arguments(e).forall(Movable(_))) None
    else function(e.aggregateFunction).map(_.filtered(e.filter)).filter(_.merged.dataType == e.dataType)

  /** Arguments and the FILTER condition. */
  private def arguments(e: AggregateExpression): Seq[Expression] = e.aggregateFunction.children ++ e.filter

  /** Columns that the function reads. */
  def reads(e: AggregateExpression): AttributeSet = AttributeSet(arguments(e).flatMap(_.references))

  /**
   * Whether a function of DISTINCT values is computed exactly, so that it depends only on the set of its values, not on
   * their order. If its columns are keys of an early grouping, the function stays as it is: the groups have the same
   * sets of values as the rows.
   */
  def ofSet(e: AggregateExpression): Boolean = e.isDistinct && e.mode == Complete && (e.aggregateFunction match {
    case _: Count   => true
    case s: Sum     => adds(s)
    case a: Average => divides(a.child.dataType)
    case _          => false
  })

  /**
   * Whether rows in which all these columns are NULL change nothing in the function. Then NULLs as results of the first
   * step change nothing in its second step either: each function that can be split ignores a row if its argument is
   * NULL, and so do the sums, minima and maxima that merge its parts. `count(*)` counts such rows.
   */
  def skips(e: AggregateExpression, columns: AttributeSet): Boolean =
    e.aggregateFunction.children.exists(StrictExpression(_, columns.contains))

  private def function(f: AggregateFunction): Option[SplitFunction] = f match {
    case c: Count => val part = partial(c); Some(SplitFunction(Vector(part), counted(part)))
    case s: Sum if adds(s) && failsAsSession(s)                       => Some(single(s))
    case m @ (_: Min | _: Max) if isFixed(m.dataType)                 => Some(single(m))
    case a: Average if divides(a.child.dataType) && failsAsSession(a) => average(a)
    case _                                                            => None
  }

  /** The same function again, over the results for the parts. A sum of decimals gets ten digits more each time. */
  private def single(f: AggregateFunction): SplitFunction = {
    val part = partial(f)
    SplitFunction(Vector(part), again(f, part))
  }

  private def again(f: AggregateFunction, part: Alias): Expression = {
    val merged = f.withNewChildren(Seq(part.toAttribute)).asInstanceOf[AggregateFunction].toAggregateExpression()
    if (merged.dataType == f.dataType) merged else Cast(merged, f.dataType)
  }

  /** Sums up the counts of the parts. A count of no rows is 0, but a sum of no counts is NULL. */
  private def counted(part: Alias): Expression =
    Coalesce(Seq(new Sum(part.toAttribute).toAggregateExpression(), Literal(0L)))

  /**
   * The average by Spark's own last step, with sums and counts of the parts in place of its buffers. Sums of integers
   * are merged as Spark adds them up for an average: as doubles, which do not overflow.
   */
  private def average(a: Average): Option[SplitFunction] = a.aggBufferAttributes match {
    case Seq(total, all) =>
      val sum    = new Sum(a.child)
      val parts  = Vector(partial(sum), partial(Count(a.child)))
      val merged = total.dataType match {
        case DoubleType => new Sum(Cast(parts.head.toAttribute, DoubleType)).toAggregateExpression()
        case _          => cast(again(sum, parts.head), total.dataType)
      }
      val known = AttributeMap(Seq(total -> merged, all -> counted(parts.last)))
      Some(SplitFunction(
        parts,
        a.evaluateExpression.transform { case buffer: AttributeReference => known.getOrElse(buffer, buffer) }
      ))
    case _ => None
  }

  private def cast(e: Expression, t: DataType): Expression = if (e.dataType == t) e else Cast(e, t)

  private def partial(f: AggregateFunction): Alias = Alias(f.toAggregateExpression(), s"early_${f.prettyName}")()

  /**
   * Whether an overflow of decimals does the same in the function as in an expression of this session, which merges the
   * parts. `try_sum` gives NULL in ANSI mode, and a view keeps the mode of the session that made it.
   */
  private def failsAsSession(f: DeclarativeAggregate): Boolean = f.evaluateExpression.collect {
    case c: CheckOverflowInSum             => c.nullOnOverflow
    case d: DecimalDivideWithOverflowCheck => d.nullOnOverflow
  }.forall(_ == !SQLConf.get.ansiEnabled)

  private def adds(s: Sum): Boolean = isExact(s.child.dataType) || (s.child.dataType == LongType && wraps(s))

  /** Whether the sum wraps around on overflow. From Spark 4.1 on, only its additions show the evaluation mode. */
  private def wraps(s: Sum): Boolean = {
    val additions = s.updateExpressions.flatMap(_.collect { case a: Add => a.evalMode })
    additions.nonEmpty && additions.forall(_ == EvalMode.LEGACY)
  }

  private def isExact(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType => true
    case d: DecimalType                     => d.precision <= MostDigits
    case _                                  => false
  }

  private def divides(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision >= LeastDigits && isExact(d)
    case other          => isExact(other)
  }

  /** Types whose values a hash aggregate can update in its buffer. For strings, Spark would sort the rows. */
  private def isFixed(t: DataType): Boolean = t match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                              => false
  }

  /** Most digits of a decimal whose sum can have ten digits more. */
  private val MostDigits = DecimalType.MAX_PRECISION - 10

  /**
   * Fewest digits of a decimal whose averages Spark divides as decimals: with four digits more they do not fit into the
   * 15 digits of a double.
   */
  private val LeastDigits = 12
}
