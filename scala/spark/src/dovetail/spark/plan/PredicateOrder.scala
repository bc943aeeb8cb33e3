package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{FILTER, PLAN_EXPRESSION}
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.leaf.PartitionColumns
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, EvaluationCost, LikePieces, Movable}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Puts cheap conjuncts of a filter before expensive ones, because Spark evaluates them in their order and stops at the
 * first that a row does not satisfy. `comment RLIKE 'a.*b' AND day = 7` then matches the pattern only for the seventh.
 *
 * A conjunct moves only if it cannot fail ([[Movable]]) and costs far less than one before it. All others keep their
 * order, and what was written before them stays before them. So no expression sees a row that it does not see as
 * written.
 *
 * A LIKE with several pieces between wildcards gets cheap conditions of its own: `comment LIKE '%a%b%'` becomes
 * `contains(comment, 'a') AND contains(comment, 'b') AND comment LIKE '%a%b%'` ([[LikePieces]]).
 *
 * The rule comes after [[ReorderJoins]], so that the estimates of a query see its predicates as written.
 */
object PredicateOrder extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    FailOpen("ordering predicates", (_: String) => plan)(if (wanted(plan)) reordered(plan) else plan)

  private def wanted(plan: LogicalPlan): Boolean = DovetailConf.Enabled.get(conf) &&
    DovetailConf.FiltersOrder.get(conf) && !plan.isStreaming && !RuleScope.writesWhatItReads(plan)

  private def reordered(plan: LogicalPlan): LogicalPlan = plan.transformWithPruning(_.containsPattern(FILTER)) {
    case f @ Filter(condition, child) if condition.deterministic =>
      val cheap = inOrder(Conjuncts(LikePieces.tested(condition, isScanned(_, child))))
      if (Conjuncts(condition).corresponds(cheap)(_ eq _)) f else f.copy(condition = cheap.reduceLeft(And(_, _)))
  }

  /**
   * Whether a column comes from files, a cache, or rows in memory. Spark would give new conditions on other tables to
   * the database, which may compare texts by rules of its own, and those on partitions to the catalog.
   */
  private def isScanned(column: Attribute, plan: LogicalPlan): Boolean =
    plan.collectLeaves().find(_.outputSet.contains(column)).exists {
      case r: LogicalRelation => r.relation.isInstanceOf[HadoopFsRelation] && !PartitionColumns(r)(column.exprId.id)
      // Spark has built this scan, and gives it no more conditions
      case _: DataSourceV2ScanRelation                            => true
      case _: InMemoryRelation | _: LocalRelation | _: LogicalRDD => true
      case _                                                      => false
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
