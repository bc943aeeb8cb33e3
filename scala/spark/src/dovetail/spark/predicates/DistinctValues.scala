package org.apache.spark.sql.dovetail.predicates

import java.util.Locale

import scala.util.Try

import dovetail.kernel.profile.{Assumptions, ColumnProfile, RelationProfile}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.types._

/**
 * Estimates how many distinct values an expression has, from the distinct values of the columns that it reads. An
 * expression has at most as many values as all of its inputs together. Some functions have few values for any input:
 * `month` has twelve, `x % 10` has ten if x is not negative. NULL counts as a value. Applies to expressions that a
 * query computes, groups by or joins on.
 */
object DistinctValues {
  type Columns = Long => ColumnProfile

  /** The number of distinct values, or None if too little is known about the columns or if `e` reads no column. */
  def apply(e: Expression, columns: Columns): Option[Double] =
    if (e.deterministic && e.references.nonEmpty && !e.exists(_.isInstanceOf[AggregateExpression])) valuesOf(e, columns)
    else None

  /**
   * The number of distinct values before predicates, as joins need it ([[ColumnProfile.domain]]): at most one for each
   * row of the table.
   */
  def domain(e: Expression, of: RelationProfile): Option[Double] =
    apply(e, id => { val c = of.column(id); c.copy(ndv = c.domain) }).map(math.min(_, math.max(of.baseRows, 1.0)))

  /**
   * Whether the number of distinct values is about right. Otherwise it is only an upper limit: a function of a unique
   * text may have few values. It is right if the function itself decides how many there are, or if it keeps the values
   * of a counted column apart.
   */
  def isCounted(e: Expression, columns: Columns): Boolean = new Conditions().column(e) match {
    case Some(id) => columns(id).ndv.isDefined && !columns(id).uncounted
    case None     =>
      val decided = for (most <- range(e, columns); n <- valuesOf(e, columns)) yield most <= n
      decided.contains(true) || kept(e).exists(isCounted(_, columns))
  }

  /** The argument whose different values have different results, with few exceptions. */
  private def kept(e: Expression): Option[Expression] = e match {
    case a: Alias                                                   => Some(a.child)
    case c: Cast if !fraction(c)                                    => Some(c.child)
    case _: Lower | _: Upper | _: StringTrim | _: UnaryMinus        => e.children.headOption
    case _: Add | _: Subtract | _: DateAdd | _: DateSub | _: Concat =>
      Some(e.children.filterNot(_.foldable)).collect { case Seq(one) => one }
    case _ => None
  }

  private def valuesOf(e: Expression, columns: Columns): Option[Double] = new Conditions().column(e) match {
    case Some(id)           => counted(columns(id))
    case None if e.foldable => Some(1.0)
    case None               =>
      // also bounded by its columns: an expression may read one column in several places
      val read = together(e.references.toSeq.map(a => counted(columns(a.exprId.id))))(Assumptions.jointNdv)
      Seq(read, passed(e, columns), range(e, columns)).flatten.reduceOption(_ min _)
  }

  private def counted(column: ColumnProfile): Option[Double] =
    column.ndv.map(_ + (if (column.nulls.exists(_ > 0.0)) 1.0 else 0.0))

  /**
   * Bound by the inputs that the values come from: the sum over the inputs that the expression chooses from (IF, CASE,
   * COALESCE), or the joint number of all inputs.
   */
  private def passed(e: Expression, columns: Columns): Option[Double] = e match {
    case i: If       => together(Seq(i.trueValue, i.falseValue).map(valuesOf(_, columns)))(_.sum)
    case c: CaseWhen =>
      together((c.branches.map(_._2) ++ c.elseValue).map(valuesOf(_, columns)))(_.sum + (if (c.elseValue.isEmpty) 1.0
                                                                                         else 0.0))
    case c: Coalesce => together(c.children.map(valuesOf(_, columns)))(_.sum)
    case other       => together(other.children.map(valuesOf(_, columns)))(Assumptions.jointNdv)
  }

  private def together(inputs: Seq[Option[Double]])(count: Seq[Double] => Double): Option[Double] =
    if (inputs.nonEmpty && inputs.forall(_.isDefined)) Some(count(inputs.flatten)) else None

  /** Number of different values that a function can return. */
  private def range(e: Expression, columns: Columns): Option[Double] = e match {
    case p: Pmod if integral(p)      => constant(p.right)
    case r: Remainder if integral(r) => constant(r.right).map(n => if (negative(r.left, columns)) 2.0 * n - 1.0 else n)
    case y: Year                     => days(y.child, columns).map(spanned(_, DaysOfYear))
    case t: TruncDate                => unit(t.format).flatMap(u => days(t.date, columns).map(spanned(_, u)))
    case t: TruncTimestamp           => unit(t.format).flatMap(u => days(t.timestamp, columns).map(spanned(_, u)))
    case c: Cast if c.dataType == DateType                          => days(c.child, columns).map(spanned(_, 1.0))
    case _: Floor | _: Ceil | _: Cast if integral(e) && fraction(e) => numbers(e, columns).map(spanned(_, 1.0))
    case _: Quarter                                                 => Some(4.0)
    case _: Month                                                   => Some(12.0)
    case _: WeekOfYear                                              => Some(53.0)
    case _: DayOfYear                                               => Some(366.0)
    case _: DayOfMonth                                              => Some(31.0)
    case _: DayOfWeek | _: WeekDay                                  => Some(7.0)
    case _: Hour                                                    => Some(24.0)
    case _: Minute | _: Second                                      => Some(60.0)
    case _ if e.dataType == BooleanType                             => Some(2.0)
    case _                                                          => None
  }

  private def integral(e: Expression): Boolean = e.dataType.isInstanceOf[IntegralType]

  private def constant(e: Expression): Option[Double] =
    if (e.foldable && TrialSafe(e)) Try(e.eval()).toOption.flatMap(Values.number(_)).map(math.abs).filter(_ > 0.0)
    else None

  private def negative(e: Expression, columns: Columns): Boolean =
    new Conditions().column(e).flatMap(columns(_).min).exists(_ < 0.0)

  /** Number of units of this length that a range touches. */
  private def spanned(range: (Double, Double), length: Double): Double =
    math.floor(range._2 / length) - math.floor(range._1 / length) + 1.0

  private def fraction(e: Expression): Boolean = e.children.headOption.exists(_.dataType match {
    case _: DecimalType | DoubleType | FloatType => true
    case _                                       => false
  })

  private def numbers(e: Expression, columns: Columns): Option[(Double, Double)] =
    e.children.headOption.flatMap(extremes(_, columns))

  private def extremes(e: Expression, columns: Columns): Option[(Double, Double)] =
    for (id <- new Conditions().column(e); low <- columns(id).min; high <- columns(id).max) yield (low, high)

  /** First and last day of a date or a timestamp, as numbers of days. */
  private def days(time: Expression, columns: Columns): Option[(Double, Double)] = time match {
    case c: Cast if c.dataType == DateType || c.dataType == TimestampType => days(c.child, columns)
    case _                                                                => time.dataType match {
        case DateType                         => extremes(time, columns)
        case TimestampType | TimestampNTZType =>
          extremes(time, columns).map { case (low, high) => (low / MicrosOfDay, high / MicrosOfDay) }
        case _ => None
      }
  }

  /** Days of the unit that a time is truncated to. */
  private def unit(format: Expression): Option[Double] =
    if (format.foldable && TrialSafe(format))
      Try(format.eval()).toOption.flatMap(Option(_)).flatMap(f => Units.get(f.toString.toUpperCase(Locale.ROOT)))
    else None

  /** Average length of a year in the Gregorian calendar. */
  private val DaysOfYear = 365.2425

  private val MicrosOfDay = 24.0 * 60.0 * 60.0 * 1e6

  private val Units: Map[String, Double] = Map(
    "YEAR"    -> DaysOfYear,
    "YYYY"    -> DaysOfYear,
    "YY"      -> DaysOfYear,
    "QUARTER" -> DaysOfYear / 4.0,
    "MONTH"   -> DaysOfYear / 12.0,
    "MM"      -> DaysOfYear / 12.0,
    "MON"     -> DaysOfYear / 12.0,
    "WEEK"    -> 7.0,
    "DAY"     -> 1.0,
    "DD"      -> 1.0,
    "HOUR"    -> 1.0 / 24.0,
    "MINUTE"  -> 1.0 / (24.0 * 60.0)
  )
}
