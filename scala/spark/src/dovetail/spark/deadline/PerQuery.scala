package org.apache.spark.sql.dovetail.deadline

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.catalyst.QueryPlanningTracker

/** A value that all runs of the rule for one query share, including those for its subqueries. */
final class PerQuery[A <: AnyRef] {

  // The keys are weak, so a value is dropped together with its query. Values must not hold plans, which may hold the
  // key.
  private val queries = Collections.synchronizedMap(new WeakHashMap[QueryPlanningTracker, A])

  /** The value for the query that this thread plans; a new one if it plans none. */
  def apply(make: => A): A = QueryPlanningTracker.get.fold(make)(queries.computeIfAbsent(_, _ => make))
}
