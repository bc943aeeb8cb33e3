package org.apache.spark.sql.dovetail.advise

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinPredicates}

/**
 * Finds the columns of a plan's leaves that join sizes depend on: the first step of [[AdviseQuery]], after
 * `Preparation`.
 *
 * These are join keys, and columns of filters and groupings below a join. Groups of columns are join keys of several
 * columns, and columns of one table that are compared with constants together or are grouped by together. Columns that
 * are not below a join do not affect join sizes, and are left out.
 */
final class SizingColumns private {
  import SizingColumns._
  private val origins = mutable.HashMap.empty[Long, Vector[Column]]
  private val found   = mutable.ArrayBuffer.empty[Leaf]

  /** Leaves below joins, in order of appearance. */
  def leaves: Vector[Leaf] = found.toVector

  private def look(plan: LogicalPlan, below: Boolean): Unit = {
    plan match {
      case JoinGroup(g) =>
        g.leaves.foreach(look(_, below = true))
        g.computed.foreach { case (_, a) => origins(a.exprId.id) = sources(a.child) }
        joined(g.leaves, g.conditions.map(_.expression) ++ g.operators.flatMap(_.condition))
      case j: Join =>
        j.children.foreach(look(_, below = true))
        joined(j.children.toVector, j.condition.toVector)
      case leaf: LeafNode =>
        leaf.output.foreach(a => origins(a.exprId.id) = Vector(Column(leaf, a.name)))
        if (below) found += new Leaf(leaf)
      case other =>
        other.children.foreach(look(_, below))
        derive(other)
        if (below) looked(other)
    }
    // subqueries are separate plans with their own joins
    plan.subqueries.foreach(look(_, below = false))
  }

  private def joined(inputs: Vector[LogicalPlan], conditions: Vector[Expression]): Unit = {
    conditions.foreach(mention)
    conditions.flatMap(_.collect { case s: SubqueryExpression => s.plan }).foreach(look(_, below = false))
    val predicates = JoinPredicates.together(inputs.map(_.outputSet), conditions)
    val keys       = inputs.indices.map(i => predicates.members.map(_.find(_.relation == i).map(_.expression)))
    for (i <- inputs.indices; k <- inputs.indices if i != k)
      group(keys(i).zip(keys(k)).collect { case (Some(mine), Some(_)) => mine })
  }

  private def looked(plan: LogicalPlan): Unit = plan match {
    case f: Filter =>
      mention(f.condition)
      group(Conjuncts(f.condition).collect {
        case EqualTo(a: Attribute, c) if c.foldable            => a
        case EqualTo(c, a: Attribute) if c.foldable            => a
        case In(a: Attribute, list) if list.forall(_.foldable) => a
        case InSet(a: Attribute, _)                            => a
      })
    case a: Aggregate =>
      a.groupingExpressions.foreach(mention)
      if (a.child.collectLeaves().size == 1) group(a.groupingExpressions)
    case _ =>
  }

  private def mention(e: Expression): Unit = sources(e).foreach(c => leafOf(c.leaf).foreach(_.add(c.name)))

  /** Adds a group of columns, if they are two or more columns of one leaf. */
  private def group(expressions: Seq[Expression]): Unit = {
    val columns = expressions.flatMap { case a: Attribute => origins.get(a.exprId.id); case _ => None }.filter(
      _.size == 1
    ).map(_.head)
    columns.map(_.leaf).headOption.foreach { leaf =>
      val names = columns.filter(_.leaf eq leaf).map(_.name).distinct
      if (names.size > 1 && names.size == expressions.size) leafOf(leaf).foreach(_.addGroup(names.toVector))
    }
  }

  private def leafOf(leaf: LeafNode): Option[Leaf]   = found.find(_.node eq leaf)
  private def sources(e: Expression): Vector[Column] =
    e.references.toVector.flatMap(a => origins.getOrElse(a.exprId.id, Vector.empty)).distinct

  /** Records which leaf columns the new columns of an operator are computed from. */
  private def derive(plan: LogicalPlan): Unit = plan match {
    case u: Union => u.output.indices.foreach(i =>
        origins(u.output(i).exprId.id) = u.children.toVector.flatMap(c => sources(c.output(i))).distinct
      )
    case e: Expand => e.output.indices.foreach(i =>
        origins(e.output(i).exprId.id) = e.projections.toVector.flatMap(p => sources(p(i))).distinct
      )
    case other => other.expressions.foreach(_.foreach {
        case a: Alias => origins(a.exprId.id) = sources(a.child); case _ =>
      })
  }
}

object SizingColumns {
  final private case class Column(leaf: LeafNode, name: String) {
    // leaves are compared by identity, because a table that is read twice has two leaves
    override def equals(that: Any): Boolean =
      that match { case c: Column => (c.leaf eq leaf) && c.name == name; case _ => false }
    override def hashCode: Int = System.identityHashCode(leaf) * 31 + name.hashCode
  }

  /** A leaf with the columns and groups that matter, in the order of its output. */
  final class Leaf(val node: LeafNode) {
    private val names = mutable.LinkedHashSet.empty[String]
    private val sets  = mutable.LinkedHashSet.empty[Vector[String]]

    private[SizingColumns] def add(name: String): Unit                 = { names += name; () }
    private[SizingColumns] def addGroup(columns: Vector[String]): Unit = { sets += inOrder(columns.toSet); () }

    private def inOrder(columns: collection.Set[String]): Vector[String] =
      node.output.map(_.name).filter(columns).toVector

    def columns: Vector[String]        = inOrder(names)
    def groups: Vector[Vector[String]] = sets.toVector
  }

  def apply(plan: LogicalPlan): Vector[Leaf] = { val l = new SizingColumns; l.look(plan, below = false); l.leaves }
}
