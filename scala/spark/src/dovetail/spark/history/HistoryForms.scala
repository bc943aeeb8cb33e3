package org.apache.spark.sql.dovetail.history

import org.apache.spark.sql.catalyst.expressions.{Expression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.report.GroupIdentity
import org.apache.spark.sql.dovetail.steer.{GroupForm, PlanForm, SetForm}

/**
 * A group by the keys under which the history knows it. A key is a hash of a canonical form, in which NOT NULL counts:
 * Spark takes rows without a join key out of an input, which changes its number of rows.
 */
final class HistoryForms(group: JoinGroup, predicates: JoinPredicates, form: Boolean => GroupForm) {
  import HistoryForms._

  private lazy val exact = form(true)

  /** By number; none where the relation may be another one next time. */
  lazy val relations: Vector[Option[String]] = group.leaves.indices.toVector.map(i =>
    if (stable(i)) Some(exact.relations(i)).filterNot(hasNoName).map(keyOf) else None
  )

  lazy val whole: Option[GroupIdentity.Whole] = if (joins) key(exact.whole, relations) else None

  /** Without constants; none where there are none. */
  lazy val template: Option[GroupIdentity.Whole] = if (joins) {
    val without = form(false).whole
    if (without.text == exact.whole.text) None
    else key(without, relations).map(w => w.copy(key = s"$Template${w.key}"))
  } else None

  /** Of a set of relations, where all of them and all that joins them can be recognized. */
  def set(of: Vector[Int]): Option[String] =
    if (of.size == 1) relations(of.head) else if (joins) key(exact.formOf(of), of.map(relations)).map(_.key) else None

  private lazy val joins =
    (predicates.members.flatten.map(_.expression) ++ predicates.complex.map(_.expression) ++
      group.operators.flatMap(_.condition)).forall(repeatable)

  private def stable(leaf: Int): Boolean =
    !group.leaves(leaf).exists(_.expressions.exists(!repeatable(_))) &&
      predicates.local.collect { case (`leaf`, e) => e }.forall(repeatable) &&
      group.computed.collect { case (`leaf`, a) => a.child }.forall(repeatable)
}

object HistoryForms {

  /** Relations of a group beyond which its form takes longer than planning should wait for a look-up. */
  val MostRelations = 40

  /** What a plan reads, by names under which people know it. */
  def tables(plan: LogicalPlan): Vector[String] =
    plan.collectLeaves().toVector.collect { case l: LeafNode => l }.map(l =>
      LeafNames.identity(l).getOrElse(LeafNames.name(l))
    ).distinct

  /** The same input has the same answer, in every session. */
  private def repeatable(e: Expression): Boolean =
    e.deterministic && !e.exists(_.isInstanceOf[UserDefinedExpression])

  private def key(form: SetForm, relations: Vector[Option[String]]): Option[GroupIdentity.Whole] =
    if (form.nameless || relations.exists(_.isEmpty)) None else Some(GroupIdentity.Whole(keyOf(form.text), form.order))

  private def hasNoName(text: String): Boolean = text.contains(PlanForm.Nameless)

  /** Keys of groups without constants begin with it. */
  private val Template = "~"

  def keyOf(text: String): String = f"${DataStamps.hash(text)}%016x"
}
