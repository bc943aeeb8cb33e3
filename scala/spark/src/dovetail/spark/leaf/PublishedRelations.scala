package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Relations that give Spark's optimizer Dovetail's statistics instead of their own, which are only the bytes of their
 * files.
 *
 * A [[PublishedRelation]] has everything that identifies the `LogicalRelation` in its place: the same relation, the
 * same columns, the same table. Code that matches relations by type, extracts their fields or compares canonical forms
 * (cached data, exchanges, merged subqueries, Delta Lake) works as before: the canonical form of a published relation,
 * and every copy that a rule makes of it, is the plain relation with Spark's own statistics. It equals no plain
 * relation, because Spark's `transform` takes a node that is equal to the old one as unchanged.
 *
 * Spark plans and runs a clone of the optimized plan, in which the statistics are Spark's own. There are two reasons.
 * Before Spark 4.3, adaptive execution takes the estimated rows of a running stage as an upper bound, and may drop a
 * LIMIT or a DISTINCT because of it (SPARK-57956). And an estimate without a bound must not decide a broadcast.
 */
object PublishedRelations {

  /** The plan with the relations, and so the sizes, that Spark plans with. */
  def asPlanned(plan: LogicalPlan): LogicalPlan =
    // looking for such a relation takes a tenth of the time of a transformation, and most plans have none
    if (plan.exists(_.isInstanceOf[PublishedRelation])) plan.transform { case p: PublishedRelation => p.plain }
    else plan

  /** The published relation with the columns of `fresh`, a new instance of the plain relation. */
  private[leaf] def renamed(r: PublishedRelation, fresh: LogicalRelation): LogicalRelation = {
    val columns = r.output.zip(fresh.output).flatMap { case (from, to) =>
      r.published.attributeStats.get(from).map(to -> _)
    }
    PublishedRelation(fresh, r.published.copy(attributeStats = AttributeMap(columns)))
  }
}
