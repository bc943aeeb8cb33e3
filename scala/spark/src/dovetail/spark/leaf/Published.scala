package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.expressions.AttributeMap
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Relations that tell Spark's optimizer statistics of ours instead of their own, which are the bytes of their files.
 *
 * A [[PublishedRelation]] is the `LogicalRelation` that it stands for in all that identifies it: the same relation, the
 * same columns, the same table. What matches relations by type, extracts their fields or compares canonical forms
 * (cached data, exchanges, subqueries that are merged, Delta Lake) finds what it found before, for its canonical form
 * and every copy that a rule makes of it is the plain one: then the statistics are Spark's again. It equals no plain
 * relation: Spark's `transform` takes an equal node for no change.
 *
 * Spark plans and runs a clone of the optimized plan, in which the statistics are Spark's own. Before Spark 4.3,
 * adaptive execution takes the estimated rows of a stage that still runs for the most that it can have, and drops a
 * LIMIT or a DISTINCT by it (SPARK-57956). And what is broadcast is not decided by an estimate without a bound.
 */
object Published {

  /** The plan with the sizes that it will be planned with. */
  def asPlanned(plan: LogicalPlan): LogicalPlan = plan.transform { case p: PublishedRelation => p.plain }

  /** The relation under new column names, as `fresh` has them. */
  private[leaf] def renamed(r: PublishedRelation, fresh: LogicalRelation): LogicalRelation = {
    val columns = r.output.zip(fresh.output).flatMap { case (from, to) =>
      r.published.attributeStats.get(from).map(to -> _)
    }
    PublishedRelation(fresh, r.published.copy(attributeStats = AttributeMap(columns)))
  }
}
