package org.apache.spark.sql.dovetail.predicates

import scala.collection.mutable
import scala.util.Try

import dovetail.kernel.profile.{Condition => C}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.dovetail.base.KeyRangeFilter
import org.apache.spark.sql.types._

/**
 * Translates Catalyst predicates into the kernel's [[Condition]]s. An expression that it cannot analyze becomes an
 * `Opaque` condition, or an unknown column with a unique negative id. So `substr(name, 1, 2) = 'Th'` is estimated as an
 * equality, even though nothing is known about its left side.
 */
final class Conditions {
  private val unknown = mutable.LinkedHashMap.empty[Expression, Long]

  def apply(e: Expression): C = e match {
    case And(l, r)              => C.And(apply(l), apply(r))
    case Or(l, r)               => C.Or(apply(l), apply(r))
    case Not(c)                 => C.Not(apply(c))
    case Literal(null, _)       => C.Constant(keeps = false)
    case Literal(b: Boolean, _) => C.Constant(b)
    case IsNull(c)              => C.IsNull(id(c))
    // a copy of a join's filter, which the estimate of the join already includes
    case e if KeyRangeFilter(e)   => C.Constant(keeps = true)
    case IsNotNull(c)             => column(c).fold[C](C.Constant(keeps = true))(C.IsNotNull(_))
    case EqualTo(l, r)            => equality(l, r)
    case EqualNullSafe(l, r)      => nullSafe(l, r)
    case LessThan(l, r)           => comparison(l, C.Less, r)
    case LessThanOrEqual(l, r)    => comparison(l, C.LessOrEqual, r)
    case GreaterThan(l, r)        => comparison(l, C.Greater, r)
    case GreaterThanOrEqual(l, r) => comparison(l, C.GreaterOrEqual, r)
    case i: InSet                 => in(i.child, i.hset.toSeq)
    case i: In                    =>
      val constants = i.list.map(literal)
      // if a value is not a constant, only the number of values counts
      if (constants.forall(_.isDefined)) in(i.value, constants.map(_.get.value))
      else C.In(id(i.value), Vector.empty, i.list.size)
    case StartsWith(c, _)                                      => C.StartsWith(id(c))
    case EndsWith(c, _)                                        => C.Matches(id(c))
    case Contains(c, _)                                        => C.Matches(id(c))
    case l: Like                                               => C.Matches(id(l.left))
    case l: RLike                                              => C.Matches(id(l.left))
    case _: DynamicPruning | _: BloomFilterMightContain        => C.Constant(keeps = true)
    case b if b.dataType == BooleanType && column(b).isDefined => C.Equals(column(b).get, Some(1.0))
    case other                                                 => C.Opaque(other.sql)
  }

  /**
   * The column that `e` is, or that `e` casts to a wider type. The values of `e` have the same order as those of the
   * column, and about the same number ([[keepsApart]]).
   */
  def column(e: Expression): Option[Long] = e match {
    case a: Attribute => Some(a.exprId.id)
    case c: Cast if c.child.dataType.isInstanceOf[NumericType] && widens(c.child.dataType, c.dataType) =>
      column(c.child)
    case c: Cast if isText(c.child.dataType) && isText(c.dataType) => column(c.child)
    // a CHAR column is padded to its length wherever it is read
    case CharPadding(text, _) => column(text)
    // Spark adds them to floating-point keys
    case n: NormalizeNaNAndZero          => column(n.child)
    case k: KnownFloatingPointNormalized => column(k.child)
    case a: Alias                        => column(a.child)
    case _                               => None
  }

  /**
   * Whether `e`, if it is a [[column]], has exactly the values of that column, and not changed ones (padded, rounded).
   */
  def sameValues(e: Expression): Boolean = e match {
    case _: Attribute => true
    case c: Cast      => JoinKeys.same(c.child.dataType, c.dataType) && sameValues(c.child)
    case a: Alias     => sameValues(a.child)
    case _            => false
  }

  /**
   * Whether `e`, if it is a [[column]], has different values for different values of that column. A cast to floating
   * point may map two long integers to one value. Another collation or padding with blanks may make two texts equal.
   */
  def keepsApart(e: Expression): Boolean = sameValues(e) || (e match {
    case c: Cast  => Conditions.isExact(c.child.dataType, c.dataType) && keepsApart(c.child)
    case a: Alias => keepsApart(a.child)
    case _        => false
  })

  /** The key of a constant that `e` is compared with, if the type has no place on the number line. */
  private def key(e: Expression, constant: Any): Option[Long] =
    if (Values.ordered(e.dataType) || !sameValues(e)) None else JoinKeys.forType(e.dataType).map(_(constant))

  private def isText(t: DataType) =
    t.isInstanceOf[StringType] || t.isInstanceOf[VarcharType] || t.isInstanceOf[CharType]

  private def widens(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: IntegralType, t: IntegralType)                         => t.defaultSize >= from.defaultSize
    case (_: IntegralType, _: DecimalType | DoubleType | FloatType) => true
    case (f: DecimalType, t: DecimalType)                           => t.scale >= f.scale
    case (_: DecimalType, DoubleType) | (FloatType, DoubleType)     => true
    case _                                                          => from == to
  }

  private def id(e: Expression): Long =
    column(e).getOrElse(unknown.getOrElseUpdate(e.canonicalized, -1L - unknown.size))

  private def literal(e: Expression): Option[Literal] = e match {
    case l: Literal                                                    => Some(l)
    case other if other.foldable && other.resolved && TrialSafe(other) =>
      Try(Literal.create(other.eval(), other.dataType)).toOption
    case _ => None
  }

  private def nullSafe(l: Expression, r: Expression): C = (literal(l), literal(r)) match {
    case (_, Some(v)) if v.value == null => C.IsNull(id(l))
    case (Some(v), _) if v.value == null => C.IsNull(id(r))
    case _                               => equality(l, r)
  }

  private def equality(l: Expression, r: Expression): C = (literal(l), literal(r)) match {
    case (None, Some(v)) =>
      if (v.value == null) C.Constant(keeps = false) else C.Equals(id(l), Values.number(v.value), key(l, v.value))
    case (Some(v), None) =>
      if (v.value == null) C.Constant(keeps = false) else C.Equals(id(r), Values.number(v.value), key(r, v.value))
    case _ =>
      (column(l), column(r)) match {
        case (Some(a), Some(b)) => C.CompareColumns(a, None, b)
        // the other side is one unknown value: a scalar subquery, a parameter, an expression of other columns
        case (None, Some(b)) => C.Equals(b, None)
        case _               => C.Equals(id(l), None)
      }
  }

  private def comparison(l: Expression, op: C.Comparison, r: Expression): C = (literal(l), literal(r)) match {
    case (None, Some(v)) =>
      if (v.value == null) C.Constant(keeps = false) else C.Compare(id(l), op, Values.number(v.value))
    case (Some(v), None) =>
      if (v.value == null) C.Constant(keeps = false) else C.Compare(id(r), mirrored(op), Values.number(v.value))
    case _ =>
      (column(l), column(r)) match {
        case (Some(a), Some(b)) => C.CompareColumns(a, Some(op), b)
        case (None, Some(b))    => C.Compare(b, mirrored(op), None)
        case _                  => C.Compare(id(l), op, None)
      }
  }

  private def in(e: Expression, values: Seq[Any]): C = {
    val constants = values.filter(_ != null).distinct
    val numbers   =
      if (Values.ordered(e.dataType)) constants.flatMap(Values.number(_)).distinct.sorted.toVector else Vector.empty
    if (constants.isEmpty) C.Constant(keeps = false)
    else if (numbers.size == constants.size) C.In(id(e), numbers, numbers.size)
    else {
      val keys = constants.flatMap(key(e, _)).distinct.sorted.toVector
      C.In(id(e), Vector.empty, constants.size, if (keys.size == constants.size) keys else Vector.empty)
    }
  }

  private def mirrored(op: C.Comparison): C.Comparison = op match {
    case C.Less           => C.Greater
    case C.LessOrEqual    => C.GreaterOrEqual
    case C.Greater        => C.Less
    case C.GreaterOrEqual => C.LessOrEqual
  }
}

private object Conditions {

  /** Whether every value of type `from` is also a value of type `to`. */
  private def isExact(from: DataType, to: DataType): Boolean = (from, to) match {
    case (ByteType | ShortType, _: FloatType | _: DoubleType) => true
    case (IntegerType, _: DoubleType)                         => true
    case (_: IntegralType, _: DecimalType)                    => Cast.canUpCast(from, to)
    case _                                                    => false
  }
}
