package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.Reducer
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._

/**
 * The part of a report that describes a Bloom filter on an input.
 *
 * @param input  name of the input that the filter is applied to
 * @param by     names of the inputs that the filter's keys come from
 * @param on     key columns of both sides
 * @param kept   estimated share of the input's rows that pass
 * @param keys   columns of the input that the filter looks up; they identify the filter in the executed plan
 * @param actual share of the rows that passed in a run, if it is known
 */
final case class ReducerReport(
    input: String,
    by: Vector[String],
    on: String,
    kept: Double,
    keys: Set[Long],
    actual: Option[Double] = None
)

object ReducerReport {
  def apply(graph: JoinGraph, r: Reducer): ReducerReport = {
    def member(c: Int, of: Int) = graph.keys(c).memberOf(of).get
    ReducerReport(
      graph.relations(r.reduced).name,
      r.by.map(graph.relations(_).name),
      r.keys.map { case (c, by) => s"${member(c, r.reduced).text} = ${member(c, by).text}" }.mkString(" AND "),
      r.kept,
      r.classes.flatMap(member(_, r.reduced).columns).toSet
    )
  }
}

/**
 * Adds to reports the share of rows that each Bloom filter let pass in a run. A filter is identified by the columns
 * that it looks up. Spark merges all filters on an input into one operator, which counts the rows that pass all of
 * them. So the share is known only if the Bloom filter is the only condition except checks for NULL.
 */
object ActualReducers {

  def apply(plan: SparkPlan, groups: Vector[GroupReport]): Vector[GroupReport] = {
    val kept = shares(plan).toMap
    if (kept.isEmpty) groups
    else groups.map { g =>
      def counted(t: TreeReport) =
        t.copy(reducers = t.reducers.map(r => r.copy(actual = kept.get(r.keys))))
      g.copy(before = g.before.map(counted), after = g.after.map(counted))
    }
  }

  private def shares(plan: SparkPlan): Vector[(Set[Long], Double)] = {
    val p    = ExecutedPlan.operator(plan)
    val here = p match {
      case f: FilterExec =>
        for (keys <- lookedUp(f.condition); in <- rowsInto(f.child); out <- rowsOf(f) if in > 0L)
          yield keys -> out.toDouble / in
      case _ => None
    }
    here.toVector ++ (p.children ++ p.subqueries).flatMap(shares)
  }

  /** The columns that a Bloom filter looks up, if the condition consists of one Bloom filter and checks for NULL. */
  private def lookedUp(condition: Expression): Option[Set[Long]] =
    conjuncts(condition).filterNot(_.isInstanceOf[IsNotNull]) match {
      case Vector(b: BloomFilterMightContain) => Some(b.right.references.map(_.exprId.id).toSet)
      case _                                  => None
    }

  private def conjuncts(e: Expression): Vector[Expression] = e match {
    case And(l, r) => conjuncts(l) ++ conjuncts(r)
    case other     => Vector(other)
  }

  private def rowsInto(child: SparkPlan): Option[Long] = child match {
    case _: InputAdapter | _: WholeStageCodegenExec | _: ProjectExec => child.children.headOption.flatMap(rowsInto)
    case other                                                       => rowsOf(other)
  }

  private def rowsOf(p: SparkPlan): Option[Long] = p.metrics.get("numOutputRows").map(_.value)
}
