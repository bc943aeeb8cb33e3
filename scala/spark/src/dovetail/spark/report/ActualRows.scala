package org.apache.spark.sql.dovetail.report

import java.util.IdentityHashMap

import scala.collection.mutable

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  BloomFilterMightContain,
  DynamicPruning,
  Expression,
  ExprId
}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.dovetail.base.KeyRangeFilter
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.command.DataWritingCommandExec
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec
import org.apache.spark.sql.execution.exchange.{
  BroadcastExchangeLike,
  Exchange,
  ReusedExchangeExec,
  ShuffleExchangeLike
}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExec

/**
 * Finds the joins and relations of a trace in the executed plan, and reads how many rows each of them returned.
 *
 * A join is identified by the relations below it, and a relation by its columns. Spark's rules move, merge and rename
 * operators between our rule and the executed plan, but a column that is read keeps its ID. Filters directly above a
 * join count with the join, as they do in its estimate. Two kinds of joins have no rows here: a join inside an exchange
 * that is reused with other columns ran elsewhere, and a join that adaptive execution found to be empty did not run.
 *
 * A relation has rows only if a join above it joins it with another relation of its group. If adaptive execution has
 * removed that join, the operators above the relation are those of the query, and they return other rows.
 *
 * A count is complete if the operator was read to its end, exactly once. It is not complete below a limit, below a
 * sort-merge join (which stops when one side ends), and below a global sort (which runs its input a second time to find
 * its ranges). An exchange reads its input to the end, whatever is above it. At and above a filter that Spark takes
 * from another input (dynamic pruning, Bloom filters), only sets that contain this input are complete. Above an early
 * grouping nothing is counted. Above an empty relation that replaces a part of the plan nothing is complete, because
 * the replaced part may have had more relations than the columns show. A join one of whose inputs already has all
 * relations of a group is none of that group's joins: it is part of the query around the group.
 */
object ActualRows {

  /** @param drained whether the whole output of the plan was read, exactly once */
  def apply(plan: SparkPlan, groups: Vector[GroupReport], drained: Boolean = true): Vector[GroupReport] = {
    val found = new Walk(groups.map(_.relations.map(_.columns)), mayReduceBySemiJoins(plan))
    found(plan, drained)
    val atRun = GroupAtRun.report(plan)
    groups.zipWithIndex.map { case (g, i) =>
      atRun(g).withActual(found.rows.collect { case ((`i`, set), c) => set -> c }.toMap)
    }
  }

  /**
   * The same for a plan that a listener got after a run, when another run of it may have started. The plan of a command
   * runs once, or not at all: a write that skips a target which exists is reported like one that has written no rows.
   *
   * @return None if the metrics are not those of the first run
   */
  def ofFirstRun(plan: SparkPlan, groups: Vector[GroupReport]): Option[Vector[GroupReport]] = {
    val counted = apply(plan, groups, drained = RunMarks.coverLastStage(plan) || RunMarks.hasWritten(plan))
    // the marks are read last, so that a reset during the walk is seen
    if (RunMarks.isFirstRun(plan)) Some(counted) else None
  }

  /**
   * Rows that an operator returned.
   *
   * @param complete whether the operator was read to its end, exactly once
   */
  final case class Count(rows: Long, complete: Boolean)

  /** A set of relations of one group: number of the group, numbers of the relations. */
  private type Key = (Int, Set[Int])

  /**
   * Findings about the subtree below an operator, including the operator.
   *
   * @param inputs   relations whose columns appear in the subtree, each as (number of the group, number of the
   *                 relation)
   * @param singles  counts of relations that no join has confirmed yet
   * @param open     joins whose row count a filter directly above them still replaces
   * @param filters  columns of the input that a filter was taken from, one set for each such filter
   * @param merged   whether an early grouping ([[EarlyMark]]) has merged rows, so that row counts no longer match the
   *                 relations
   * @param replaced whether an empty relation may stand for a part of the plan
   */
  final private case class Below(
      inputs: Set[(Int, Int)],
      singles: Map[Key, Count],
      open: Vector[Key],
      filters: Vector[Set[ExprId]],
      merged: Boolean,
      replaced: Boolean
  )

  /**
   * @param relations columns of the relations of each group
   * @param semiJoins whether a semi join with the columns of both inputs of a join may be below this join
   */
  final private class Walk(relations: Vector[Vector[Set[ExprId]]], semiJoins: Boolean) {
    val rows = mutable.LinkedHashMap.empty[Key, Count]

    // indexed by column, because a query may have hundreds of groups, and Spark's other listeners wait for this walk
    private val places: Map[ExprId, Vector[(Int, Int)]] =
      (for ((columns, g) <- relations.zipWithIndex; (ids, r) <- columns.zipWithIndex; id <- ids) yield id -> ((g, r)))
        .groupBy(_._1).map { case (id, found) => id -> found.map(_._2) }

    // a reused exchange is a part of the plan several times
    private val exchanges = new IdentityHashMap[SparkPlan, Below]

    /** @param drained whether all output of the operator is read, exactly once */
    def apply(plan: SparkPlan, drained: Boolean): Below = ExecutedPlan.operator(plan) match {
      case r: ReusedExchangeExec =>
        val below = apply(r.child, drained = false)
        if (r.output.map(_.exprId) == r.child.output.map(_.exprId)) below
        else below.copy(inputs = placesOf(r), singles = Map.empty, open = Vector.empty)
      case e: Exchange => exchanges.computeIfAbsent(e, walked(_, drained))
      case p           => walked(p, drained)
    }

    private def walked(p: SparkPlan, drained: Boolean): Below = {
      val children = if (p.isInstanceOf[ReusedSubqueryExec]) Nil else p.children.toVector
      val below    = children.zipWithIndex.map { case (c, i) => apply(c, drains(p, i, drained)) }.toVector
      // after the children: a subquery that makes a filter may repeat a part of the plan, whose own counts come first
      p.subqueries.foreach(apply(_, drained = true))
      val inputs                 = below.foldLeft(placesOf(p))(_ ++ _.inputs)
      val filters                = below.flatMap(_.filters) ++ filtersOf(p)
      val merged                 = EarlyMark.isOn(p) || (!p.isInstanceOf[BaseAggregateExec] && below.exists(_.merged))
      val replaced               = mayReplace(p) || below.exists(_.replaced)
      val sets                   = made(inputs)
      val own                    = if (merged) Vector.empty else sets
      val all                    = (drained || p.isInstanceOf[BroadcastExchangeLike]) && !replaced && !semiJoins
      def count(key: Key): Count =
        Count(p.metrics("numOutputRows").value, all && filters.forall(from(key, _)))
      val (singles, open) = p match {
        case _: BaseJoinExec =>
          def isOf(key: Key) = key._2.size > 1 && !below.exists(b => key._2.forall(r => b.inputs((key._1, r))))
          val joined         = sets.filter(isOf).map(_._1).toSet
          for (b <- below; (key, c) <- b.singles if joined(key._1) && !rows.contains(key)) rows(key) = c
          val keys = own.filter(key => isOf(key) && !rows.contains(key))
          keys.foreach(key => rows(key) = count(key))
          (Map.empty[Key, Count], keys)
        case _ =>
          val counted =
            if (p.isInstanceOf[UnionExec] || !p.metrics.contains("numOutputRows")) Map.empty[Key, Count]
            else own.filter(_._2.size == 1).map(key => key -> count(key)).toMap
          val still = p match {
            // the filter is not a part of the group, so nobody knows whose rows these are
            case f: FilterExec if readsComputed(f.child) =>
              below.head.open.foreach(key => rows(key) = rows(key).copy(complete = false)); below.head.open
            case _: FilterExec => below.head.open.foreach(key => rows(key) = count(key)); below.head.open
            case _: ProjectExec | _: WholeStageCodegenExec | _: InputAdapter => below.head.open
            case _                                                           => Vector.empty[Key]
          }
          (carried(p, below) ++ counted, still)
      }
      Below(inputs, singles, open, filters, merged, replaced)
    }

    /**
     * The counts of relations that an operator takes over from its children. A union returns the rows of all its
     * children, and not all Spark versions count them at the union.
     */
    private def carried(p: SparkPlan, below: Vector[Below]): Map[Key, Count] = p match {
      case _ if below.size == 1 => below.head.singles
      case _: UnionExec         =>
        val counts = below.map(_.singles)
        val common = counts.map(_.keySet).reduceOption(_ intersect _).getOrElse(Set.empty[Key])
        common.iterator.map { key =>
          val of = counts.map(_(key)); key -> Count(of.map(_.rows).sum, of.forall(_.complete))
        }.toMap
      case _ => Map.empty
    }

    private def placesOf(p: SparkPlan): Set[(Int, Int)] =
      p.output.iterator.flatMap(a => places.getOrElse(a.exprId, Vector.empty)).toSet

    /** Splits the inputs into one set of relations per group. */
    private def made(inputs: Set[(Int, Int)]): Vector[Key] =
      inputs.groupBy(_._1).map { case (group, all) => (group, all.map(_._2)) }.toVector.sortBy(_._1)

    /** Whether a filter was taken from relations of this group, and the set contains all of them. */
    private def from(key: Key, filter: Set[ExprId]): Boolean = {
      val sources = within(relations(key._1), filter)
      sources.nonEmpty && sources.subsetOf(key._2)
    }

    private def within(columnsOf: Vector[Set[ExprId]], columns: Set[ExprId]): Set[Int] =
      columnsOf.indices.filter(i => columnsOf(i).exists(columns)).toSet
  }

  /**
   * Whether the rows of this operator may be fewer than those of the relation that it stands for: adaptive execution
   * may have put it in place of a part of the plan that has no rows, or Spark has pushed a LIMIT of the query down to
   * it.
   */
  private def mayReplace(p: SparkPlan): Boolean = p match {
    case _: LocalTableScanExec | _: LimitExec => true
    // a class that Spark 3.5 does not have
    case _ => p.nodeName == "EmptyRelation"
  }

  /**
   * Whether a projection computes columns below an operator and above the next join. From Spark 4.2 on, a filter on
   * such a column stays above it if the column is expensive.
   */
  private def readsComputed(p: SparkPlan): Boolean = p match {
    case p: ProjectExec => p.projectList.exists {
        case Alias(_: Attribute, _) | _: Attribute => false
        case _                                     => true
      } || readsComputed(p.child)
    case _: WholeStageCodegenExec | _: InputAdapter => readsComputed(p.children.head)
    case _                                          => false
  }

  /**
   * Whether an operator reads an input to its end, exactly once. `drained` says the same of the operator's own output.
   */
  private def drains(p: SparkPlan, input: Int, drained: Boolean): Boolean = p match {
    case _: BroadcastExchangeLike => true
    case e: ShuffleExchangeLike   => !e.outputPartitioning.isInstanceOf[RangePartitioning]
    case j: SortMergeJoinExec     => drained && readsAll(j.joinType, input)
    // a nested loop join that returns unmatched rows of the build side runs the other side twice
    case j: BroadcastNestedLoopJoinExec                       => drained && j.joinType.isInstanceOf[InnerLike]
    case _: CartesianProductExec                              => false
    case t: TakeOrderedAndProjectExec                         => drained && t.child.outputOrdering.isEmpty
    case j: HashJoin if isStreamed(j, input) && needsBuilt(j) => drained && hasBuilt(j)
    case _: BaseJoinExec | _: FilterExec | _: ProjectExec | _: SortExec | _: WholeStageCodegenExec | _: InputAdapter |
        _: BaseAggregateExec | _: WindowExec | _: GenerateExec | _: ExpandExec | _: ColumnarToRowExec |
        _: AQEShuffleReadExec | _: CoalesceExec | _: DataWritingCommandExec | _: WriteFilesExec | _: V2TableWriteExec =>
      drained
    // a join that Spark has moved below a union appears with the columns of the first branch alone
    case u: UnionExec => drained && !u.conf.getConfString(JoinsBelowUnions, "false").toBoolean
    case _            => false
  }

  private def isStreamed(j: HashJoin, input: Int): Boolean = (j.buildSide == BuildRight) == (input == 0)

  /** Whether a hash join returns nothing without a hash table. It then reads no row of its streamed input. */
  private def needsBuilt(j: HashJoin): Boolean = j.joinType match {
    case _: InnerLike | LeftSemi => true
    case _                       => nullAware(j)
  }

  private def nullAware(j: HashJoin): Boolean = j match {
    case b: BroadcastHashJoinExec => b.isNullAwareAntiJoin
    case _                        => false
  }

  /** Whether the hash table certainly had rows. Each task of a shuffled join has a table of its own. */
  private def hasBuilt(j: HashJoin): Boolean = j match {
    case b: BroadcastHashJoinExec => !b.isNullAwareAntiJoin && built(if (b.buildSide == BuildRight) b.right else b.left)
    case _                        => false
  }

  private def built(plan: SparkPlan): Boolean = ExecutedPlan.operator(plan) match {
    case a: InputAdapter          => built(a.child)
    case r: ReusedExchangeExec    => built(r.child)
    case e: BroadcastExchangeLike => e.metrics.get("numOutputRows").exists(_.value > 0L)
    case _                        => false
  }

  /** Setting of Spark, from 4.2 on: a join with a union may become a union of joins. */
  private val JoinsBelowUnions = "spark.sql.optimizer.pushDownJoinThroughUnion.enabled"

  /** Whether a runtime filter may be a semi join, as in Spark 3.5 with a setting. */
  private def mayReduceBySemiJoins(plan: SparkPlan): Boolean =
    plan.conf.getConfString("spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled", "false").toBoolean

  /**
   * Whether a sort-merge join reads an input to its end. It stops with the other side, unless it returns unmatched
   * rows.
   */
  private def readsAll(kind: JoinType, input: Int): Boolean = kind match {
    case FullOuter                               => true
    case LeftOuter | LeftAnti | ExistenceJoin(_) => input == 0
    case RightOuter                              => input == 1
    case _                                       => false
  }

  /** For each filter of an operator that was taken from another input, the columns of that input. */
  private def filtersOf(p: SparkPlan): Vector[Set[ExprId]] =
    p.expressions.flatMap(_.collect {
      case e: DynamicPruning          => e: Expression
      case e: BloomFilterMightContain => e: Expression
      case e if KeyRangeFilter(e)     => e
    }).toVector.map(_.collect { case s: ExecSubqueryExpression => columnsIn(s.plan) }.flatten.toSet)

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
 * The q-error: the factor between an estimated and an actual number of rows (Moerkotte, Neumann and Steidl, PVLDB 2(1),
 * 2009). A number below one counts as one.
 */
object QError {
  def apply(estimated: Double, actual: Double): Double = {
    val (e, a) = (math.max(estimated, 1.0), math.max(actual, 1.0))
    math.max(e / a, a / e)
  }
}

/** A plan that has run or is running. */
object ExecutedPlan {

  /** The physical plan of a query that failed; None if it failed before it had one, because it would be made here. */
  def ofFailed(execution: QueryExecution): Option[SparkPlan] =
    if (execution.tracker.phases.contains(QueryPlanningTracker.PLANNING)) Some(execution.executedPlan) else None

  /** The operator itself, without the query stages and adaptive plans that adaptive execution wraps around it. */
  def operator(p: SparkPlan): SparkPlan = p match {
    case a: AdaptiveSparkPlanExec => operator(a.executedPlan)
    case q: QueryStageExec        => operator(q.plan)
    case other                    => other
  }
}
