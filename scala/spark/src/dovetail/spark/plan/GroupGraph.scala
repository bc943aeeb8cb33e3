package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.graph.{JoinGraph, Member, Operator, Relation}
import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs, WrittenJoin}
import org.apache.spark.sql.dovetail.leaf.PartitionColumns
import org.apache.spark.sql.dovetail.predicates.{
  Conjuncts,
  ExpressionText,
  JoinPredicates,
  NullRejection,
  PredicateSelectivity
}
import org.apache.spark.sql.dovetail.stats.PlanStatistics

/**
 * The kernel's join graph of a group: relations with their sizes, predicates, and the joins that are not inner.
 *
 * @param leaves     the group's leaves, with all that is pushed down to them
 * @param predicates of its inner joins and filters
 */
final class GroupGraph(
    group: JoinGroup,
    leaves: Vector[LogicalPlan],
    predicates: JoinPredicates,
    statistics: PlanStatistics,
    repeated: RepeatedInputs,
    planner: Planner
) {
  private val conditions =
    group.operators.map(o => o.condition.toVector.flatMap(Conjuncts(_)).map(e => e -> GroupGraph.key(e, o, predicates)))
  private val profiles    = leaves.indices.toVector.map(withJointNdv)
  private val selectivity = new PredicateSelectivity(profiles, predicates.relationsOf)

  def graph: JoinGraph = {
    val names   = GroupNames(group, leaves)
    val samples = statistics.samples.relations(
      leaves,
      predicates,
      conditions.flatten.flatMap(_._2).map { case (l, r) => Vector(l, r) }
    )
    val relations = leaves.indices.toVector.map { i =>
      Relation(
        i,
        names(i),
        profiles(i),
        profiles(i).rowBytes(leaves(i).output.map(_.exprId.id)),
        planner.sparkBroadcasts(leaves(i), profiles(i)),
        samples(i),
        PartitionColumns(leaves(i)),
        repeated.copies(leaves(i))
      )
    }
    JoinGraph(
      relations,
      predicates.equivalenceClasses(profiles),
      predicates.joinPredicates(profiles),
      group.operators.zipWithIndex.map { case (o, i) => operator(o, i) }
    )
  }

  /**
   * A leaf's profile, with what its sample tells of composite keys: the columns of two or more equalities with one
   * other relation.
   */
  private def withJointNdv(leaf: Int): RelationProfile = {
    val profile = statistics(leaves(leaf))
    val classes = predicates.members.filter(_.exists(_.relation == leaf))
    val inner   = leaves.indices.toVector.filter(_ != leaf).map(other =>
      classes.filter(_.exists(_.relation == other)).flatMap(_.find(_.relation == leaf))
    )
    val others = conditions.map(_.flatMap(_._2).flatMap { case (l, r) => Seq(l, r).find(_.relation == leaf) })
    val keys   = (inner ++ others).map(_.map(_.expression)).collect {
      case es if es.size > 1 && es.forall(_.isInstanceOf[Attribute]) => es.collect { case a: Attribute => a }.distinct
    }
    val wanted = keys.filter(as => as.size > 1 && !profile.groups.contains(as.map(_.exprId.id).toSet)).distinct
    val found  = for (as <- wanted; sample <- statistics.samples(leaves(leaf)); ndv <- sample.distinct(as))
      yield as.map(_.exprId.id).toSet -> ndv
    profile.copy(groups = profile.groups ++ found)
  }

  private def operator(o: WrittenJoin, index: Int): Operator = {
    val condition  = conditions(index).map(_._1)
    val equalities = conditions(index).flatMap(_._2).map { case (l, r) => (member(l), member(r)) }
    val rest       = conditions(index).collect { case (e, None) => e }
    val reads      = condition.flatMap(predicates.relationsOf).distinct.sorted
    Operator(
      index,
      o.kind,
      o.left,
      o.right,
      equalities,
      reads,
      if (rest.isEmpty) 1.0 else selectivity(rest.reduce(And(_, _))),
      reads.filter(r => condition.exists(NullRejection(_, predicates.relationsOf, r))),
      rest.exists(e => predicates.sides(e).exists { case (l, r) => GroupGraph.across(l, r, o) }),
      o.condition.fold("")(ExpressionText(_))
    )
  }

  private def member(m: JoinPredicates.ClassMember): Member = JoinPredicates.member(m, profiles)

}

private object GroupGraph {
  import JoinPredicates.ClassMember

  /**
   * What a join can be hashed by, left side first: an equality of one relation on each side; also as NOT IN has it,
   * where a comparison with NULL counts as a partner, and null-safe as EXCEPT has it.
   */
  def key(e: Expression, o: WrittenJoin, predicates: JoinPredicates): Option[(ClassMember, ClassMember)] = e match {
    case EqualTo(l, r)                                                     => pair(l, r, o, predicates)
    case EqualNullSafe(l, r)                                               => pair(l, r, o, predicates)
    case Or(eq @ EqualTo(_, _), IsNull(again)) if eq.semanticEquals(again) => key(eq, o, predicates)
    case _                                                                 => None
  }

  private def pair(
      l: Expression,
      r: Expression,
      o: WrittenJoin,
      predicates: JoinPredicates
  ): Option[(ClassMember, ClassMember)] =
    (predicates.relationsOf(l), predicates.relationsOf(r)) match {
      case (Vector(a), Vector(b)) if o.left.contains(a) && o.right.contains(b) =>
        Some((ClassMember(a, l), ClassMember(b, r)))
      case (Vector(a), Vector(b)) if o.left.contains(b) && o.right.contains(a) =>
        Some((ClassMember(b, r), ClassMember(a, l)))
      case _ => None
    }

  def across(l: Vector[Int], r: Vector[Int], o: WrittenJoin): Boolean =
    (l.forall(o.left.contains) && r.forall(o.right.contains)) || (l.forall(o.right.contains) && r.forall(
      o.left.contains
    ))
}
