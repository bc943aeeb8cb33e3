package org.apache.spark.sql.dovetail.base

import scala.util.control.NonFatal

/**
 * Tells whether the calling thread plans a step of a recursive query (WITH RECURSIVE, from Spark 4.1 on). Spark plans
 * and runs each step as a query of its own while the operator of the recursion is executed, so the operator is on the
 * stack. Nothing in the plan of the step shows it.
 */
object RecursiveStep {
  private val Operator = "org.apache.spark.sql.execution.UnionLoopExec"

  /** Whether this Spark has recursive queries. */
  private lazy val exists: Boolean =
    try { Class.forName(Operator, false, getClass.getClassLoader); true }
    catch { case _: ClassNotFoundException | _: LinkageError => false; case NonFatal(_) => false }

  def isPlanned: Boolean = exists && StackWalker.getInstance().walk[java.lang.Boolean] { frames =>
    frames.anyMatch(_.getClassName.startsWith(Operator))
  }
}
