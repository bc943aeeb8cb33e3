package org.apache.spark.sql.dovetail.plan

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.dovetail.leaf.FailingScan
import org.apache.spark.sql.dovetail.plan.JoinsAbove.Surroundings

/**
 * The joins above a group that are no part of it: joins with a hint, and those above an expression that must stay where
 * it is. A broadcast of the group may spare an input of such a join, too ([[SparedInputs]]).
 */
final class JoinsAbove(plan: LogicalPlan) {

  /** The operator above each plan. A plan that occurs twice has none: nobody can tell which one is meant. */
  private lazy val parents: IdentityHashMap[LogicalPlan, Option[LogicalPlan]] = {
    val found                          = new IdentityHashMap[LogicalPlan, Option[LogicalPlan]]
    def visit(plan: LogicalPlan): Unit = plan.children.foreach { child =>
      if (found.containsKey(child)) found.put(child, None)
      else { found.put(child, Some(plan)); visit(child) }
    }
    visit(plan)
    found
  }

  /** The joins up to the next other operator, if reading one of their inputs may fail or may have effects. */
  def of(top: LogicalPlan): Surroundings = {
    val found = joins(top)
    if (found.inputs.exists(i => InputFault.mayFail(i) || i.exists(FailingScan.runsProgram))) found
    else JoinsAbove.none
  }

  private def joins(top: LogicalPlan): Surroundings = Option(parents.get(top)).flatten match {
    case Some(j: Join) =>
      val (outer, left) = (joins(j), j.left eq top)
      new Surroundings(
        (if (left) j.right else j.left) +: outer.inputs,
        inner => outer.over(j.withNewChildren(if (left) Seq(inner, j.right) else Seq(j.left, inner)))
      )
    case Some(p @ (_: Project | _: Filter)) =>
      val outer = joins(p)
      new Surroundings(outer.inputs, inner => outer.over(p.withNewChildren(Seq(inner))))
    case _ => JoinsAbove.none
  }
}

object JoinsAbove {

  /**
   * @param inputs the other inputs of the joins
   * @param over   puts the joins on top of a plan in place of the group
   */
  final class Surroundings(val inputs: Vector[LogicalPlan], val over: LogicalPlan => LogicalPlan)

  private val none = new Surroundings(Vector.empty, identity)
}
