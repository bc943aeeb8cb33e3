package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.{Cost, JoinMethod}
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
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.cluster.ClusterCosts
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, ExpressionText}
import org.apache.spark.sql.dovetail.report.{EarlyMark, GroupAtRun, JoinReport, QError, RunTimeOrder}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage => AdaptiveStage, QueryStageExec}

/**
 * Decides on the order of one chain of joins while its query runs. Uses the planner's own estimates, but replaces the
 * estimated rows of inputs that have been computed by their counted rows. How often the rows find join partners remains
 * an estimate. So the order changes only if the counted rows are news (some input has [[ChainDecision.News]] times its
 * estimated rows, or as many times fewer), and if the gain exceeds the required minimum.
 *
 * If an input already filters the probe's scan (dynamic pruning, Bloom filters), its join does not reduce the probe's
 * rows again. The rows of the probe are counted as if it had been joined with this input.
 *
 * @param plan plan in the new order; None if the order stays
 */
final class ChainDecision private (val chain: BroadcastChain, val plan: Option[LogicalPlan])

object ChainDecision {

  /**
   * Factor by which an input's rows must differ from their estimate. If the estimates are right, the search has already
   * weighed the order, and it knows more than rows (widths, memory, pruning). A smaller difference is within the error
   * of any estimate.
   */
  private val News = 1.5

  /** Most differing inputs that a reason names. */
  private val Named = 3

  /** None if the chain's inputs are not disjoint sets of the group's relations. */
  def apply(
      session: SparkSession,
      chain: BroadcastChain,
      group: GroupAtRun,
      graph: JoinGraph
  ): Option[ChainDecision] = {
    val inputs = chain.probe +: chain.joins.map(_.build)
    val sets   = inputs.map(p => group.relationsOf(columns(p)))
    // estimates do not apply to rows that are grouped early
    val merged = inputs.exists(operators(_).exists(EarlyMark.isOn(_: LogicalPlan)))
    if (merged || sets.exists(_.isEmpty) || sets.map(_.size).sum != sets.reduce(_ ++ _).size) None
    else if (!chain.ready) Some(new ChainDecision(chain, None))
    else Some(new Weighing(session, chain, group, graph, inputs.zip(sets)).decision)
  }

  final private class Weighing(
      session: SparkSession,
      chain: BroadcastChain,
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
      QError(estimated(set), rows) >= News
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

    private def relations(joined: Long): Array[Int] = {
      PlanningTime.check()
      val set =
        builds.indices.foldLeft(probe ++ pruning)((s, i) => if ((joined >>> i & 1L) == 0L) s else s ++ builds(i))
      set.toArray.sorted
    }

    private lazy val constants = ClusterCosts(session, conf)

    private def cost(in: Double, out: Double) =
      Cost(hash = in * constants.hashProbe, output = out * constants.rowProduced)

    private def rows(joined: Long): Double = { val set = relations(joined); known.sizeOf(set, set.length).rows }

    private lazy val orders =
      new ChainOrder(builds.size, chain.needs, rows, (in, out) => cost(in, out).total)

    def decision: ChainDecision = {
      val planned = builds.indices.toVector
      if (news.isEmpty) kept("its inputs have about the rows that were estimated")
      else {
        val best = orders.best
        val gain = 1.0 - orders.costOf(best) / math.max(orders.costOf(planned), Double.MinPositiveValue)
        val need = DovetailConf.MinGain.get(conf)
        if (best == planned) kept(s"it is still the best one with $differences")
        else if (gain <= 0.0 || gain < need)
          kept(f"no other order saves ${need * 100}%.1f %% of the work of these joins with $differences")
        else changed(best, f"$differences; saves ${gain * 100}%.1f %% of the work of these joins")
      }
    }

    private def differences: String = {
      val shown = news.sortBy { case (set, rows) => -QError(estimated(set), rows) }.take(Named).map {
        case (set, rows) =>
          f"$rows%.0f rows of ${set.toVector.sorted.map(group.names).mkString(" and ")}, estimated ${estimated(set)}%.0f"
      }
      (shown ++ (if (news.size > Named) Vector(s"${news.size - Named} more") else Vector.empty)).mkString(", ")
    }

    /** The decision of an earlier run of this rule for the chain. It has the order as planned. */
    private lazy val first: Option[RunTimeOrder] = chain.joins.flatMap(j => RunTimeOrder.of(j.join)).headOption

    private def kept(why: String): ChainDecision = {
      if (first.isEmpty) group.kept = Some(RunTimeOrder(ids, Some(text(builds.indices.toVector)), None, why))
      new ChainDecision(chain, None)
    }

    private def changed(order: Vector[Int], why: String): ChainDecision = {
      val planned  = builds.indices.toVector
      val replaced = first.fold(Set.empty[Set[String]])(_.replaced) ++ sets(planned).map(_.map(group.names))
      val told     = RunTimeOrder(
        ids,
        first.filter(_.columns == ids).flatMap(_.planned).orElse(Some(text(planned))),
        Some(text(order)),
        why,
        reports(order),
        replaced
      )
      new ChainDecision(chain, Some(chain.inOrder(order, RunTimeOrder.mark(_, told))))
    }

    private def ids: Set[ExprId] = (probe ++ builds.flatten).flatMap(group.columns(_))

    /** The sets of relations after each join of an order. */
    private def sets(order: Vector[Int]): Vector[Set[Int]] = order.scanLeft(probe)((s, i) => s ++ builds(i)).tail

    private def reports(order: Vector[Int]): Vector[JoinReport] = order.indices.toVector.map { n =>
      val done      = order.take(n).foldLeft(0L)((m, i) => m | 1L << i)
      val join      = chain.joins(order(n)).join
      val (in, out) = (rows(done), relations(done | 1L << order(n)))
      val all       = sets(order)(n)
      JoinReport(
        kind(join.joinType),
        all.toVector.sorted.map(group.names),
        Vector(if (n == 0) shape(chain.probe).render(group.names) else s"($n)", name(order(n))),
        join.condition.fold("")(Conjuncts(_).map(conjunct).mkString(" AND ")),
        known.estimate(out),
        JoinMethod.BroadcastRight.name,
        cost(in, known.sizeOf(out, out.length).rows)
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

  private def rowsOf(plan: LogicalPlan): Option[Double] = plan match {
    case s: AdaptiveStage =>
      s.physicalPlan match {
        case q: QueryStageExec if q.isMaterialized => s.stats.rowCount.map(_.toDouble)
        case _                                     => None
      }
    case _ => None
  }

  /** All operators of a plan, including those of stages that have run. */
  private def operators(plan: LogicalPlan): Vector[LogicalPlan] = plan match {
    case s: AdaptiveStage => s +: operators(s.logicalPlan)
    case p                => p +: p.children.toVector.flatMap(operators)
  }

  /** Columns of all operators of a plan. */
  def columns(plan: LogicalPlan): Set[ExprId] = operators(plan).flatMap(_.output.map(_.exprId)).toSet

  /** For each filter of a plan that was derived from other inputs, the columns of these inputs. */
  private def filters(plan: LogicalPlan): Vector[Set[ExprId]] =
    operators(plan).flatMap(_.expressions).flatMap(_.collect {
      case e: DynamicPruning          => e: Expression
      case e: BloomFilterMightContain => e: Expression
    }).map(_.collect { case e: PlanExpression[_] => e.plan }.collect { case p: LogicalPlan =>
      columns(p)
    }.flatten.toSet)
}
