package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Collate, CollationKey, Expression, ResolvedCollation}

/** What makes a text of another collation of it, and the bytes by which such texts are compared. */
private[predicates] object TotalCollation {
  def apply(e: Expression): Boolean = e match {
    case _: Collate | _: CollationKey | _: ResolvedCollation => true
    case _                                                   => false
  }
}
