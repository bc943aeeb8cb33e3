package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, BinaryComparison, Cast, Expression, ExprId}
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * The names before the columns of a condition, as its SQL text has them: `s` and `february` in `s.day = february.day`.
 * Spark keeps with every expression the part of the query text that it comes from, and keeps this text when it changes
 * the expression.
 *
 * Reads only comparisons of two columns, the usual join predicates. If the text does not match the comparison, the
 * result is empty.
 */
private[group] object WrittenNames {

  def apply(condition: Expression): Map[ExprId, String] = Conjuncts(condition).flatMap {
    case c: BinaryComparison => (column(c.left), column(c.right)) match {
        case (Some(l), Some(r)) => text(c).fold(Vector.empty[(ExprId, String)])(compared(_, l, r))
        case _                  => Vector.empty
      }
    case _ => Vector.empty
  }.reverse.toMap // if a column occurs several times, its first name counts

  private def column(e: Expression): Option[Attribute] = e match {
    case a: Attribute => Some(a)
    case c: Cast      => column(c.child)
    case _            => None
  }

  private def text(e: Expression): Option[String] = for {
    whole <- e.origin.sqlText
    start <- e.origin.startIndex
    stop  <- e.origin.stopIndex
    if start >= 0 && start <= stop && stop < whole.length
  } yield whole.substring(start, stop + 1)

  private val Part       = """(?:\w+|`(?:[^`]|``)+`)"""
  private val Name       = s"((?:$Part\\s*\\.\\s*)+)($Part)"
  private val Comparison = s"\\s*$Name\\s*(?:=|==|<=>|<|<=|>|>=)\\s*$Name\\s*".r
  private val Parts      = Part.r

  private def compared(text: String, left: Attribute, right: Attribute): Vector[(ExprId, String)] = text match {
    case Comparison(l, x, r, y) if is(x, left) && is(y, right) =>
      Vector(left.exprId -> last(l), right.exprId -> last(r))
    case Comparison(l, x, r, y) if is(x, right) && is(y, left) =>
      Vector(right.exprId -> last(l), left.exprId -> last(r))
    case _ => Vector.empty
  }

  private def is(written: String, a: Attribute): Boolean = plain(written).equalsIgnoreCase(a.name)

  /** The part next to the column. Parts before it name a database. */
  private def last(names: String): String = plain(Parts.findAllIn(names).toVector.last)

  private def plain(name: String): String =
    if (name.startsWith("`")) name.substring(1, name.length - 1).replace("``", "`") else name
}
