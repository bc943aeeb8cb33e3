package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{Expression, Nondeterministic}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.FailingPlan

/**
 * Operators whose results depend on the place of their input rows: in which partition a row is, after which other rows
 * it comes, and which file is being read. Joins below them must stay as written, also how they are executed:
 *
 *   - Another order may stream another input, so that `input_file_name()` is empty.
 *   - Dovetail learns, so two queries over the same joins may get different orders. `randomSplit` makes two queries
 *     that draw from the same partitions: in different orders, their parts overlap. The same holds for `rand(seed) <
 *     0.8` and its complement.
 *   - A barrier stage needs as many slots as it has partitions.
 *   - A LIMIT stops at the rows that come first. On which of them an expression fails depends on their order.
 *
 * An input that collects metrics (`observe`) is the opposite case: it has to be read completely whenever Spark would
 * read it ([[isObserved]]).
 */
object RowPlaces {

  /** Why everything below this operator has to stay as written, or None. */
  def unapply(operator: LogicalPlan): Option[String] = operator match {
    case o if o.nodeName == "AttachDistributedSequence" => Some("a sequence numbers the joined rows by their place")
    case _: Sample => Some("a sample of joined rows depends on their partitions and order")
    case _: GlobalLimit | _: LocalLimit if stopsAtRows(operator) =>
      Some(
        "a LIMIT ends the query before all rows are read, and an expression below it may fail on the other rows"
      )
    case o if isBarrier(o)    => Some("a barrier stage has a task for each partition of the joined rows")
    case o if o.deterministic => None
    case o => o.expressions.flatMap(_.collectFirst { case e: Nondeterministic => e }).headOption.map(told)
  }

  /** Whether an expression that may throw is only evaluated on the rows that a LIMIT asks for. */
  private def stopsAtRows(limit: LogicalPlan): Boolean = limit.children.exists(streamed)

  private def streamed(plan: LogicalPlan): Boolean = !readsAll(plan) &&
    (plan.expressions.exists(FailingPlan.throwsOnRows) || runsProgram(plan) || plan.children.exists(streamed))

  /** Whether the operator reads all rows before it returns the first one. Any other one may return it earlier. */
  private def readsAll(plan: LogicalPlan): Boolean = plan match {
    case r: Repartition => r.shuffle
    case s: Sort        => s.global
    case _: Aggregate | _: Distinct | _: Deduplicate | _: Window | _: RepartitionByExpression |
        _: RebalancePartitions =>
      true
    case _ => false
  }

  /** Whether the operator runs a function of the user that is none of its expressions. */
  private def runsProgram(plan: LogicalPlan): Boolean = plan match {
    case _: MapElements | _: MapPartitions | _: TypedFilter => true
    case _                                                  => false
  }

  private def told(e: Expression): String =
    s"${e.prettyName.toLowerCase(Locale.ROOT)}() depends on the partitions and order of the joined rows"

  /** `mapInPandas` and `mapInArrow` with `barrier=True`; their classes differ between lines of Spark. */
  private def isBarrier(operator: LogicalPlan): Boolean =
    BarrierOperators.contains(operator.nodeName) && operator.productIterator.contains(true)

  private val BarrierOperators = Set("MapInPandas", "MapInArrow", "PythonMapInArrow")

  /** Whether the plan has an `observe`, whose metrics nobody gets if another order does not read it. */
  def isObserved(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[CollectMetrics])
}
