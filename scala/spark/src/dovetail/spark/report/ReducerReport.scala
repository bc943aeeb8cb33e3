package org.apache.spark.sql.dovetail.report

import dovetail.kernel.enumerate.Reducer
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._

/**
 * A Bloom filter on an input, for people.
 *
 * @param input  that it keeps rows away from
 * @param by     inputs that its keys come from
 * @param on     the keys, of both sides
 * @param kept   share of the input's rows that pass, as estimated
 * @param keys   columns of the input that are looked up: by them it is found again in the executed plan
 * @param actual the same share in a run, where it can be told
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
    def member(of: Int) = graph.classes(r.equivalence).members.find(_.relation == of).get
    val mine            = member(r.reduced)
    ReducerReport(
      graph.relations(r.reduced).name,
      r.by.map(graph.relations(_).name),
      s"${mine.text} = ${member(r.by.head).text}",
      r.kept,
      mine.columns
    )
  }
}

/**
 * What Bloom filters kept in a run, by the columns that were looked up. Spark makes one operator of all filters of an
 * input, which counts what passes all of them: so it can be told only where a filter stands alone, beside checks for
 * NULL.
 */
object ActualReducers {

  def apply(plan: SparkPlan, groups: Vector[GroupReport]): Vector[GroupReport] = {
    val kept = shares(plan).toMap
    if (kept.isEmpty) groups
    else groups.map { g =>
      def counted(t: TreeReport) =
        t.copy(reducers = t.reducers.map(r => r.copy(actual = r.keys.headOption.flatMap(kept.get))))
      g.copy(before = g.before.map(counted), after = g.after.map(counted))
    }
  }

  private def shares(plan: SparkPlan): Vector[(Long, Double)] = {
    val p    = ExecutedPlan.operator(plan)
    val here = p match {
      case f: FilterExec =>
        for (key <- lookedUp(f.condition); in <- rowsInto(f.child); out <- rowsOf(f) if in > 0L)
          yield key -> out.toDouble / in
      case _ => None
    }
    here.toVector ++ (p.children ++ p.subqueries).flatMap(shares)
  }

  /** The column of the one Bloom filter of a condition. */
  private def lookedUp(condition: Expression): Option[Long] =
    conjuncts(condition).filterNot(_.isInstanceOf[IsNotNull]) match {
      case Vector(b: BloomFilterMightContain) => b.right.references.headOption.map(_.exprId.id)
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
