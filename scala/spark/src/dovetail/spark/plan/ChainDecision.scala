package org.apache.spark.sql.dovetail.plan

import java.util.concurrent.atomic.AtomicLong

import dovetail.kernel.cost.{ChainCosts, Cost, JoinMethod}
import dovetail.kernel.enumerate.{ChainOrder, Shape}
import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.profile.Source
import dovetail.kernel.size.CardinalityModel
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{
  BloomFilterMightContain,
  DynamicPruning,
  EqualTo,
  Expression,
  ExprId,
  PlanExpression
}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{DovetailConf, KeyRangeFilter}
import org.apache.spark.sql.dovetail.cluster.ClusterCosts
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, ExpressionText}
import org.apache.spark.sql.dovetail.report.{EarlyMark, GroupAtRun, JoinReport, QError, ReportNumbers, RunTimeOrder}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage => AdaptiveStage}

/**
 * Decides on the order of one chain of joins while its query runs. Uses the planner's own estimates, but replaces the
 * estimated rows of inputs that have been computed by their counted rows. How often the rows find join partners remains
 * an estimate. So the order changes only if the counted rows are news (some input has [[ChainDecision.LeastQError]]
 * times its estimated rows, or as many times fewer), and if the gain exceeds the required minimum.
 *
 * If some joins are shuffled, a new order may exchange the joined rows once more than the planned one, which is part of
 * its cost. It starts only with inputs that are complete: inputs that are merely estimated must not overtake counted
 * ones, because unknown inputs seem small next to counted ones that turned out large.
 *
 * If an input already filters the probe's scan (dynamic pruning, Bloom filters), its join does not reduce the probe's
 * rows again. The rows of the probe are counted as if it had been joined with this input.
 *
 * @param plan plan in the new order; None if the order stays
 * @param gain share of the cost of the planned order that the new order saves; 0 if the order stays
 * @param kept report on why the order stays; None if it changes, or if it has changed before
 */
final class ChainDecision private (
    val chain: JoinChain,
    val plan: Option[LogicalPlan],
    val gain: Double,
    kept: Option[RunTimeOrder],
    group: GroupAtRun
) {

  /** Reports the decision if the order stays; a new order is reported by the plan that runs. */
  def report(): Unit = if (kept.isDefined) group.kept = kept
}

object ChainDecision {

  /**
   * Factor by which an input's rows must differ from their estimate. If the estimates are right, the search has already
   * weighed the order, and it knows more than rows (widths, memory, pruning). A smaller difference is within the error
   * of any estimate.
   */
  private val LeastQError = 1.5

  /** Most differing inputs that a reason names. */
  private val Named = 3

  /** Number of the latest new order; a later one knows more. */
  private val decisions = new AtomicLong

  /** None if the chain's inputs are not disjoint sets of the group's relations. */
  def apply(
      session: SparkSession,
      chain: JoinChain,
      group: GroupAtRun,
      graph: JoinGraph
  ): Option[ChainDecision] = {
    val inputs = chain.probe +: chain.joins.map(_.build)
    val sets   = inputs.map(p => group.relationsOf(columns(p)))
    // estimates do not apply to rows that are grouped early
    if (inputs.exists(groupsEarly) || sets.exists(_.isEmpty) || sets.map(_.size).sum != sets.reduce(_ ++ _).size) None
    else if (chain.allBroadcast && !chain.joins.forall(_.isReady))
      Some(new ChainDecision(chain, None, 0.0, None, group))
    else Some(new Weighing(session, chain, group, graph, inputs.zip(sets)).decision)
  }

  final private class Weighing(
      session: SparkSession,
      chain: JoinChain,
      group: GroupAtRun,
      graph: JoinGraph,
      inputs: Vector[(LogicalPlan, Set[Int])]
  ) {
    private val conf      = session.sessionState.conf
    private val probe     = inputs.head._2
    private val builds    = inputs.tail.map(_._2)
    private val estimates = new CardinalityModel(graph)

    /**
     * Counted rows of those inputs whose count is that of the input by itself, without filters that come from other
     * inputs.
     */
    private val counted: Vector[(Set[Int], Double)] = inputs.collect {
      case (plan, set) if filters(plan).isEmpty => rowsOf(plan).map(set -> _)
    }.flatten

    private val news: Vector[(Set[Int], Double)] = counted.filter { case (set, rows) =>
      QError(estimated(set), rows) >= LeastQError
    }

    private def estimated(set: Set[Int]): Double = estimates.estimate(set.toArray.sorted).value

    /** Relations that filter the probe's scan, so that they reduce its rows as if they had been joined. */
    private lazy val pruning: Set[Int] =
      filters(chain.probe).map(group.relationsOf).flatMap(by =>
        builds.find(b => by.nonEmpty && by.subsetOf(b))
      ).flatten.toSet

    private lazy val known = new CardinalityModel(
      graph.knowing(counted.map { case (set, rows) =>
        set -> KnownSize.exactly(math.max(rows, 1.0), Source.Exact)
      }.toMap)
    )

    /** These relations, and those of the builds that are joined. */
    private def reached(joined: Long, relations: Set[Int]): Vector[Int] =
      builds.indices.foldLeft(relations)((s, i) => if ((joined >>> i & 1L) == 0L) s else s ++ builds(i)).toVector.sorted

    private def relations(joined: Long): Array[Int] = {
      PlanningTime.check(); reached(joined, probe ++ pruning).toArray
    }

    private lazy val costs = new ChainCosts(ClusterCosts(session, conf))

    private def cost(step: ChainOrder.Step): Cost =
      if (chain.joins(step.next).looksUp) costs.lookedUp(step.in, step.out)
      else costs.merged(step.in, step.out, if (step.moves) Some(width(step.joined)) else None)

    /** Bytes of a row of the probe after the join with these builds. */
    private def width(joined: Long): Double = reached(joined, probe).map(graph.relations(_).width).sum

    private def rows(joined: Long): Double = { val set = relations(joined); known.sizeOf(set, set.length).rows }

    private lazy val orders =
      new ChainOrder(chain.needs, chain.partitionings.needed, chain.partitionings.start, rows, cost(_).total)

    private val planned = builds.indices.toVector

    def decision: ChainDecision =
      if (news.isEmpty) kept("its inputs have about the rows that were estimated")
      else if (first.exists(_.counted == counted.map(_._1).toSet)) kept("nothing more is known since")
      else {
        val best   = orders.best
        val gain   = 1.0 - orders.costOf(best) / math.max(orders.costOf(planned), Double.MinPositiveValue)
        val need   = DovetailConf.MinGain.get(conf)
        val extra  = orders.moves(best) - orders.moves(planned)
        val better = s"$differences; saves ${percent(gain)} of the work of these joins"
        if (best == planned) kept(s"it is still the best one with $differences")
        else if (gain <= 0.0 || gain < need)
          kept(s"no other order saves ${percent(need)} of the work of these joins with $differences")
        else if (!startsComplete(best)) kept(s"inputs that another order would join first are not complete")
        else if (extra > 0 && !RunTimeCosts.isOn(conf)) kept(
          s"the order ${text(best)} needs another exchange, which Spark allows only with ${RunTimeCosts.Advice}"
        )
        else changed(best, gain, if (extra > 0) s"$better, one or more exchanges included" else better)
      }

    /**
     * Whether all builds that a new order joins before it continues as planned are complete, and the probe is, too, if
     * any of these joins is shuffled.
     */
    private def startsComplete(order: Vector[Int]): Boolean = {
      val start = order.take(order.indices.lastIndexWhere(i => order(i) != planned(i)) + 1).map(chain.joins)
      start.forall(_.isReady) && (start.forall(_.isBroadcast) || AdaptiveInput.complete(chain.probe).isDefined)
    }

    private def percent(share: Double): String = ReportNumbers.tenths(share * 100)

    private def differences: String = {
      val shown = news.sortBy { case (set, rows) => -QError(estimated(set), rows) }.take(Named).map {
        case (set, rows) =>
          s"${ReportNumbers.whole(rows)} rows of ${set.toVector.sorted.map(group.names).mkString(" and ")}, " +
            s"estimated ${ReportNumbers.whole(estimated(set))}"
      }
      (shown ++ (if (news.size > Named) Vector(s"${news.size - Named} more") else Vector.empty)).mkString(", ")
    }

    /** The decision of an earlier run of this rule for the chain. It has the order as planned. */
    private lazy val first: Option[RunTimeOrder] = chain.joins.flatMap(j => RunTimeOrder.of(j.join)).headOption

    private def kept(why: String): ChainDecision = {
      val told = if (first.isEmpty) Some(RunTimeOrder(ids, Some(text(planned)), None, why)) else None
      new ChainDecision(chain, None, 0.0, told, group)
    }

    private def changed(order: Vector[Int], gain: Double, why: String): ChainDecision = {
      val replaced = first.fold(Set.empty[Set[String]])(_.replaced) ++ sets(planned).map(_.map(group.names))
      val told     = RunTimeOrder(
        ids,
        first.filter(_.columns == ids).flatMap(_.planned).orElse(Some(text(planned))),
        Some(text(order)),
        why,
        reports(order),
        replaced,
        counted.map(_._1).toSet,
        decisions.incrementAndGet()
      )
      new ChainDecision(chain, Some(chain.inOrder(order, RunTimeOrder.mark(_, told))), gain, None, group)
    }

    private def ids: Set[ExprId] = (probe ++ builds.flatten).flatMap(group.columns(_))

    /** The sets of relations after each join of an order. */
    private def sets(order: Vector[Int]): Vector[Set[Int]] = order.scanLeft(probe)((s, i) => s ++ builds(i)).tail

    private def reports(order: Vector[Int]): Vector[JoinReport] = orders.steps(order).zipWithIndex.map {
      case (step, n) =>
        val link = chain.joins(step.next)
        JoinReport(
          kind(link.join.joinType),
          sets(order)(n).toVector.sorted.map(group.names),
          Vector(if (n == 0) shape(chain.probe).render(group.names) else s"($n)", name(step.next)),
          link.join.condition.fold("")(Conjuncts(_).map(conjunct).mkString(" AND ")),
          known.estimate(relations(step.joined | 1L << step.next)),
          (if (link.looksUp) JoinMethod.BroadcastRight else JoinMethod.SortMerge).name,
          cost(step)
        )
    }

    private def name(build: Int): String = shape(chain.joins(build).build).render(group.names)

    private def text(order: Vector[Int]): String =
      order.foldLeft(shape(chain.probe))((s, i) => Shape.Join(s, shape(chain.joins(i).build))).render(group.names)

    /** The join tree of a plan, as planned. */
    private def shape(plan: LogicalPlan): Shape = {
      val below = group.relationsOf(columns(plan))
      plan match {
        case _ if below.size == 1 => Shape.Leaf(below.head)
        case s: AdaptiveStage     => shape(s.logicalPlan)
        case j: Join              => j.children.filter(c => group.relationsOf(columns(c)).nonEmpty) match {
            case Seq(one) => shape(one)
            case _        => Shape.Join(shape(j.left), shape(j.right))
          }
        case other =>
          other.children.find(c => group.relationsOf(columns(c)) == below).fold[Shape](Shape.Leaf(below.min))(shape)
      }
    }
  }

  private def kind(joinType: JoinType): String = joinType match {
    case LeftOuter | RightOuter => "left outer"
    case LeftSemi               => "semi"
    case LeftAnti               => "anti"
    case _: ExistenceJoin       => "existence"
    case _                      => "inner"
  }

  private def conjunct(e: Expression): String = e match {
    case EqualTo(a, b) => s"${ExpressionText(a)} = ${ExpressionText(b)}"
    case other         => ExpressionText(other)
  }

  private def rowsOf(plan: LogicalPlan): Option[Double] =
    AdaptiveInput.complete(plan).flatMap(_ => plan.stats.rowCount).map(_.toDouble)

  /** All operators of a plan, including those of stages that have run. */
  private def operators(plan: LogicalPlan): Vector[LogicalPlan] = plan match {
    case s: AdaptiveStage => s +: operators(s.logicalPlan)
    case p                => p +: p.children.toVector.flatMap(operators)
  }

  /** Whether rows of a plan are grouped early. */
  def groupsEarly(plan: LogicalPlan): Boolean = operators(plan).exists(EarlyMark.isOn(_: LogicalPlan))

  /** Columns of all operators of a plan. */
  def columns(plan: LogicalPlan): Set[ExprId] = operators(plan).flatMap(_.output.map(_.exprId)).toSet

  /** For each filter of a plan that was derived from other inputs, the columns of these inputs. */
  private def filters(plan: LogicalPlan): Vector[Set[ExprId]] =
    operators(plan).flatMap(_.expressions).flatMap(_.collect {
      case e: DynamicPruning          => e: Expression
      case e: BloomFilterMightContain => e: Expression
      case e if KeyRangeFilter(e)     => e
    }).map(_.collect { case e: PlanExpression[_] => e.plan }.collect { case p: LogicalPlan =>
      columns(p)
    }.flatten.toSet)
}
