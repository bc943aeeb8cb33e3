package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.report.Decision

/**
 * How many rows a query needs of its sub-plans below a LIMIT: `show`, `head` and `take` have one, too. Spark stops
 * reading when it has these rows, unless an operator between needs all rows first.
 *
 * With this, an order of joins is judged by what it costs to produce so many rows (`JoinTree.costOf`), as PostgreSQL
 * does with its startup cost. Otherwise an order that computes a small join of a large table first, and broadcasts it,
 * would read the whole table for the first row, where the written order reads one partition.
 */
final class NeededRows(plan: LogicalPlan) {
  private val needed = new IdentityHashMap[LogicalPlan, Long]
  if (plan.exists(NeededRows.limit(_).isDefined)) visit(plan, None)

  /** Why an order must not be taken although it costs less than the written one, or None. */
  def keeps(top: LogicalPlan, decision: Decision, planner: Planner): Option[String] =
    if (!decision.mayBeRefused || planner.reducesAlways || !needed.containsKey(top)) None
    else {
      val rows    = needed.get(top).toDouble
      val allowed = decision.outcome.original.costOf(rows) * (1.0 - planner.minGain)
      if (decision.outcome.best.costOf(rows) <= allowed) None
      else Some(
        s"the query needs only ${needed.get(top)} rows, and the written order produces its first rows at less cost"
      )
    }

  /** Whether the query needs all rows of a sub-plan. */
  def all(top: LogicalPlan): Boolean = !needed.containsKey(top)

  private def visit(plan: LogicalPlan, above: Option[Long]): Unit = {
    above.foreach(needed.put(plan, _))
    val rows = NeededRows.limit(plan).map(n => above.fold(n)(math.min(_, n)))
    plan.children.foreach(input => visit(input, rows.orElse(if (NeededRows.passes(plan, input)) above else None)))
  }
}

private[plan] object NeededRows {

  private def limit(plan: LogicalPlan): Option[Long] = plan match {
    case _: GlobalLimit | _: LocalLimit => plan.maxRows.orElse(plan.maxRowsPerPartition)
    case _                              => None
  }

  /**
   * Whether the operator passes on the rows of an input as it reads them. A join that the user has broadcast is in no
   * group, and passes on the rows of its other input. Joins of a group are judged together, so they do not count here.
   */
  def passes(plan: LogicalPlan, input: LogicalPlan): Boolean = plan match {
    case j: Join => SparkBuildSide.hinted(j).exists(side => JoinChoice.input(j, JoinChoice.other(side)) eq input)
    case other   => streams(other)
  }

  /** Whether the operator produces rows as soon as it has read some. A filter may need more rows than it produces. */
  def streams(plan: LogicalPlan): Boolean = plan match {
    case r: Repartition                                                                         => !r.shuffle
    case _: Project | _: Filter | _: SubqueryAlias | _: Union | _: Generate | _: CollectMetrics => true
    case _: DeserializeToObject | _: MapElements | _: TypedFilter | _: SerializeFromObject      => true
    case _                                                                                      => false
  }
}
