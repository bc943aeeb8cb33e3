package org.apache.spark.sql.dovetail.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Finds the joins of the trace again in the plan that has run, and how many rows came out of them.
 *
 * A join is known by the relations below it, and a relation by its columns: Spark's rules move, merge and rename
 * operators between our rule and the executed plan, yet a column that is read keeps its id. Filters that stay right
 * above a join count with it, as they do in its estimate. A join inside of a reused exchange ran elsewhere, and one
 * that adaptive execution found to be empty did not run: both have no rows here.
 */
object ActualRows {

  /** A join of a group: the group's number, and the relations below. */
  private type Key = (Int, Set[Int])

  def apply(plan: SparkPlan, groups: Vector[GroupReport]): Vector[GroupReport] = {
    val relations = groups.map(_.relations.map(_.columns))
    val rows      = mutable.Map.empty[Key, Long]

    /** The columns of all operators below, and the joins whose rows a filter above still changes. */
    def walk(plan: SparkPlan): (Set[ExprId], Vector[Key]) = {
      val p = ExecutedPlan.operator(plan)
      p.subqueries.foreach(walk)
      val below   = if (p.isInstanceOf[ReusedSubqueryExec]) Nil else p.children.map(walk)
      val columns = below.foldLeft(p.output.map(_.exprId).toSet)(_ ++ _._1)
      val open    = p match {
        case j: BaseJoinExec =>
          val keys = made(columns, relations).filterNot(rows.contains)
          keys.foreach(rows(_) = count(j))
          keys
        case f: FilterExec =>
          below.head._2.foreach(rows(_) = count(f))
          below.head._2
        case _: ProjectExec | _: WholeStageCodegenExec | _: InputAdapter => below.head._2
        case _                                                           => Vector.empty
      }
      (columns, open)
    }
    walk(plan)
    groups.zipWithIndex.map { case (g, i) => g.withActual(set => rows.get((i, set))) }
  }

  /** Joins of the groups that have just these columns below. */
  private def made(columns: Set[ExprId], relations: Vector[Vector[Set[ExprId]]]): Vector[Key] =
    relations.zipWithIndex.flatMap { case (columnsOf, group) =>
      val below = columnsOf.indices.filter(i => columnsOf(i).exists(columns)).toSet
      if (below.size > 1) Some((group, below)) else None
    }

  private def count(p: SparkPlan): Long = p.metrics("numOutputRows").value
}

/**
 * The factor between an estimated and a true number of rows (Moerkotte, Neumann and Steidl, PVLDB 2(1), 2009); no rows
 * count as one.
 */
object QError {
  def apply(estimated: Double, actual: Double): Double = {
    val (e, a) = (math.max(estimated, 1.0), math.max(actual, 1.0))
    math.max(e / a, a / e)
  }
}

/** A plan that has run, or runs. */
object ExecutedPlan {

  /** The operator itself, where adaptive execution has put a stage or a plan of its own in its place. */
  def operator(p: SparkPlan): SparkPlan = p match {
    case a: AdaptiveSparkPlanExec => operator(a.executedPlan)
    case q: QueryStageExec        => operator(q.plan)
    case other                    => other
  }
}
