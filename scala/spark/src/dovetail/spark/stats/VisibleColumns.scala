package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LeafNode, LogicalPlan, Project}
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * The columns of a plan's tables that a size can depend on. Spark prunes columns by projections: the table below one
 * still has all of its columns, some dozen in a warehouse, and the query reads a few of them. Above the projection, or
 * a grouping, nobody sees the others, so they need no profile.
 *
 * One object serves one run of the rule. It knows tables by identity.
 */
final private[stats] class VisibleColumns {
  private val seen = new IdentityHashMap[LeafNode, AttributeSet]

  /** The visible columns of a leaf: all of them, unless the leaf is a table of a plan that was registered. */
  def apply(leaf: LeafNode): Seq[Attribute] = {
    val columns = seen.get(leaf)
    if (columns == null) leaf.output else leaf.output.filter(columns.contains)
  }

  def learnFrom(plan: LogicalPlan): Unit = visit(plan, None)

  /** @param read columns that operators above see, if a projection or a grouping is among them */
  private def visit(plan: LogicalPlan, read: Option[AttributeSet]): Unit = plan match {
    case r: LogicalRelation   => add(r, read)
    case r: HiveTableRelation => add(r, read)
    case f: Filter            => visit(f.child, read.map(_ ++ f.references))
    case p: Project           => visit(p.child, Some(p.references))
    case a: Aggregate         => visit(a.child, Some(a.references))
    case other                => other.children.foreach(visit(_, None))
  }

  /** The same table may be a part of the plan several times. */
  private def add(table: LeafNode, read: Option[AttributeSet]): Unit = {
    val columns = read.getOrElse(table.outputSet)
    seen.put(table, Option(seen.get(table)).fold(columns)(_ ++ columns))
    ()
  }
}
