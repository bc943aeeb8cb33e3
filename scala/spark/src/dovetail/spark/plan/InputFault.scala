package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{ExpressionText, FailingOperator}
import org.apache.spark.sql.dovetail.predicates.FailingPlan.{throws, throwsOnRows}

/**
 * Something that may fail when an input is read. [[SparedInputs]] asks whether the written order reads that input.
 *
 * @param text     what it is, for people
 * @param inAnyRun whether it also counts where the input is started and its failure usually comes too late. This is not
 *                 so for scalar subqueries, because one that has several rows fails in nearly every run.
 */
final private[dovetail] class InputFault private (text: => String, val inAnyRun: Boolean) {
  def shown: String = text
}

private[dovetail] object InputFault {

  def of(e: Expression): InputFault = new InputFault(ExpressionText(e), throwsOnRows(e))

  /** What may fail in this operator: an expression, or the operator itself. */
  private def within(p: LogicalPlan): Option[InputFault] =
    p.expressions.find(throws).map(of).orElse(FailingOperator(p).map(new InputFault(_, inAnyRun = true)))

  /** What may fail in the input, at any depth. */
  def anywhere(input: LogicalPlan): Option[InputFault] =
    input.collectFirst(Function.unlift((p: LogicalPlan) => within(p)))

  def mayFail(input: LogicalPlan): Boolean = apply(input).nonEmpty

  /**
   * What may fail when the input is read. Looks only above the uppermost exchange of the input, because Spark fills
   * this exchange in any case. A sort is none, because Spark removes sorts below joins.
   */
  def apply(input: LogicalPlan): Option[InputFault] = found(input, apply)

  /** @param below what may fail when an input of the operator is read */
  private def found(input: LogicalPlan, below: LogicalPlan => Option[InputFault]): Option[InputFault] = {
    // below a grouping or a window by these keys, unless it needs an exchange
    def unlessExchanged(child: LogicalPlan, keys: Seq[Expression]) =
      if (keys.nonEmpty && RowPlaces.mayBeClustered(child, keys)) below(child) else None
    input match {
      case a: Aggregate                => within(a).orElse(unlessExchanged(a.child, a.groupingExpressions))
      case w: Window                   => unlessExchanged(w.child, w.partitionSpec)
      case r: Repartition if r.shuffle => None
      case _: RepartitionByExpression | _: RebalancePartitions | _: Distinct | _: GlobalLimit => None
      case s: Sort                                                                            => below(s.child)
      case other => within(other).orElse(other.children.iterator.map(below).collectFirst { case Some(f) => f })
    }
  }

  /** Faults of inputs of which some contain others. Looks at each operator once. */
  final class Nested {
    private val known = new IdentityHashMap[LogicalPlan, Option[InputFault]]

    def mayFail(input: LogicalPlan): Boolean = fault(input).nonEmpty

    private def fault(input: LogicalPlan): Option[InputFault] = {
      val before = known.get(input)
      if (before != null) before
      else {
        PlanningTime.check()
        val now = found(input, fault)
        known.put(input, now)
        now
      }
    }
  }
}
