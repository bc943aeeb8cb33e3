package org.apache.spark.sql.dovetail.group

import java.util.Locale

import org.apache.spark.sql.catalyst.plans.logical.{HintInfo, Join, JoinHint, LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.leaf.LeafNames

/** Describes, for explain, the joins that a Spark hint (BROADCAST, MERGE, …) excludes from their join group. */
object HintedJoins {

  /** Fewest inputs of a join group in which there is something to reorder. */
  private val Fewest = 3

  /** Most tables that a sentence names for one side of a join. */
  private val MostNamed = 3

  /** One sentence per hint. Empty if the plan has no joins to reorder even without hints. */
  def apply(plan: LogicalPlan): Vector[String] = {
    val hinted = plan.collectWithSubqueries { case j: Join if JoinGroup.hasStrategy(j.hint) => j }.toVector
    if (hinted.isEmpty || !hasGroup(unhinted(plan))) Vector.empty
    else hinted.flatMap(j => sides(j).map { case (side, hint) => sentence(called(side, j), hint) }).distinct
  }

  private def sides(j: Join): Vector[(LogicalPlan, HintInfo)] =
    Vector(j.left -> j.hint.leftHint, j.right -> j.hint.rightHint).collect {
      case (side, Some(hint)) if hint.strategy.isDefined => side -> hint
    }

  private def sentence(called: String, hint: HintInfo): String = {
    val name = hint.strategy.fold("")(_.displayName.toUpperCase(Locale.ROOT))
    s"The hint $name on $called fixes the place of its join: Dovetail does not reorder joins with a Spark hint."
  }

  /** The name of a side: its table and alias, or the names of its tables if it has several. */
  private def called(side: LogicalPlan, join: Join): String = GroupNames.label(side, join.condition).getOrElse {
    val tables = side.collectLeaves().collect { case l: LeafNode => LeafNames.name(l) }.distinct
    val more   = if (tables.size > MostNamed) ", …" else ""
    s"${tables.take(MostNamed).mkString(", ")}$more"
  }

  private def unhinted(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case j: Join if JoinGroup.hasStrategy(j.hint) => j.copy(hint = JoinHint.NONE) }

  private def hasGroup(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries { case JoinGroup(g) => g.leaves.size }.exists(_ >= Fewest)
}
