package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}

/** An expression as people write it: columns with their table or alias, without catalog and database. */
object ExpressionText {
  def apply(e: Expression): String = e.transform { case a: AttributeReference =>
    a.withQualifier(a.qualifier.takeRight(1))
  }.sql
}
