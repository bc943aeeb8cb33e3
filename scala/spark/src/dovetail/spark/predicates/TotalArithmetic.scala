package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.predicates.KnownRanges.Range
import org.apache.spark.sql.types._

/**
 * Arithmetic that cannot overflow: on floating point numbers; on integers and decimals outside of ANSI mode, where
 * results wrap around or become NULL; and on types that leave room for every result: `CAST(a AS BIGINT) + CAST(b AS
 * BIGINT)` of two INT columns, DECIMAL(12, 2) * DECIMAL(7, 2), DECIMAL(12, 2) / 100. The values of integer columns may
 * be known to be in a smaller range than that of their type ([[KnownRanges]]).
 */
object TotalArithmetic {

  /** Whether a sum, a difference or a product cannot overflow. */
  def apply(e: BinaryArithmetic): Boolean = e.dataType match {
    case _: DoubleType | _: FloatType => true
    case t: IntegralType              => !ansi(e) || within(exact(e, KnownRanges(_)), t)
    case t: DecimalType               =>
      !ansi(e) || room(e).exists(digits => digits <= DecimalType.MAX_PRECISION && digits <= t.precision)
    case _ => false // intervals overflow in every mode
  }

  /** Whether a quotient or a remainder cannot fail. In ANSI mode, the divisor must be a constant that is not zero. */
  def divides(e: BinaryArithmetic): Boolean = e.dataType match {
    case _: DoubleType | _: FloatType => !ansi(e) || nonZero(e.right)
    case _: IntegralType => integral(e.left.dataType) && (!ansi(e) || (nonZero(e.right) && nonNegative(e.right)))
    case t: DecimalType  =>
      if (e.isInstanceOf[Divide]) !ansi(e) || (nonZero(e.right) && quotient(e, t)) else !ansi(e) && divided(e)
    case _ => false
  }

  /**
   * Whether the integer part of a quotient of decimals has few enough digits. To compute a remainder, Java fails in
   * every mode if it has more.
   */
  private def divided(e: BinaryArithmetic): Boolean = (e.left.dataType, e.right.dataType) match {
    case (l: DecimalType, r: DecimalType) => l.precision - l.scale + r.scale <= DecimalType.MAX_PRECISION
    case _                                => false
  }

  /**
   * Whether a type holds every quotient of decimals. A number below 10^p-s^, divided by 10^-t^ at least, is below
   * 10^p-s+t^. The largest quotient has s-t digits after the point, so with as many it is not rounded up to that power.
   */
  private def quotient(e: BinaryArithmetic, to: DecimalType): Boolean = (e.left.dataType, e.right.dataType) match {
    case (l: DecimalType, r: DecimalType) if l.scale >= 0 && r.scale >= 0 =>
      to.precision - to.scale >= l.precision - l.scale + r.scale && to.scale >= l.scale - r.scale
    case _ => false
  }

  // up to Spark 4.0, evalMode is accessible only in the concrete classes
  private def ansi(e: BinaryArithmetic): Boolean = EvalMode.ANSI == (e match {
    case a: Add            => a.evalMode
    case s: Subtract       => s.evalMode
    case m: Multiply       => m.evalMode
    case d: Divide         => d.evalMode
    case d: IntegralDivide => d.evalMode
    case r: Remainder      => r.evalMode
    case p: Pmod           => p.evalMode
    case _                 => EvalMode.ANSI
  })

  private def integral(t: DataType): Boolean = t.isInstanceOf[IntegralType]

  /** Digits of the largest result of an operation on decimals. */
  private def room(e: BinaryArithmetic): Option[Int] = (e, e.left.dataType, e.right.dataType) match {
    case (_: Multiply, l: DecimalType, r: DecimalType) => Some(l.precision + r.precision + 1)
    case (_, l: DecimalType, r: DecimalType)           =>
      Some(math.max(l.precision - l.scale, r.precision - r.scale) + math.max(l.scale, r.scale) + 1)
    case _ => None
  }

  /** Columns whose ranges decide whether an integer operation overflows. */
  def limiting(e: Expression): Seq[Attribute] = e match {
    case b @ (_: Add | _: Subtract | _: Multiply) => (b.dataType, b) match {
        case (t: IntegralType, b: BinaryArithmetic) if ansi(b) && !within(exact(b, _ => None), t) => operands(b)
        case _                                                                                    => Nil
      }
    case _ => Nil
  }

  /** Columns that an integer is computed from. */
  def operands(e: Expression): Seq[Attribute] = e match {
    case a: Attribute if integral(a.dataType)        => Seq(a)
    case c: Cast if integral(c.dataType)             => operands(c.child)
    case b: BinaryArithmetic if integral(b.dataType) => operands(b.left) ++ operands(b.right)
    case _                                           => Nil
  }

  /** The values that an integer may have. */
  def range(e: Expression): Option[Range] = range(e, KnownRanges(_))

  private def within(values: Option[Range], t: IntegralType): Boolean =
    values.exists { case (low, high) => typeRange(t).exists { case (least, most) => low >= least && high <= most } }

  private def typeRange(t: DataType): Option[Range] = t match {
    case ByteType    => Some((BigInt(Byte.MinValue), BigInt(Byte.MaxValue)))
    case ShortType   => Some((BigInt(Short.MinValue), BigInt(Short.MaxValue)))
    case IntegerType => Some((BigInt(Int.MinValue), BigInt(Int.MaxValue)))
    case LongType    => Some((BigInt(Long.MinValue), BigInt(Long.MaxValue)))
    case _           => None
  }

  /** The range of the exact result, without the limits of the type. */
  private def exact(e: BinaryArithmetic, known: Attribute => Option[Range]): Option[Range] = for {
    (a, b) <- range(e.left, known)
    (c, d) <- range(e.right, known)
    found  <- e match {
      case _: Add      => Some((a + c, b + d))
      case _: Subtract => Some((a - d, b - c))
      case _: Multiply => val products = Seq(a * c, a * d, b * c, b * d); Some((products.min, products.max))
      case _           => None
    }
  } yield found

  private def range(e: Expression, known: Attribute => Option[Range]): Option[Range] = e match {
    case Literal(n: Number, _: IntegralType)                     => Some((BigInt(n.longValue), BigInt(n.longValue)))
    case a: Attribute if integral(a.dataType)                    => known(a).orElse(typeRange(a.dataType))
    case c: Cast if Cast.canUpCast(c.child.dataType, c.dataType) => range(c.child, known)
    case b: BinaryArithmetic if integral(b.dataType)             =>
      exact(b, known).filter(r => within(Some(r), b.dataType.asInstanceOf[IntegralType])).orElse(typeRange(b.dataType))
    case other => typeRange(other.dataType)
  }

  private def nonZero(e: Expression): Boolean = e match {
    case Literal(n: Number, _: NumericType)  => n.doubleValue != 0.0
    case Literal(d: Decimal, _: DecimalType) => !d.isZero
    case _                                   => false
  }

  /**
   * Whether a divisor is a positive constant: the only quotient of integers that overflows is the smallest value
   * divided by -1.
   */
  private def nonNegative(e: Expression): Boolean = e match {
    case Literal(n: Number, _: NumericType) => n.doubleValue > 0.0
    case _                                  => false
  }
}
