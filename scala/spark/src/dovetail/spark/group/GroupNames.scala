package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LeafNode, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.dovetail.leaf.LeafNames

/** What people call the relations of a group: in explain, hints and pins. */
object GroupNames {

  /** What people call the leaves of a group, each differently. */
  def apply(group: JoinGroup): Vector[String] = apply(group, group.leaves)

  /** What people call that which took the places of the leaves. */
  def apply(group: JoinGroup, plans: Vector[LogicalPlan]): Vector[String] =
    distinctNames(plans.zip(group.aliases).map { case (plan, alias) =>
      if (LeafNames.below(plan).exists(LeafNames.named(_).isEmpty)) alias.getOrElse(name(plan)) else name(plan)
    })

  /** What people call a leaf of a group: its table, or the operator and the tables below it. */
  def name(plan: LogicalPlan): String = plan match {
    case leaf: LeafNode                            => LeafNames.name(leaf)
    case _: Filter | _: Project | _: SubqueryAlias => name(plan.children.head)
    case j: Join                                   => s"${kind(j.joinType)}(${name(j.left)}, ${name(j.right)})"
    case other                                     =>
      val tables = other.collectLeaves().map(name).distinct
      val more   = if (tables.size > NamesShown) ", …" else ""
      s"${other.nodeName.toLowerCase(java.util.Locale.ROOT)}(${tables.take(NamesShown).mkString(", ")}$more)"
  }

  // an existence join has no SQL of its own, and its text holds an expression id
  private def kind(joinType: JoinType): String = joinType match {
    case _: ExistenceJoin => "existence"
    case other            => other.sql.toLowerCase(java.util.Locale.ROOT).replace(' ', '_')
  }

  /** Tables that a name of an operator lists. */
  private val NamesShown = 3

  /** The second `date_dim` of a query is `date_dim#2`. */
  private def distinctNames(names: Vector[String]): Vector[String] = names.zipWithIndex.map { case (n, i) =>
    val before = names.take(i).count(_ == n)
    if (before == 0) n else s"$n#${before + 1}"
  }
}
