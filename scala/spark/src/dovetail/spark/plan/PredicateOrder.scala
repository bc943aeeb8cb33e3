package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{FILTER, PLAN_EXPRESSION}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, EvaluationCost, Movable}

/**
 * Puts cheap conjuncts of a filter before expensive ones, because Spark evaluates them in their order and stops at the
 * first that a row does not satisfy. `comment RLIKE 'a.*b' AND day = 7` then matches the pattern only for the seventh.
 *
 * A conjunct moves only if it cannot fail ([[Movable]]) and costs far less than one before it. All others keep their
 * order, and what was written before them stays before them. So no expression sees a row that it does not see as
 * written.
 */
object PredicateOrder extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    FailOpen("ordering predicates", (_: String) => plan)(if (wanted(plan)) reordered(plan) else plan)

  private def wanted(plan: LogicalPlan): Boolean = DovetailConf.Enabled.get(conf) &&
    DovetailConf.FiltersOrder.get(conf) && !plan.isStreaming && !RuleScope.writesWhatItReads(plan)

  private def reordered(plan: LogicalPlan): LogicalPlan = plan.transformWithPruning(_.containsPattern(FILTER)) {
    case f @ Filter(condition, _) if condition.deterministic =>
      val written = Conjuncts(condition)
      val cheap   = inOrder(written)
      if (written.corresponds(cheap)(_ eq _)) f else f.copy(condition = cheap.reduceLeft(And(_, _)))
  }

  private def inOrder(written: Vector[Expression]): Vector[Expression] =
    if (written.size < 2 || written.size > MostConjuncts) written
    else
      written.foldLeft(Vector.empty[(Expression, Double)]) { (before, e) =>
        val cost = EvaluationCost(e)
        val at   = before.indexWhere(_._2 >= FarMore * cost)
        if (at < 0 || !moves(e)) before :+ (e -> cost) else (before.take(at) :+ (e -> cost)) ++ before.drop(at)
      }.map(_._1)

  // a subquery may be what Spark pushes to the scan, or reuses
  private def moves(e: Expression): Boolean = !e.containsPattern(PLAN_EXPRESSION) && Movable(e)

  /**
   * How many times as expensive the other conjunct has to be. If the cheap one keeps all rows, the filter takes a tenth
   * longer than as written, at worst.
   */
  private val FarMore = 10.0

  /** Larger filters are made by programs. Each insertion looks at the conjuncts before it. */
  private val MostConjuncts = 200
}
