package org.apache.spark.sql.dovetail.leaf

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.IdentityMemo
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{CachedRDDBuilder, InMemoryRelation}

/** The optimized plan that fills a cached relation. */
object FillingPlan {

  /**
   * A property of the plan that fills a relation. A cache may be made of two uses of another one, and so on: without
   * memory, the caches below it would be looked at exponentially often. If one of them is filled later, the property
   * stays what it was.
   */
  def remembered(property: Option[LogicalPlan] => Boolean): InMemoryRelation => Boolean = {
    val known = new IdentityMemo[CachedRDDBuilder, Boolean](Caches)(builder => property(apply(builder.cachedPlan)))
    r => known(r.cacheBuilder)
  }

  /** Caches whose property is remembered: more than a program has that are not filled. */
  private val Caches = 64

  /** Whether the first query that reads the relation runs the plan: `cache()` alone runs nothing. */
  def mayRun(r: InMemoryRelation): Boolean = !r.cacheBuilder.isCachedColumnBuffersLoaded

  /** None if Spark does not expose the plan. */
  @tailrec def apply(cached: SparkPlan): Option[LogicalPlan] = cached match {
    case a: AdaptiveSparkPlanExec => apply(a.inputPlan)
    case other                    => other.logicalLink match {
        case None if other.children.size == 1 => apply(other.children.head)
        case found                            => found
      }
  }
}
