package org.apache.spark.sql.dovetail.group

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.plans.{LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.SparkRelease
import org.apache.spark.sql.dovetail.predicates.JoinCondition

/**
 * Joins that Spark 3.5.0 to 3.5.2 may compute wrongly in another order, so they stay as written (SPARK-46037).
 *
 * If these releases hash the left side of a LEFT JOIN and run without generated code, they read the columns of a
 * condition beside the keys from the wrong side. They compute a RIGHT JOIN correctly. A new order turns a RIGHT JOIN
 * into a LEFT JOIN, and gives a LEFT JOIN a smaller left side, which Spark then hashes.
 */
private[dovetail] object WronglyHashed {

  /** @param running version of Spark */
  def apply(j: Join, running: String = SPARK_VERSION): Boolean = j.joinType match {
    case LeftOuter | RightOuter =>
      SparkRelease.isBefore("3.5", 3, running) && JoinCondition.of(j).exists(_.sides.isEmpty)
    case _ => false
  }

  /** Why joins of a plan stay as written, for explain; None if no join does. */
  def note(plan: LogicalPlan, running: String = SPARK_VERSION): Option[String] =
    plan.collectWithSubqueries { case j: Join if apply(j, running) => j }.headOption.map(_ =>
      s"LEFT and RIGHT joins with a condition beside their keys stay as written, because Spark $running may hash " +
        "them wrongly in another order (SPARK-46037): use Spark 3.5.3 or later."
    )
}
