package org.apache.spark.sql.dovetail

import java.util.Locale

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.ExpressionText

/**
 * A logical plan as the text of a small tree: joins, leaves, and the operators that separate groups of joins.
 * Projections, filters and expression IDs are left out.
 */
object PlanText {
  def apply(plan: LogicalPlan): String = lines(plan).mkString("\n")

  private def lines(plan: LogicalPlan): Vector[String] = plan match {
    case j: Join =>
      val hints = Seq(j.hint.leftHint, j.hint.rightHint).flatten.flatMap(_.strategy).map(s =>
        s" hint=$s".toLowerCase(Locale.ROOT)
      ).mkString
      val condition = j.condition.fold("")(c => s": ${ExpressionText(c)}")
      val kind = j.joinType.toString.replaceAll("([a-z])([A-Z])", "$1 $2").takeWhile(_ != '(').toLowerCase(Locale.ROOT)
      s"join $kind$hints$condition" +: indented(
        Seq(
          j.left,
          j.right
        )
      )
    case leaf: LeafNode         => Vector(LeafNames.name(leaf))
    case _: Filter | _: Project => subqueries(plan) ++ plan.children.flatMap(lines)
    case _: LocalLimit          => plan.children.toVector.flatMap(lines)
    case other => other.nodeName.toLowerCase(Locale.ROOT) +: (indented(other.children) ++ subqueries(other))
  }

  private def subqueries(plan: LogicalPlan): Vector[String] =
    plan.subqueries.toVector.flatMap(s => "subquery" +: indented(Seq(s)))

  private def indented(plans: Seq[LogicalPlan]): Vector[String] = plans.toVector.flatMap(lines).map("  " + _)
}
