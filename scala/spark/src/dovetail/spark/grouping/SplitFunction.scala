package org.apache.spark.sql.dovetail.grouping

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.dovetail.predicates.Movable
import org.apache.spark.sql.types._

/**
 * An aggregate function in two steps, the first one over any parts of a group's rows: `count` by the sum of counts,
 * `avg` by sums and counts, `sum`, `min` and `max` by themselves.
 *
 * Only what comes out the same whatever the parts are (Yan and Larson, VLDB 1995, call such functions decomposable), by
 * these rules:
 *
 *  - Sums of integers up to 32 bits, in 64 bits: no 2^32^ rows overflow. Sums of 64 bits where they wrap (not in ANSI
 *    mode), for then every order of additions gives the same.
 *  - Sums of decimals up to [[MostDigits]] digits: Spark gives a sum ten digits more, so no 10^10^ rows overflow.
 *  - No sums of floating point numbers, whose last digits depend on the order of additions; so do those of averages of
 *    integers, which Spark adds up in 64-bit floating point, but only above 2^53^. No averages of decimals below
 *    [[LeastDigits]] digits: Spark divides them as floating point numbers, too (`DecimalAggregates`). No least and no
 *    largest floating point number, for of zeros with and without a sign the first one wins.
 *  - No DISTINCT, no FILTER, nothing whose input may throw: early, a function reads rows that a join would have
 *  removed.
 *
 * @param partial what the first step computes
 * @param merged  the function's value, from the columns of `partial`; contains the aggregate functions of the second
 * step
 */
final case class SplitFunction(partial: Vector[Alias], merged: Expression)

object SplitFunction {

  def apply(e: AggregateExpression): Option[SplitFunction] =
    if (e.isDistinct || e.filter.nonEmpty || e.mode != Complete || !e.aggregateFunction.children.forall(Movable(_)))
      None
    else function(e.aggregateFunction).filter(_.merged.dataType == e.dataType)

  private def function(f: AggregateFunction): Option[SplitFunction] = f match {
    case c: Count          => val part = partial(c); Some(SplitFunction(Vector(part), counted(part)))
    case s: Sum if adds(s) => Some(single(s))
    case m @ (_: Min | _: Max) if isFixed(m.dataType) => Some(single(m))
    case a: Average if divides(a.child.dataType)      => average(a)
    case _                                            => None
  }

  /** The same function again, over what it gave for the parts; a sum of decimals has ten digits more each time. */
  private def single(f: AggregateFunction): SplitFunction = {
    val part = partial(f)
    SplitFunction(Vector(part), again(f, part))
  }

  private def again(f: AggregateFunction, part: Alias): Expression = {
    val merged = f.withNewChildren(Seq(part.toAttribute)).asInstanceOf[AggregateFunction].toAggregateExpression()
    if (merged.dataType == f.dataType) merged else Cast(merged, f.dataType)
  }

  /** Of no rows, a count is 0, and a sum of counts NULL. */
  private def counted(part: Alias): Expression =
    Coalesce(Seq(new Sum(part.toAttribute).toAggregateExpression(), Literal(0L)))

  /** By Spark's own last step, with sums and counts of the parts in the places of its buffers. */
  private def average(a: Average): Option[SplitFunction] = a.aggBufferAttributes match {
    case Seq(total, all) =>
      val sum   = new Sum(a.child)
      val parts = Vector(partial(sum), partial(Count(a.child)))
      val known = AttributeMap(Seq(total -> cast(again(sum, parts.head), total.dataType), all -> counted(parts.last)))
      Some(SplitFunction(
        parts,
        a.evaluateExpression.transform { case buffer: AttributeReference => known.getOrElse(buffer, buffer) }
      ))
    case _ => None
  }

  private def cast(e: Expression, t: DataType): Expression = if (e.dataType == t) e else Cast(e, t)

  private def partial(f: AggregateFunction): Alias = Alias(f.toAggregateExpression(), s"early_${f.prettyName}")()

  private def adds(s: Sum): Boolean = isExact(s.child.dataType) || (s.child.dataType == LongType && wraps(s))

  /** The mode is open in the additions alone, from Spark 4.1 on. */
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

  /** What a hash table of groups holds in place; texts would have the rows sorted. */
  private def isFixed(t: DataType): Boolean = t match {
    case _: IntegralType | _: DecimalType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                              => false
  }

  /** Digits of a decimal whose sum has ten digits more. */
  private val MostDigits = DecimalType.MAX_PRECISION - 10

  /**
   * Digits of a decimal from which on Spark divides its averages as decimals: four more do not fit into a double's 15.
   */
  private val LeastDigits = 12
}
