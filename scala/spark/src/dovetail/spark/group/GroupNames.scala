package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LeafNode, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * Names of the inputs of a join group, as explain shows them and as hints and pins use them.
 *
 * @param shown unique names as the query uses them: the alias or the name of a view, otherwise the table
 * @param read  names of the tables; for an input that is an operator, the operator and the tables below it
 */
final case class GroupNames(shown: Vector[String], read: Vector[String]) {

  /** Unique table names: the second `date_dim` is `date_dim#2`. */
  lazy val tables: Vector[String] = GroupNames.different(read)

  def apply(i: Int): String = shown(i)

  /** Table and alias, as a query writes them: `date_dim d1`. */
  def labels: Vector[String] = shown.indices.toVector.map { i =>
    if (shown(i) == tables(i) || shown(i) == read(i)) shown(i) else s"${read(i)} ${shown(i)}"
  }

  /**
   * Per input, the names that an order written by a user may use for it: the name as shown, and the name of the table
   * unless an input is shown under that name.
   */
  def accepted: Vector[Vector[String]] = shown.zip(tables).map { case (name, table) =>
    if (shown.exists(_.equalsIgnoreCase(table))) Vector(name) else Vector(name, table)
  }
}

object GroupNames {

  def apply(group: JoinGroup): GroupNames = apply(group, group.leaves)

  /** Names of the plans that replaced the leaves of the group. */
  def apply(group: JoinGroup, plans: Vector[LogicalPlan]): GroupNames = {
    val tables = plans.map(name)
    val shown  = plans.indices.toVector.map { i =>
      group.aliases(i).filter(alias =>
        isSimple(plans(i)) || !InputAliases.within(plans(i), alias)
      ).fold(tables(i))(_.name)
    }
    GroupNames(different(shown), tables)
  }

  /**
   * Finds the name to write before a column of the inputs `plans` in a condition. Columns of an input that is an
   * operator have no such name.
   */
  def ofColumns(names: Vector[String], plans: Vector[LogicalPlan]): Attribute => Option[String] = {
    val inputs = plans.zipWithIndex.flatMap { case (plan, i) => plan.output.map(_.exprId -> i) }.toMap
    a => inputs.get(a.exprId).map(names).filterNot(_.contains('('))
  }

  /** The name of a leaf of a join group: its table, or the operator and the tables below it. */
  def name(plan: LogicalPlan): String = plan match {
    case leaf: LeafNode                            => LeafNames.name(leaf)
    case _: Filter | _: Project | _: SubqueryAlias => name(plan.children.head)
    case j: Join                                   => s"${kind(j.joinType)}(${name(j.left)}, ${name(j.right)})"
    case other                                     =>
      val tables = other.collectLeaves().map(name).distinct
      val more   = if (tables.size > NamesShown) ", …" else ""
      s"${other.nodeName.toLowerCase(java.util.Locale.ROOT)}(${tables.take(NamesShown).mkString(", ")}$more)"
  }

  /**
   * Table and alias of one side of a join, if this side reads one table. The alias is the one that `condition` uses.
   */
  def label(side: LogicalPlan, condition: Option[Expression]): Option[String] = LeafNames.below(side).map { leaf =>
    val table = LeafNames.name(leaf)
    val alias = InputAliases(Vector(side.outputSet), condition.toSeq, Vector(side)).head.map(_.name)
    alias.filterNot(_ == table).fold(table)(a => s"$table $a")
  }

  private def isSimple(plan: LogicalPlan): Boolean = LeafNames.below(plan).isDefined

  // an existence join has no SQL syntax, and Spark's text for it holds an expression id
  private def kind(joinType: JoinType): String = joinType match {
    case _: ExistenceJoin => "existence"
    case other            => other.sql.toLowerCase(java.util.Locale.ROOT).replace(' ', '_')
  }

  /** Most tables that the name of an operator lists. */
  private val NamesShown = 3

  private def different(names: Vector[String]): Vector[String] = names.zipWithIndex.map { case (n, i) =>
    val before = names.take(i).count(_ == n)
    if (before == 0) n else s"$n#${before + 1}"
  }
}
