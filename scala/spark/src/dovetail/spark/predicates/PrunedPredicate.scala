package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, SubqueryExpression}

/**
 * Predicates by which Spark has pruned the partitions of a table. They hold for all rows that are left, although Spark
 * keeps them in the filter.
 */
object PrunedPredicate {

  /** @param pruned partition columns by which the table was pruned. Spark does not run subqueries for this */
  def apply(conjunct: Expression, pruned: AttributeSet): Boolean =
    pruned.nonEmpty && conjunct.references.nonEmpty && conjunct.references.subsetOf(pruned) &&
      conjunct.deterministic && !SubqueryExpression.hasSubquery(conjunct)
}
