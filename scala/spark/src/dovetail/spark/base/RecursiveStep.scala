package org.apache.spark.sql.dovetail.base

import org.apache.spark.util.Utils

/**
 * Tells whether the calling thread plans a step of a recursive query (WITH RECURSIVE, from Spark 4.1 on). Spark plans
 * and runs each step as a query of its own while the operator of the recursion is executed, so the operator is among
 * the callers. Nothing in the plan of the step shows it.
 */
object RecursiveStep {
  private val Operator = "org.apache.spark.sql.execution.UnionLoopExec"

  /** Whether this Spark has recursive queries. */
  private lazy val exists: Boolean = Utils.classIsLoadable(Operator)

  def isPlanned: Boolean = exists && Callers.include(Operator)
}
