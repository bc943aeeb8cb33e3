package org.apache.spark.sql.dovetail.group

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, SharedFileIndex}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Counts how often a query has the same input: a table with the same columns and predicates. Spark broadcasts such an
 * input once and reuses the exchange (`ReuseExchange`). The cost model gets the count (`Relation.copies`), so that the
 * parts of a query that share an input still share it in the new plan.
 */
final class RepeatedInputs private (counts: Map[RepeatedInputs.Form, Int]) {
  def copies(leaf: LogicalPlan): Int =
    if (counts.isEmpty) 1 else RepeatedInputs.form(leaf).flatMap(counts.get).getOrElse(1)
}

object RepeatedInputs {

  /**
   * Key by which equal inputs compare as equal, whatever their column ids. Spark's canonical form would serve as well,
   * but takes time quadratic in the number of a table's columns.
   *
   * @param steps lists of columns and predicates, from the table upward
   */
  final private case class Form(table: Any, steps: Vector[Seq[Any]])

  /** @param reused whether Spark reuses exchanges */
  def apply(plan: LogicalPlan, reused: Boolean): RepeatedInputs =
    new RepeatedInputs(if (reused) PlanningTime.orNoneEarly(counts(plan)).getOrElse(Map.empty) else Map.empty)

  private def counts(plan: LogicalPlan): Map[Form, Int] = {
    val inputs = mutable.ArrayBuffer.empty[(String, LogicalPlan)]
    collect(plan, inputs)
    // only tables that the query reads more than once
    val again = inputs.groupBy(_._1).values.filter(_.size > 1).flatMap(_.flatMap { case (_, input) => form(input) })
    again.groupBy(identity).collect { case (input, all) if all.size > 1 => input -> all.size }
  }

  private def collect(plan: LogicalPlan, into: mutable.ArrayBuffer[(String, LogicalPlan)]): Unit = {
    PlanningTime.check()
    LeafNames.below(plan).flatMap(LeafNames.identity) match {
      case Some(name) => into += name -> plan
      case None       => plan.children.foreach(collect(_, into))
    }
  }

  /** None if the plan has other operators than projections and filters over one table. */
  private def form(plan: LogicalPlan): Option[Form] = LeafNames.below(plan).map { leaf =>
    PlanningTime.check()
    val places = mutable.HashMap.empty[ExprId, Int]
    leaf.output.foreach(a => places.getOrElseUpdate(a.exprId, places.size))
    Form(table(leaf), steps(plan, places))
  }

  private def table(leaf: LeafNode): Any = leaf match {
    case r: LogicalRelation          => (relation(r), r.isStreaming, r.output.map(_.name))
    case r: DataSourceV2ScanRelation => (r.relation.table, r.scan, r.output.map(_.name))
    case other                       => other.canonicalized
  }

  private def relation(r: LogicalRelation): Any = r.relation match {
    case f: HadoopFsRelation =>
      val files = SharedFileIndex.source(f.location) match {
        // Spark compares sets of paths, which takes milliseconds for the partitions of a large table. Of one table with
        // the same predicates, the number of paths and those at the ends tell as much
        case i: InMemoryFileIndex =>
          (LeafNames.identity(r), i.rootPaths.size, i.rootPaths.headOption, i.rootPaths.lastOption)
        case other => other
      }
      (files, f.partitionSchema, f.dataSchema, f.bucketSpec, f.fileFormat, f.options)
    case other => other
  }

  private def steps(plan: LogicalPlan, places: mutable.Map[ExprId, Int]): Vector[Seq[Any]] = plan match {
    case Project(list, child) =>
      val below = steps(child, places)
      // columns computed here have no place yet
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
