package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.TreePattern.{BINARY_ARITHMETIC, CASE_WHEN, COALESCE, IF}
import org.apache.spark.sql.types._

/**
 * Divisions whose divisor is not zero because of a condition around them: `CASE WHEN b > 0 THEN a / b END`, or
 * `a / nullif(b, 0)`, which is `a / IF(b = 0, NULL, b)`. In ANSI mode, most queries that divide by a column do it in
 * such a way. Spark evaluates a branch only for rows that its conditions select.
 */
object GuardedDivision {

  /**
   * The expression with a positive constant in place of each such divisor. It fails for the same rows, and
   * [[TotalExpression]], which looks at single nodes, finds it total if it is.
   */
  def apply(e: Expression): Expression =
    if (!e.containsPattern(BINARY_ARITHMETIC) || !e.containsAnyPattern(CASE_WHEN, IF, COALESCE)) e
    else inside(e, KnownSigns.none)

  private def inside(e: Expression, known: KnownSigns): Expression = e match {
    case If(condition, yes, no) =>
      If(inside(condition, known), inside(yes, known.where(condition)), inside(no, known.unless(condition)))
    case c: CaseWhen =>
      val at       = known.along(c)
      val branches = c.branches.zip(at).map { case ((condition, value), here) =>
        (inside(condition, here), inside(value, here.where(condition)))
      }
      CaseWhen(branches, c.elseValue.map(inside(_, at.last)))
    case d: BinaryArithmetic if isDivision(d) && divides(d, known.of(d.right)) =>
      d.withNewChildren(Seq(inside(d.left, known), one(d.right.dataType)))
    case other => other.mapChildren(inside(_, known))
  }

  private def isDivision(e: BinaryArithmetic): Boolean = e match {
    case _: Divide | _: IntegralDivide | _: Remainder | _: Pmod => true
    case _                                                      => false
  }

  /** Whether divisors of these signs have a quotient. For whole numbers, the smallest one divided by -1 has none. */
  private def divides(e: BinaryArithmetic, signs: Set[Int]): Boolean =
    !signs(0) && !(e.dataType.isInstanceOf[IntegralType] && signs(-1))

  private def one(t: DataType): Literal = t match {
    case d: DecimalType => Literal(Decimal(1L, d.precision, d.scale), d) // the smallest positive number
    case other          => Literal(Cast(Literal(1), other).eval(), other)
  }
}

/**
 * Signs that the values of expressions may have at a place inside of an expression, by the conditions around it: -1, 0
 * and 1. NULL has none, and a division by NULL is NULL.
 *
 * @param signs signs of deterministic expressions in canonical form; others may have any
 */
final private class KnownSigns private (signs: Map[Expression, Set[Int]]) {

  /** What is known if a condition is true, and even if it is NULL. */
  def where(condition: Expression): KnownSigns = condition match {
    case And(l, r)           => where(l).where(r)
    case Not(c)              => unless(c)
    case c: BinaryComparison => compared(c, KnownSigns.orders(c))
    case _                   => this
  }

  /** What is known if a condition is not true. */
  def unless(condition: Expression): KnownSigns = condition match {
    case Or(l, r)            => unless(l).unless(r)
    case Not(c)              => where(c)
    case c: BinaryComparison => compared(c, KnownSigns.all -- KnownSigns.orders(c))
    case _                   => this
  }

  /** What is known at each condition of a CASE, and at the value behind all of them. */
  def along(c: CaseWhen): Seq[KnownSigns] = c.branches.scanLeft(this) { case (known, (condition, _)) =>
    known.unless(condition)
  }

  /** The signs that the value of an expression may have. */
  def of(e: Expression): Set[Int] = e match {
    case Literal(null, _)        => Set.empty
    case l: Literal              => KnownSigns.ofConstant(l).fold(KnownSigns.all)(Set(_))
    case c: Cast if keepsSign(c) => of(c.child)
    case If(condition, yes, no)  => where(condition).of(yes) ++ unless(condition).of(no)
    case c: Coalesce             => c.children.flatMap(of).toSet
    case c: CaseWhen             =>
      val at = along(c)
      c.branches.zip(at).flatMap { case ((condition, value), here) => here.where(condition).of(value) }.toSet ++
        c.elseValue.fold(Set.empty[Int])(at.last.of)
    case other => signs.getOrElse(other.canonicalized, KnownSigns.all)
  }

  /**
   * What a comparison with a constant tells.
   *
   * @param orders which of -1, 0 and 1 the order of both sides may be
   */
  private def compared(c: BinaryComparison, orders: Set[Int]): KnownSigns = (c.left, c.right) match {
    case (e, l: Literal) => compared(e, orders, l)
    case (l: Literal, e) => compared(e, orders.map(-_), l)
    case _               => this
  }

  private def compared(e: Expression, orders: Set[Int], constant: Literal): KnownSigns =
    KnownSigns.ofConstant(constant).fold(this)(sign => add(e, orders.flatMap(KnownSigns.signs(_, sign))))

  private def add(e: Expression, found: Set[Int]): KnownSigns = e match {
    case c: Cast if keepsSign(c) => add(c.child, found)
    case other                   =>
      if (other.deterministic) new KnownSigns(signs.updated(other.canonicalized, of(other) & found)) else this
  }

  private def keepsSign(c: Cast): Boolean = c.child.dataType.isInstanceOf[NumericType] &&
    (c.dataType == DoubleType || (c.dataType.isInstanceOf[NumericType] && Cast.canUpCast(c.child.dataType, c.dataType)))
}

private object KnownSigns {
  private val all = Set(-1, 0, 1)

  val none = new KnownSigns(Map.empty)

  /** Which order of both sides a comparison is true for: -1 if the left side is less. */
  private def orders(c: BinaryComparison): Set[Int] = c match {
    case _: LessThan                   => Set(-1)
    case _: LessThanOrEqual            => Set(-1, 0)
    case _: GreaterThan                => Set(1)
    case _: GreaterThanOrEqual         => Set(0, 1)
    case _: EqualTo | _: EqualNullSafe => Set(0)
    case _                             => all
  }

  /** Signs of a value that has this order to a constant of this sign. */
  private def signs(order: Int, constant: Int): Set[Int] =
    if (order == 0) Set(constant) else if (order * constant >= 0) Set(order) else all

  private def ofConstant(l: Literal): Option[Int] = l.value match {
    case n: Number  => if (n.doubleValue.isNaN) None else Some(math.signum(n.doubleValue).toInt)
    case d: Decimal => Some(d.toJavaBigDecimal.signum)
    case _          => None
  }
}
