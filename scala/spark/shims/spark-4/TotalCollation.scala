package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Collate, CollationKey, Expression, ResolvedCollation}

/**
 * Expressions that give a string another collation, and the expression for the bytes by which such strings are
 * compared.
 */
private[predicates] object TotalCollation {
  def apply(e: Expression): Boolean = e match {
    case _: Collate | _: CollationKey | _: ResolvedCollation => true
    case _                                                   => false
  }
}
