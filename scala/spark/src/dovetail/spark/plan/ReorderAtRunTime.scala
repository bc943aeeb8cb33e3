package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.report.{GroupAtRun, RunTimeOrder}
import org.apache.spark.sql.dovetail.steer.Steering

/**
 * A rule of adaptive execution: reorders the joins of a running query that have not run yet, by counted rows.
 *
 * It reorders chains of joins ([[JoinChain]]). If all other inputs of a chain are broadcast, its joins are one step,
 * which starts when all broadcasts are complete. So every input is counted before the first row is joined, no work is
 * lost by another order, and the order affects only the number of rows between the joins. [[ChainDecision]] estimates
 * these. If inputs are exchanged, another order may need the joined rows exchanged once more. It is taken if it saves
 * more than that, and Spark accepts it if [[RunTimeCosts]] compares the plans.
 *
 * It changes only groups that Dovetail planned by estimates: no groups with an order that the user asked for, and no
 * groups that were left alone. Spark runs the rule to a fixed point after every stage, so a chain in its best order is
 * returned unchanged. Spark compares the cost of the new plan with that of the old one and validates it, and may keep
 * the old plan.
 */
class ReorderAtRunTime(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(JOIN)) plan
    else FailOpen("reordering joins at run time", (why: String) => asPlanned(plan, why)) {
      if (!DovetailConf.Enabled.get(conf) || plan.isStreaming) plan
      else if (!DovetailConf.AdaptiveReorder.get(conf)) counted(plan)
      else counted(PlanningTime.ofItsOwn(conf)(reordered(plan)).getOrElse(asPlanned(plan, TimeIsUp.reason)))
    }

  /**
   * Tags the joins of the returned plan with their number, because [[JoinChoice]] sees only one join at a time. If that
   * takes too long, no join has a tag, and Spark plans all of them.
   */
  private def counted(plan: LogicalPlan): LogicalPlan = {
    if (DovetailConf.AdaptiveHash.get(conf))
      PlanningTime.ofItsOwn(conf)(ExchangedInputs.count(plan, new Steering(session, plan))).getOrElse(())
    plan
  }

  private def reordered(plan: LogicalPlan): LogicalPlan = {
    val groups = for (g <- GroupAtRun.of(plan); graph <- GroupsAtRun.graph(g)) yield (g, graph)
    if (groups.isEmpty) plan
    else {
      def below(p: LogicalPlan): LogicalPlan =
        if (!p.containsPattern(JOIN)) p
        else decided(p, groups) match {
          case Some(d) if d.plan.isDefined || d.chain.allBroadcast =>
            val inputs = d.chain.probe +: d.chain.joins.map(_.build)
            order(p, d).transformDown { case input if inputs.exists(_ eq input) => below(input) }
          case _ => p.mapChildren(below)
        }
      val result = below(plan)
      if (result eq plan) plan else verified(plan, result)
    }
  }

  /** The decision about the chain that ends with a plan's top; of two decisions, the one that saves more. */
  private def decided(plan: LogicalPlan, groups: Vector[(GroupAtRun, JoinGraph)]): Option[ChainDecision] = {
    PlanningTime.check()
    groups.iterator.map { case (group, graph) =>
      JoinChain.ending(plan, build => group.relationsOf(ChainDecision.columns(build)).nonEmpty)
        .flatMap(ChainDecision(session, _, group, graph))
    }.find(_.nonEmpty).map { decisions =>
      val best = decisions.maxBy(_.gain); best.report(); best
    }
  }

  /** Reorders one chain. Also a hook for tests that need the rule to fail. */
  protected def order(plan: LogicalPlan, decision: ChainDecision): LogicalPlan = decision.plan.getOrElse(plan)

  private def asPlanned(plan: LogicalPlan, why: String): LogicalPlan = {
    FailOpen("telling what happened at run time", (_: String) => ()) {
      GroupAtRun.of(plan).foreach(g => g.kept = Some(RunTimeOrder(g.columns.flatten.toSet, None, None, why)))
    }
    plan
  }

  private def verified(before: LogicalPlan, after: LogicalPlan): LogicalPlan = {
    def joins(plan: LogicalPlan)  = plan.collect { case j: Join => j }.size
    def leaves(plan: LogicalPlan) = plan.collectLeaves().map(System.identityHashCode).sorted
    assert(
      after.resolved && after.output.map(_.exprId) == before.output.map(_.exprId),
      "the plan reordered at run time lost its output"
    )
    assert(
      joins(after) == joins(before) && leaves(after) == leaves(before),
      "the plan reordered at run time lost an input"
    )
    after
  }
}
