package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.JoinTree
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.expressions.And
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.base.LazyValue
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup, RepeatedInputs}
import org.apache.spark.sql.dovetail.history.{HistoryForms, KnownGroup, KnownRuns}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.steer.{GroupForm, Steering}
import org.apache.spark.sql.internal.SQLConf

/**
 * A join group with everything that the search needs.
 *
 * @param estimated    join graph with estimates from statistics
 * @param known        the same graph, corrected by the history and by numbers that users gave
 * @param historyForms keys of the group in the history: for the look-up, and again after the query has run
 * @param memory       bytes of memory that a broadcast may take
 * @param room         memory that all broadcasts of the group may take
 * @param remarks      what was read for the estimates, for explain
 */
final case class PreparedGroup(
    group: JoinGroup,
    leaves: Vector[LogicalPlan],
    predicates: JoinPredicates,
    estimated: JoinGraph,
    known: KnownGroup,
    historyForms: LazyValue[HistoryForms],
    memory: Double,
    room: BroadcastRoom,
    remarks: Vector[String] = Vector.empty
) {
  def graph: JoinGraph = known.graph

  /** The sides of the equalities by which inputs may be filtered, in the order of [[JoinGraph.keys]]. */
  lazy val keys: Vector[Vector[ClassMember]] =
    predicates.members ++ OperatorConjunct.of(group, predicates).flatten.flatMap(_.filtered)

  def rebuild: RebuildPlan = new RebuildPlan(this)

  def broadcasts(tree: JoinTree): GroupBroadcasts =
    new GroupBroadcasts(tree, memory, room, graph.relations(_).broadcastable)

  /** Names of the relations. */
  lazy val names: GroupNames = GroupNames(group, leaves)

  /** The canonical form of the group, which does not depend on how the query is written. */
  def form(literals: Boolean): GroupForm = new GroupForm(group, predicates, graph, literals)
}

/**
 * The second step from a logical plan to a join graph: adds the rows and columns of its leaves to a join group, and
 * what the user knows about them.
 */
final class GroupPreparation(
    planner: Planner,
    statistics: PlanStatistics,
    steering: Steering,
    runs: KnownRuns,
    repeated: RepeatedInputs,
    above: ClusteringAbove
) {
  private val rare = new RareInputs(planner, statistics)

  // as they are now: the keys of the history may be computed later
  private lazy val settings = HistoryForms.Settings(SQLConf.get)

  /** The group in the form that the search needs, with `plans` in place of its leaves. */
  def apply(group: JoinGroup, plans: Vector[LogicalPlan]): PreparedGroup = apply(group, plans, group.predicates)

  /** @param reduced relations from which semi joins with other inputs keep rows away */
  def apply(
      group: JoinGroup,
      plans: Vector[LogicalPlan],
      predicates: JoinPredicates,
      reduced: Set[Int] = Set.empty
  ): PreparedGroup = prepared(group, complete(group, plans, predicates), predicates, reduced)

  /** The same for a group to be ordered: inputs of which samples have too few rows are read before ([[RareInputs]]). */
  def toOrder(
      group: JoinGroup,
      plans: Vector[LogicalPlan],
      predicates: JoinPredicates,
      reduced: Set[Int]
  ): PreparedGroup = {
    val leaves    = complete(group, plans, predicates)
    lazy val told = steering.inputs(prepared(group, leaves, predicates, reduced).graph)
    val remarks   = rare.read(group, leaves, predicates, told)
    prepared(group, leaves, predicates, reduced).copy(remarks = remarks)
  }

  /** The same group after the statistics have learned more about its leaves. */
  def again(ready: PreparedGroup, reduced: Set[Int]): PreparedGroup =
    prepared(ready.group, ready.leaves, ready.predicates, reduced).copy(remarks = ready.remarks)

  private def prepared(
      group: JoinGroup,
      leaves: Vector[LogicalPlan],
      predicates: JoinPredicates,
      reduced: Set[Int]
  ): PreparedGroup = {
    val graph = new GroupGraph(group, leaves, predicates, statistics, repeated, above, planner).graph
    val now   = settings
    val bases = leaves.indices.toVector.map { i =>
      val source = graph.relations(i).profile.rows.source
      HistoryForms.Basis(source, statistics.samples(leaves(i)).isDefined, statistics.version(leaves(i)))
    }
    val forms = new LazyValue(() =>
      new HistoryForms(group, predicates, bases, now, new GroupForm(group, predicates, graph, _, nulls = true))
    )
    val ready = PreparedGroup(
      group,
      leaves,
      predicates,
      graph,
      Trace.timed("history")(runs(graph, group.leaves, reduced, forms.value)),
      forms,
      planner.broadcastMemory,
      planner.broadcasts.left(group.top)
    )
    ready.copy(known = ready.known.copy(graph = steering.informed(ready.graph, ready.form)))
  }

  /** The leaves with everything that can be computed and filtered before the first join. */
  private def complete(group: JoinGroup, leaves: Vector[LogicalPlan], predicates: JoinPredicates): Vector[LogicalPlan] =
    group.withComputed(leaves).zipWithIndex.map { case (leaf, i) =>
      predicates.local.collect { case (`i`, e) => e }.reduceOption(And(_, _)).fold(leaf)(Filter(_, leaf))
    }
}
