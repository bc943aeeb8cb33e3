package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import dovetail.kernel.profile.{RelationProfile, Source}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.leaf.FillingPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/**
 * The plans that fill cached relations (`df.cache()`, `CACHE TABLE`). Spark counts the rows and bytes of a cached
 * relation; [[PlanStatistics]] takes everything else about its columns from the plan that fills it.
 *
 * The files below that plan may have changed since the relation was filled. So the plan's numbers are estimates, not
 * bounds: there is no degree, no longest value, and no sample that stands for all rows.
 *
 * @param most largest number of operators in all source plans together
 */
final class CachedSource(most: Int = CachedSource.MostOperators) {
  private val sources = new IdentityHashMap[InMemoryRelation, Option[LogicalPlan]]
  private var left    = most

  /**
   * The plan that fills the relation, with the columns of the relation as its output; None if Spark does not expose
   * this plan, or if there are too many operators.
   */
  def apply(r: InMemoryRelation): Option[LogicalPlan] = sources.computeIfAbsent(r, found(_))

  /** Replaces the cached relations of a plan by their source plans, as long as these do not have too many operators. */
  def within(plan: LogicalPlan): LogicalPlan = {
    var more                               = most
    def fits(source: LogicalPlan): Boolean = {
      more -= CachedSource.operators(source, more + 1)
      more >= 0
    }
    def put(p: LogicalPlan): LogicalPlan = p.transformUp { case r: InMemoryRelation =>
      apply(r).filter(fits).fold[LogicalPlan](r)(put)
    }
    if (plan.exists(_.isInstanceOf[InMemoryRelation])) put(plan) else plan
  }

  private def found(r: InMemoryRelation): Option[LogicalPlan] = CachedSource.source(r).flatMap { plan =>
    val size = CachedSource.operators(plan, left + 1)
    if (size > left) None
    else {
      left -= size
      Some(CachedSource.renamed(plan, r))
    }
  }
}

object CachedSource {

  /**
   * @param counted Spark's statistics of the relation, which have its row count once it is cached
   * @param made    profile of the plan that fills the relation
   */
  def profile(r: InMemoryRelation, counted: RelationProfile, made: RelationProfile): RelationProfile = {
    if (Counts(counted.rows.source))
      WithoutBounds(made.ofRows(counted.rows.value), r.output).copy(rows = counted.rows)
    else WithoutBounds(made, r.output)
  }

  /** Sources of an exact row count: Spark has counted the rows, or the user has stated it. */
  private val Counts = Set[Source](Source.Exact, Source.Given)

  /**
   * Limit of the operators that one run of the rule visits in source plans. A program that joins a cached DataFrame
   * with itself and caches the result, again and again, doubles the operators each time; about a dozen operators fill
   * most caches.
   */
  private val MostOperators = 500

  private def source(r: InMemoryRelation): Option[LogicalPlan] = {
    val columns = r.cachedPlan.output.map(_.exprId)
    FillingPlan(r.cachedPlan).filter(p =>
      p.output.map(_.exprId) == columns && columns.distinct.size == columns.size && columns.size == r.output.size
    )
  }

  /** Counts the operators of a plan, up to `most`. */
  private def operators(plan: LogicalPlan, most: Int): Int = {
    var open  = List(plan)
    var count = 0
    while (open.nonEmpty && count < most) {
      count += 1
      open = open.head.children.toList ::: open.tail
    }
    count
  }

  /** Gives the columns of a plan the expression ids that they have in the relation, in every expression of the plan. */
  private def renamed(plan: LogicalPlan, r: InMemoryRelation): LogicalPlan = {
    val ids: Map[ExprId, ExprId] =
      plan.output.map(_.exprId).zip(r.output.map(_.exprId)).filter { case (from, to) => from != to }.toMap
    if (ids.isEmpty) plan
    else
      plan.transformUp { case p =>
        p.transformExpressions {
          case a: Attribute if ids.contains(a.exprId) => a.withExprId(ids(a.exprId))
          case a: Alias if ids.contains(a.exprId)     => Alias(a.child, a.name)(ids(a.exprId), a.qualifier)
        }
      }
  }
}
