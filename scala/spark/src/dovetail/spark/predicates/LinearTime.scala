package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._

/**
 * Whether the evaluation of an expression on one row takes time in proportion to the size of its inputs. Such an
 * expression may be tried on sampled rows in the planning thread, which looks at the clock before each row. Any other
 * expression runs in a separate thread, because a single value may take forever.
 *
 * Left out: LIKE and regular expressions, which backtrack, and searches for a text within a text.
 */
object LinearTime {
  def apply(e: Expression): Boolean = !e.exists(!node(_))

  private def node(e: Expression): Boolean = e match {
    case _: Like | _: Contains | _: StringInstr => false
    case _: BoundReference                      => true
    case other                                  => TotalExpression(other)
  }
}
