package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.graph.{ForeignKeys, JoinGraph, JoinKind, Member, Operator, Relation}
import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs, WrittenJoin}
import org.apache.spark.sql.dovetail.leaf.{HashedLeaf, PartitionColumns, SparkBroadcast}
import org.apache.spark.sql.dovetail.predicates.{
  ExpressionText,
  JoinCondition,
  JoinPredicates,
  NullRejection,
  PredicateSelectivity
}
import org.apache.spark.sql.dovetail.stats.PlanStatistics

/**
 * The kernel's join graph of a join group: relations with their sizes, predicates, and the joins that are not inner.
 *
 * @param leaves     leaf plans of the join group, with all predicates that are pushed down to them
 * @param predicates predicates of the group's inner joins and filters
 */
final class GroupGraph(
    group: JoinGroup,
    leaves: Vector[LogicalPlan],
    predicates: JoinPredicates,
    statistics: PlanStatistics,
    repeated: RepeatedInputs,
    above: ClusteringAbove,
    planner: Planner
) {
  private val conditions: Vector[Vector[OperatorConjunct]] = OperatorConjunct.of(group, predicates)
  private val members                                      = predicates.members
  private val relationsIn                                  = members.map(_.map(_.relation).toSet)
  private val profiles                                     = leaves.indices.toVector.map(withJointNdv)
  private val selectivity                                  = new PredicateSelectivity(
    profiles,
    predicates.classifier.relationsOf,
    members,
    (leaf, conditions, formula) => statistics.samples(leaves(leaf)).flatMap(_.alternatives(conditions, formula))
  )
  private val names               = GroupNames(group, leaves)
  private lazy val builtAsWritten = planner.builtAsWritten(group.top)

  /** The text of an expression with the names of the inputs: a condition on the second `day` names `day#2`. */
  private val text: Expression => String = {
    val called = GroupNames.ofColumns(names.shown, leaves)
    ExpressionText(_, called)
  }

  def graph: JoinGraph = {
    val samples = statistics.samples.relations(
      leaves,
      predicates,
      conditions.flatten.flatMap(_.sampled)
    )
    val inner     = predicates.joinPredicates(text, selectivity, partnerless)
    val operators = group.operators.zipWithIndex.map { case (o, i) => operator(o, i) }
    val mayLoop   = inner.exists(p => p.sides.isEmpty && p.relations.size > 1) || operators.exists(!_.equi)
    val relations = leaves.indices.toVector.map { i =>
      Relation(
        i,
        names(i),
        profiles(i),
        profiles(i).rowBytes(read(i).map(_.exprId.id)),
        planner.sparkBroadcasts(
          SparkBroadcast.reading(leaves(i), AttributeSet(read(i))),
          profiles(i),
          builtAsWritten.contains(group.leaves(i))
        ),
        samples(i),
        PartitionColumns(leaves(i)),
        repeated.copies(leaves(i)),
        hashedBy(i),
        if (mayLoop) InputTasks.known(leaves(i), planner.allTasks) else Double.PositiveInfinity
      )
    }
    JoinGraph(
      relations,
      predicates.equivalenceClasses(profiles, text),
      inner,
      operators,
      above = above(group.top, a => columnsAsKeys.contains(a) && !computesFrom(AttributeSet(a)))
    )
  }

  /**
   * The columns of a leaf that a join or an operator above reads. Spark removes the others after this rule: below
   * EXISTS and IN, which it makes joins late, a table still has all of its columns here.
   */
  private def read(leaf: Int): Seq[Attribute] =
    if (planner.prunesColumns) leaves(leaf).output.filter(wanted.contains) else leaves(leaf).output

  private lazy val wanted: AttributeSet = AttributeSet(group.top.output) ++ AttributeSet.fromAttributeSets(
    (members.flatten.map(_.expression) ++ predicates.complex.map(_.expression) ++ group.operators.flatMap(_.condition))
      .map(_.references)
  )

  /**
   * Columns by whose hash a leaf is partitioned. None if a join key is computed from one of them, if adaptive execution
   * would rather broadcast the leaf, or if Spark may have to exchange it all the same.
   */
  private def hashedBy(leaf: Int): Set[Long] = {
    val columns = AttributeSet(HashedLeaf(leaves(leaf)))
    def small   = profiles(leaf).bytes(leaves(leaf).output.map(_.exprId.id)) <= planner.facts.broadcastBytes
    if (columns.isEmpty || computesFrom(columns) || small || !meetsLike(leaf)) Set.empty
    else columns.map(_.exprId.id).toSet
  }

  /**
   * Whether Spark needs no exchange of a leaf if a join is by its columns. For the partitions of a connector, this
   * holds only if all inputs that may be joined by these columns have such partitions, too.
   */
  private def meetsLike(leaf: Int): Boolean = {
    def has(m: JoinPredicates.ClassMember) = {
      val input = leaves(m.relation)
      HashedLeaf.isByConnector(input) && HashedLeaf(input).exists(_.semanticEquals(m.expression))
    }
    val equal = members ++ conditions.flatten.flatMap(_.key).map { case (l, r) => Vector(l, r) }
    !HashedLeaf.isByConnector(leaves(leaf)) ||
    equal.filter(_.exists(m => m.relation == leaf && has(m))).forall(_.forall(has))
  }

  /** The join keys of the group. */
  private lazy val keys: Vector[JoinPredicates.ClassMember] =
    members.flatten ++ conditions.flatten.flatMap(_.key).flatMap { case (l, r) => Vector(l, r) }

  private lazy val columnsAsKeys: AttributeSet =
    AttributeSet(keys.map(_.expression).collect { case a: Attribute => a })

  private lazy val columnsInKeys: AttributeSet =
    AttributeSet.fromAttributeSets(keys.map(_.expression).filterNot(_.isInstanceOf[Attribute]).map(_.references))

  /** Whether a join key is computed from one of these columns. */
  private def computesFrom(columns: AttributeSet): Boolean = columns.exists(columnsInKeys.contains)

  /**
   * A leaf's profile, with the NDVs of composite keys from its sample. A composite key is the columns of two or more
   * equalities with one other relation.
   */
  private def withJointNdv(leaf: Int): RelationProfile = {
    PlanningTime.check()
    val profile = statistics(leaves(leaf))
    val classes = members.indices.filter(relationsIn(_)(leaf)).flatMap(c =>
      members(c).find(_.relation == leaf).map(relationsIn(c) -> _)
    )
    val inner = leaves.indices.toVector.filter(_ != leaf).map(other =>
      classes.collect { case (relations, member) if relations(other) => member }.toVector
    )
    val others = conditions.map(_.flatMap(_.key).flatMap { case (l, r) => Seq(l, r).find(_.relation == leaf) })
    val keys   = (inner ++ others).map(_.map(_.expression)).collect {
      case es if es.size > 1 && es.forall(_.isInstanceOf[Attribute]) => es.collect { case a: Attribute => a }.distinct
    }
    val wanted = keys.filter(as => as.size > 1 && !profile.groups.contains(as.map(_.exprId.id).toSet)).distinct
    val found  = for (as <- wanted; ndv <- statistics.samples.distinct(leaves(leaf), as))
      yield as.map(_.exprId.id).toSet -> ndv
    profile.copy(groups = profile.groups ++ found)
  }

  /** The left outer join whose rows without a partner are the only ones in which the expression is NULL. */
  private def partnerless(e: Expression): Option[Int] = e match {
    case IsNull(column: Attribute) =>
      Some(group.operators.indices.indexWhere(i =>
        group.operators(i).kind == JoinKind.LeftOuter && conditions(i).exists(_.rejectsNull(column))
      )).filter(_ >= 0)
    case _ => None
  }

  private def operator(o: WrittenJoin, index: Int): Operator = {
    val conjuncts  = conditions(index)
    val equalities = for (c <- conjuncts; (l, r) <- c.key) yield {
      val sides = ForeignKeys(Vector(member(l), member(r)), profiles).map(_.copy(nullsMeet = c.nullsMeet))
      (sides.head, sides.last)
    }
    val rest  = conjuncts.filter(_.key.isEmpty).map(_.condition)
    val reads = conjuncts.flatMap(_.condition.relations).distinct.sorted
    Operator(
      index,
      o.kind,
      o.left,
      o.right,
      equalities,
      reads,
      if (rest.isEmpty) 1.0 else selectivity(rest.map(_.expression).reduce(And(_, _))),
      reads.filter(r =>
        conjuncts.exists(c => NullRejection(c.condition.expression, predicates.classifier.relationsOf, r))
      ),
      rest.exists(_.across(o.left.contains, o.right.contains)),
      o.condition.fold("")(text),
      execution(o, conjuncts)
    )
  }

  /**
   * Of equalities that NULL satisfies, as NOT IN makes them, Spark has a hash table only for a single one, and some
   * lines only if the right side is small. If Spark cannot hash a key, it sorts by all keys.
   */
  private def execution(o: WrittenJoin, conjuncts: Vector[OperatorConjunct]): Operator.Execution = {
    val (aware, others) = conjuncts.partition(_.condition.equality.exists(_.kind == JoinCondition.NullAware))
    val keys            = others.map(_.condition).filter(_.across(o.left.contains, o.right.contains))
    if (aware.isEmpty || keys.nonEmpty) { if (keys.forall(_.hashable)) Operator.ByKeys else Operator.BySorting }
    else if (
      o.kind == JoinKind.Anti && conjuncts.size == 1 && aware.head.key.nonEmpty &&
      planner.hashesNotIn(o.right.map(leaves(_)))
    ) Operator.ByCopy
    else Operator.ByPairs
  }

  private def member(m: JoinPredicates.ClassMember): Member = JoinPredicates.member(m, profiles, text)
}
