package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.group.GroupNames
import org.apache.spark.sql.dovetail.report.Decision
import org.apache.spark.sql.dovetail.stats.CertainRows

/** Reasons against an order, however much it saves. An order that the user asked for is not checked. */
final class OrderVeto(planner: Planner, needed: NeededRows, certain: CertainRows, above: JoinsAbove) {

  /** Why the order must not be taken: its first rows cost too much, or Spark would have to copy a large input. */
  def ofOrder(ready: PreparedGroup, decision: Decision): Option[String] =
    needed.keeps(ready.group.top, decision, planner)
      .orElse(copied(ready, decision))

  private def copied(ready: PreparedGroup, decision: Decision): Option[String] =
    if (!decision.mayBeRefused || !CopiedInputs.possible(decision.outcome.best)) None
    else {
      val top = ready.group.top
      new CopiedInputs(top, ready.group.leaves, planner.builtAsWritten(top))
        .exceeding(
          decision.outcome,
          ready.broadcasts(decision.outcome.best),
          planner.copiedMemory,
          ready.names.shown,
          planner.pricesLoops
        )
    }

  /**
   * Why the order must not be taken: it reads an input that may fail, and that plain Spark does not read in some case,
   * or it does not read one with effects. An order that the user asked for is not checked.
   */
  def ofPlan(
      ready: PreparedGroup,
      optimized: Vector[LogicalPlan],
      decision: Decision,
      written: LogicalPlan,
      rebuilt: => LogicalPlan
  ): Option[String] = {
    val spark = planner.sparkReordering
    if (decision.asked.nonEmpty || !(decision.taken || spark.isOn)) None
    else {
      val plain  = spark(WrittenOrder(ready.group, optimized, marks = false))
      val around = above.of(ready.group.top)
      val leaves = ready.leaves ++ around.inputs
      val names  =
        ready.names.shown ++ around.inputs.map(GroupNames.label(_, None).getOrElse("an input of a join above"))
      val inputs = new SparedInputs(leaves, i => certain.conjuncts(leaves(i)), around.over)
      def plan   = if (decision.taken) rebuilt else written
      inputs.exposed(plain, plan, names).orElse(inputs.skipped(plain, plan, names))
    }
  }
}
