package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.{FullOuter, Inner, LeftOuter, RightOuter}
import org.apache.spark.sql.dovetail.predicates.Conjuncts
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.BooleanType

/**
 * Finds cross products that Spark refuses if `spark.sql.crossJoin.enabled` is false, as its rule CheckCartesianProducts
 * does after ours: joins that are not written as CROSS JOIN and have no predicate with columns of both sides. Dovetail
 * does not reorder a plan that Spark refuses, and takes no order with such a join.
 */
object CrossProducts {

  /** @param plan made only if Spark refuses such joins at all */
  def refused(plan: => LogicalPlan, conf: SQLConf): Boolean = !conf.crossJoinEnabled && plan.exists {
    case j: Join => refused(j); case _ => false
  }

  private def refused(join: Join): Boolean = join.joinType match {
    case Inner | LeftOuter | RightOuter | FullOuter =>
      join.condition.toSeq.flatMap(Conjuncts(_)) match {
        case Seq(Literal(false, BooleanType)) | Seq(Literal(null, BooleanType)) => false
        case conditions                                                         =>
          !conditions.exists(c =>
            c.references.exists(join.left.outputSet.contains) && c.references.exists(join.right.outputSet.contains)
          )
      }
    case _ => false
  }
}
