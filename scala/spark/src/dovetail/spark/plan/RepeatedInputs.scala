package org.apache.spark.sql.dovetail.plan

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.stats.LeafStatistics

/**
 * How often a query has the very same input: a table with the same columns and predicates. Spark broadcasts it once and reuses the exchange
 * (`ReuseExchange`), which the cost model is told (`Relation.copies`), so that the parts of a query that share an input keep doing so.
 */
final class RepeatedInputs private (counts: Map[LogicalPlan, Int]) {
  def copies(leaf: LogicalPlan): Int = if (counts.isEmpty) 1 else counts.getOrElse(leaf.canonicalized, 1)
}

object RepeatedInputs {

  /** @param reused exchanges are */
  def apply(plan: LogicalPlan, reused: Boolean): RepeatedInputs = {
    val inputs = mutable.ArrayBuffer.empty[(String, LogicalPlan)]
    if (reused) collect(plan, inputs)
    // plans are brought into canonical form only where a table is read again
    val again = inputs.groupBy(_._1).values.filter(_.size > 1).flatMap(_.map(_._2.canonicalized))
    new RepeatedInputs(again.groupBy(identity).collect { case (input, all) if all.size > 1 => input -> all.size })
  }

  private def collect(plan: LogicalPlan, into: mutable.ArrayBuffer[(String, LogicalPlan)]): Unit =
    LeafStatistics.below(plan).flatMap(LeafStatistics.identity) match {
      case Some(name) => into += name -> plan
      case None       => plan.children.foreach(collect(_, into))
    }
}
