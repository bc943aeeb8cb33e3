package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Whether the evaluation of an expression on one row takes time in proportion to the size of its inputs. Such an
 * expression may be tried on sampled rows in the planning thread, which looks at the clock before each row. Any other
 * expression runs in a separate thread, because a single value may take forever.
 *
 * Left out: LIKE and regular expressions, which backtrack, and searches for a text within a text.
 */
object LinearTime {
  def apply(e: Expression): Boolean = !e.exists(!node(_))

  /**
   * The same with searches for a short constant text, which Spark makes of `LIKE '%text%'`: a search takes at most the
   * product of both lengths.
   */
  def orShortSearch(e: Expression): Boolean = !e.exists(n => !node(n) && !shortSearch(n))

  private def node(e: Expression): Boolean = e match {
    case _: Like | _: Contains | _: StringInstr => false
    case _: BoundReference                      => true
    case other                                  => TotalExpression(other)
  }

  private def shortSearch(e: Expression): Boolean = e match {
    case c: Contains if c.left.dataType == StringType =>
      c.right match {
        case Literal(text: UTF8String, _) => text.numBytes <= Short
        case _                            => false
      }
    case _ => false
  }

  /** Most bytes of a short text. */
  private val Short = 64
}
