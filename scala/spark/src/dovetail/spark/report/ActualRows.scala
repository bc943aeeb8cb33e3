package org.apache.spark.sql.dovetail.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, DynamicPruning, Expression, ExprId}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExec

/**
 * Finds the joins and the relations of the trace again in the plan that has run, and how many rows came out of them.
 *
 * A join is known by the relations below it, and a relation by its columns: Spark's rules move, merge and rename
 * operators between our rule and the executed plan, yet a column that is read keeps its id. Filters that stay right
 * above a join count with it, as they do in its estimate. A join inside of a reused exchange ran elsewhere, and one
 * that adaptive execution found to be empty did not run: both have no rows here.
 *
 * A count is complete where the operator was read to its end, and once: not below a limit, nor below a sort-merge join,
 * which stops when one side ends, nor below a sort of all rows, which runs its input a second time to find its ranges.
 * An exchange reads its input to the end whatever is above. Below a filter that Spark takes from another input (dynamic
 * pruning, Bloom filters), only sets with that input are complete. Above an early grouping nothing is counted.
 */
object ActualRows {

  def apply(plan: SparkPlan, groups: Vector[GroupReport]): Vector[GroupReport] = {
    val found = new Walk(groups.map(_.relations.map(_.columns)))
    found(plan, drained = true)
    val atRun = GroupAtRun.report(plan)
    groups.zipWithIndex.map { case (g, i) =>
      atRun(g).withActual(found.rows.collect { case ((`i`, set), c) => set -> c }.toMap)
    }
  }

  /** Rows that came out of an operator. */
  final case class Count(rows: Long, complete: Boolean)

  /** A set of a group's relations: the group's number, and the relations. */
  private type Key = (Int, Set[Int])

  /**
   * What is below an operator.
   *
   * @param inputs  relations whose columns the operators have, each as (number of its group, its own number)
   * @param open    the joins whose rows a filter above still changes
   * @param filters of the inputs that filters were taken from, their columns
   * @param merged  rows have been grouped ([[EarlyMark]]), and their numbers are no longer those of the relations
   */
  final private case class Below(
      inputs: Set[(Int, Int)],
      open: Vector[Key],
      filters: Vector[Set[ExprId]],
      merged: Boolean
  )

  final private class Walk(relations: Vector[Vector[Set[ExprId]]]) {
    val rows = mutable.LinkedHashMap.empty[Key, Count]

    // a query may have hundreds of groups, and other listeners of Spark's wait for this
    private val places: Map[ExprId, Vector[(Int, Int)]] =
      (for ((columns, g) <- relations.zipWithIndex; (ids, r) <- columns.zipWithIndex; id <- ids) yield id -> ((g, r)))
        .groupBy(_._1).map { case (id, found) => id -> found.map(_._2) }

    /** @param drained all that comes out of the operator is read, once */
    def apply(plan: SparkPlan, drained: Boolean): Below = {
      val p = ExecutedPlan.operator(plan)
      p.subqueries.foreach(apply(_, drained = true))
      val children              = if (p.isInstanceOf[ReusedSubqueryExec]) Nil else p.children.toVector
      val below                 = children.zipWithIndex.map { case (c, i) => apply(c, drains(p, i, drained)) }
      val own                   = p.output.iterator.flatMap(a => places.getOrElse(a.exprId, Vector.empty)).toSet
      val inputs                = below.foldLeft(own)(_ ++ _.inputs)
      val filters               = below.flatMap(_.filters).toVector ++ filtersOf(p)
      val merged                = EarlyMark.isOn(p) || (!p.isInstanceOf[BaseAggregateExec] && below.exists(_.merged))
      val sets                  = if (merged) Vector.empty else made(inputs)
      val all                   = drained || p.isInstanceOf[BroadcastExchangeLike]
      def count(key: Key): Unit =
        rows(key) = Count(p.metrics("numOutputRows").value, all && filters.forall(from(key, _)))
      val open = p match {
        case _: BaseJoinExec =>
          sets.filter(_._2.size == 1).foreach(rows.remove(_))
          val keys = sets.filter(key => key._2.size > 1 && !rows.contains(key))
          keys.foreach(count)
          keys
        case _ =>
          if (p.metrics.contains("numOutputRows")) sets.filter(_._2.size == 1).foreach(count)
          p match {
            case _: FilterExec => below.head.open.foreach(count); below.head.open
            case _: ProjectExec | _: WholeStageCodegenExec | _: InputAdapter => below.head.open
            case _                                                           => Vector.empty
          }
      }
      Below(inputs, open, filters, merged)
    }

    /** Sets of relations, by their groups. */
    private def made(inputs: Set[(Int, Int)]): Vector[Key] =
      inputs.groupBy(_._1).map { case (group, all) => (group, all.map(_._2)) }.toVector.sortBy(_._1)

    /** The set has all relations of its group that a filter was taken from, and there are some. */
    private def from(key: Key, filter: Set[ExprId]): Boolean = {
      val sources = within(relations(key._1), filter)
      sources.nonEmpty && sources.subsetOf(key._2)
    }

    private def within(columnsOf: Vector[Set[ExprId]], columns: Set[ExprId]): Set[Int] =
      columnsOf.indices.filter(i => columnsOf(i).exists(columns)).toSet
  }

  /** Whether an operator reads all of an input, once, if all that comes out of it is read. */
  private def drains(p: SparkPlan, input: Int, drained: Boolean): Boolean = p match {
    case _: BroadcastExchangeLike => true
    case e: ShuffleExchangeLike   => !e.outputPartitioning.isInstanceOf[RangePartitioning]
    case j: SortMergeJoinExec     => drained && readsAll(j.joinType, input)
    // it runs the other side twice where rows of the side that it builds come out without a partner
    case j: BroadcastNestedLoopJoinExec => drained && j.joinType.isInstanceOf[InnerLike]
    case _: CartesianProductExec        => false
    case t: TakeOrderedAndProjectExec   => drained && t.child.outputOrdering.isEmpty
    case _: BaseJoinExec | _: FilterExec | _: ProjectExec | _: SortExec | _: WholeStageCodegenExec | _: InputAdapter |
        _: BaseAggregateExec | _: WindowExec | _: GenerateExec | _: ExpandExec | _: UnionExec | _: ColumnarToRowExec |
        _: AQEShuffleReadExec | _: CoalesceExec => drained
    case _ => false
  }

  /** A sort-merge join ends with the first side that ends, unless rows of the other one come out without a partner. */
  private def readsAll(kind: JoinType, input: Int): Boolean = kind match {
    case FullOuter                               => true
    case LeftOuter | LeftAnti | ExistenceJoin(_) => input == 0
    case RightOuter                              => input == 1
    case _                                       => false
  }

  /** The columns of the inputs that filters of an operator were taken from. */
  private def filtersOf(p: SparkPlan): Vector[Set[ExprId]] =
    p.expressions.flatMap(_.collect { case e: DynamicPruning => e; case e: BloomFilterMightContain => e }).toVector.map(
      e =>
        (e: Expression).collect { case s: ExecSubqueryExpression => columnsIn(s.plan) }.flatten.toSet
    )

  private def columnsIn(plan: SparkPlan): Set[ExprId] = {
    val p     = ExecutedPlan.operator(plan)
    val below = p match {
      case r: ReusedExchangeExec => Seq(r.child)
      case r: ReusedSubqueryExec => Seq(r.child)
      case other                 => other.children
    }
    below.foldLeft(p.output.map(_.exprId).toSet)(_ ++ columnsIn(_))
  }
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
