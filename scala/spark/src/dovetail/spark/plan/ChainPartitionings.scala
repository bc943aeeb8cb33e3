package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.ChainOrder
import dovetail.kernel.graph.Forest
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec

/**
 * The partitionings of the rows of a [[JoinChain]], as numbers for [[ChainOrder]]. Rows are partitioned by a set of key
 * expressions. Expressions that an inner join of the chain makes equal count as one. If a chain joins `a.x = b.y` and
 * `b.y = c.z`, both joins need the same partitioning, so the second one needs no exchange.
 */
final class ChainPartitionings(probe: LogicalPlan, joins: Vector[ChainLink]) {

  // a null-safe equality has keys of its own in Spark, so the whole conjunct stands for its key
  private def key(side: Expression, conjunct: Expression): Expression =
    (if (conjunct.isInstanceOf[EqualTo]) side else conjunct).canonicalized

  private val ofProbe: Vector[Expression] = AdaptiveInput.complete(probe) match {
    case Some(q: ShuffleQueryStageExec) => q.outputPartitioning match {
        case h: HashPartitioning => h.expressions.toVector.map(_.canonicalized)
        case _                   => Vector.empty
      }
    case _ => Vector.empty
  }

  private val keys: Vector[Vector[Expression]] = joins.map(_.equalities.map { case (side, e) => key(side, e) })

  private val classes: Map[Expression, Int] = {
    val equal = joins.filter(_.join.joinType == Inner).flatMap(_.equalities).collect { case (_, EqualTo(a, b)) =>
      (a.canonicalized, b.canonicalized)
    }
    val all    = (ofProbe ++ keys.flatten ++ equal.flatMap { case (a, b) => Seq(a, b) }).distinct
    val number = all.zipWithIndex.toMap
    val forest = new Forest(all.size)
    equal.foreach { case (a, b) => forest.link(number(a), number(b)) }
    all.map(e => e -> forest.find(number(e))).toMap
  }

  private val sets: Vector[Set[Int]]     = keys.map(_.map(classes).toSet)
  private val distinct: Vector[Set[Int]] = (ofProbe.map(classes).toSet +: sets).distinct

  /** Partitioning of the probe. */
  val start: Int = 0

  /** Partitioning that each join needs. */
  val needed: Vector[Int] = joins.zip(sets).map { case (join, set) =>
    if (join.looksUp) ChainOrder.AnyKey else distinct.indexOf(set)
  }
}
