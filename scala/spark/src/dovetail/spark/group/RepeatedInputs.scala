package org.apache.spark.sql.dovetail.group

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * How often a query has the very same input: a table with the same columns and predicates. Spark broadcasts it once and
 * reuses the exchange (`ReuseExchange`), which the cost model is told (`Relation.copies`), so that the parts of a query
 * that share an input keep doing so.
 */
final class RepeatedInputs private (counts: Map[RepeatedInputs.Form, Int]) {
  def copies(leaf: LogicalPlan): Int =
    if (counts.isEmpty) 1 else RepeatedInputs.form(leaf).flatMap(counts.get).getOrElse(1)
}

object RepeatedInputs {

  /**
   * What inputs that are the same have in common, column ids aside. Spark's canonical form would do, but takes time by
   * the square of a table's columns.
   *
   * @param steps from the table on: lists of columns and predicates
   */
  final private case class Form(table: Any, steps: Vector[Seq[Any]])

  /** @param reused exchanges are */
  def apply(plan: LogicalPlan, reused: Boolean): RepeatedInputs = {
    val inputs = mutable.ArrayBuffer.empty[(String, LogicalPlan)]
    if (reused) collect(plan, inputs)
    // only where a table is read again
    val again = inputs.groupBy(_._1).values.filter(_.size > 1).flatMap(_.flatMap { case (_, input) => form(input) })
    new RepeatedInputs(again.groupBy(identity).collect { case (input, all) if all.size > 1 => input -> all.size })
  }

  private def collect(plan: LogicalPlan, into: mutable.ArrayBuffer[(String, LogicalPlan)]): Unit =
    LeafNames.below(plan).flatMap(LeafNames.identity) match {
      case Some(name) => into += name -> plan
      case None       => plan.children.foreach(collect(_, into))
    }

  /** None for what is more than columns and predicates of one table. */
  private def form(plan: LogicalPlan): Option[Form] = LeafNames.below(plan).map { leaf =>
    val places = mutable.HashMap.empty[ExprId, Int]
    leaf.output.foreach(a => places.getOrElseUpdate(a.exprId, places.size))
    Form(table(leaf), steps(plan, places))
  }

  private def table(leaf: LeafNode): Any = leaf match {
    case r: LogicalRelation => (r.relation, r.isStreaming, r.output.map(_.name))
    case other              => other.canonicalized
  }

  private def steps(plan: LogicalPlan, places: mutable.Map[ExprId, Int]): Vector[Seq[Any]] = plan match {
    case Project(list, child) =>
      val below = steps(child, places)
      // what is computed here has no place yet
      val step = list.map(placed(_, places))
      list.foreach { case a: Alias => places(a.exprId) = places.size; case _ => }
      below :+ step
    case Filter(condition, child) => steps(child, places) :+ Seq(placed(condition, places))
    case s: SubqueryAlias         => steps(s.child, places)
    case _                        => Vector.empty
  }

  private def placed(e: Expression, places: collection.Map[ExprId, Int]): Any = e match {
    case a: Attribute if places.contains(a.exprId) => places(a.exprId)
    case a: Alias                                  => placed(a.child, places)
    case other                                     =>
      other.transform {
        case a: AttributeReference if places.contains(a.exprId) =>
          AttributeReference("", a.dataType)(ExprId(places(a.exprId).toLong))
      }.canonicalized
  }
}
