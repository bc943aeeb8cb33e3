package org.apache.spark.sql.dovetail.report

import java.util.Locale

import dovetail.kernel.cost.Cost
import dovetail.kernel.enumerate.{JoinTree, Shape}
import dovetail.kernel.graph.{JoinGraph, Relation}
import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.LazyValue
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * The report on one join group.
 *
 * @param status    `reordered`, `kept` (the written order is as good, or the gain too small) or `left_alone` (not
 *                  searched)
 * @param reason    reason for the status, in words
 * @param algorithm name of the search algorithm; None if the group was left alone
 * @param pairs     number of pairs of sub-plans that the search considered
 * @param relations the group's relations, with sizes unless the group was left alone
 * @param edges     edges of the join graph: for each equivalence class and predicate, the relations that it connects
 * @param before    the written order with its costs
 * @param after     the chosen plan, if it differs from the written one in its order, its broadcasts or its Bloom
 *                  filters
 * @param runnerUp  the best order other than the chosen one
 * @param costModel name of the cost model
 * @param missing   tables that lack statistics which the estimates need
 * @param identity  keys by which the history recognizes the group, if it can; made in the background
 * @param counts    rows that sets of the group's relations returned in a run
 * @param atRun     decisions about chains of the group's joins while the query ran
 */
final case class GroupReport(
    status: String,
    reason: String,
    algorithm: Option[String],
    pairs: Long,
    relations: Vector[RelationReport],
    edges: Vector[EdgeReport],
    before: Option[TreeReport],
    after: Option[TreeReport],
    runnerUp: Option[(String, Cost)],
    costModel: Option[String],
    missing: Vector[TableAdvice] = Vector.empty,
    identity: LazyValue[Option[GroupIdentity]] = LazyValue.made(None),
    counts: Map[Set[Int], ActualRows.Count] = Map.empty,
    atRun: Vector[RunTimeOrder] = Vector.empty
) {

  /** Whether this is a remark on the query as a whole rather than a report on a join group. */
  def isRemark: Boolean = status == GroupReport.Remark

  /** The joins of the plan in use, with the changes made at run time. */
  def joins: Vector[JoinReport] = {
    val replaced = atRun.flatMap(_.replaced).toSet
    after.orElse(before).toVector.flatMap(_.joins).filterNot(j => replaced(j.relations.toSet)) ++ atRun.flatMap(_.joins)
  }

  /** Whether a chain of joins ran in another order than planned. */
  def changedAtRun: Boolean = atRun.exists(_.order.isDefined)

  /** Adds the row counts of a run to the relations and to the joins of the plan in use. */
  def withActual(rows: Map[Set[Int], ActualRows.Count]): GroupReport = {
    val index                  = relations.map(_.name).zipWithIndex.toMap
    def of(j: JoinReport)      = rows.get(j.relations.map(index).toSet).map(_.rows)
    def counted(t: TreeReport) = t.copy(joins = t.joins.map(j => j.copy(actual = of(j))))
    val read  = relations.indices.toVector.map(i => relations(i).copy(actual = rows.get(Set(i)).map(_.rows)))
    val atEnd = atRun.map(o => o.copy(joins = o.joins.map(j => j.copy(actual = of(j)))))
    val all   = copy(relations = read, counts = rows, atRun = atEnd)
    if (after.isDefined) all.copy(after = after.map(counted)) else all.copy(before = before.map(counted))
  }
}

/**
 * The part of a report on one relation.
 *
 * @param label   table and alias, as in the query
 * @param tables  tables that its leaves read, by `LeafNames.identity`; empty without details
 * @param columns columns of all its operators; they identify the relation in the executed plan
 * @param actual  rows that it returned in a run
 */
final case class RelationReport(
    name: String,
    label: String,
    rows: Option[Estimate],
    bytes: Option[Double],
    tables: Vector[String] = Vector.empty,
    columns: Set[ExprId] = Set.empty,
    actual: Option[Long] = None
)
final case class EdgeReport(relations: Vector[String], condition: String)

/** @param reducers Bloom filters on the inputs */
final case class TreeReport(
    order: String,
    cost: Cost,
    joins: Vector[JoinReport],
    reducers: Vector[ReducerReport] = Vector.empty
)

/**
 * The part of a report on one join.
 *
 * @param inputs   left and right input, each a relation or the number of an earlier join in parentheses
 * @param why      reason for the method, if details were requested
 * @param runnerUp cheapest other method, and the cost of the join with it
 * @param actual   rows that the join returned in a run
 */
final case class JoinReport(
    kind: String,
    relations: Vector[String],
    inputs: Vector[String],
    condition: String,
    rows: Estimate,
    method: String,
    cost: Cost,
    why: Option[String] = None,
    runnerUp: Option[(String, Double)] = None,
    actual: Option[Long] = None
)

object GroupReport {

  /** A remark on the query as a whole. */
  def remark(text: String): GroupReport = leftAlone(Vector.empty, text).copy(status = Remark)

  private val Remark = "remark"

  def leftAlone(names: Vector[String], reason: String): GroupReport =
    GroupReport(
      "left_alone",
      reason,
      None,
      0L,
      names.map(n => RelationReport(n, n, None, None)),
      Vector.empty,
      None,
      None,
      None,
      None
    )

  /**
   * @param labels  table and alias of each input, as in the query
   * @param written the written joins; the search may have swapped the sides of its own copy
   */
  final case class InputLabels(labels: Vector[String], written: Shape)

  /**
   * The report on a group that was searched.
   *
   * @param detailed whether to include the edges, the runner-up, and the reasons for join methods
   */
  def searched(
      graph: JoinGraph,
      leaves: Vector[LogicalPlan],
      decision: Decision,
      basis: DecisionBasis,
      inputs: InputLabels,
      detailed: Boolean
  ): GroupReport = {
    import decision.{outcome, taken}
    val reasons =
      if (detailed) Some(new MethodReason(graph, leaves, basis.broadcastThreshold, basis.broadcastMemory)) else None
    val sameOrder = outcome.best.shape.sameJoins(outcome.original.shape)
    val percent   = ReportNumbers.tenths(decision.gain * 100)
    // rounded down, so that a gain below the required one is not shown as equal to it
    val less    = ReportNumbers.tenths(math.floor(decision.gain * 1000) / 10)
    val minGain = ReportNumbers.tenths(basis.minGain * 100)
    val reason  =
      if (decision.barred.isDefined) decision.barred.get
      else if (decision.asked.isDefined && decision.gain < 0.0)
        "%s; its estimated cost is %.1f times that of the written order".formatLocal(
          Locale.ROOT,
          decision.asked.get,
          1.0 - decision.gain
        )
      else if (decision.asked.isDefined) s"${decision.asked.get}; it saves $percent of the estimated cost"
      else if (taken && sameOrder && outcome.best.reducers.nonEmpty)
        s"the written order with Bloom filters saves $percent of the estimated cost"
      else if (taken && sameOrder) s"the written order with other broadcasts saves $percent of the estimated cost"
      else if (taken) s"saves $percent of the estimated cost"
      else if (sameOrder) "the written order is the best one found"
      else if (decision.gain < 0.0) "the best order that has run costs more than the written one"
      else
        s"no order saves $minGain of the estimated cost (spark.dovetail.reorder.minGain), the best one $less"
    GroupReport(
      if (taken && !sameOrder) "reordered" else "kept",
      (reason +: (outcome.note.toVector ++ decision.notes)).mkString("; "),
      Some(outcome.algorithm),
      outcome.pairs,
      distinguished(graph.relations.map(r => relation(leaves(r.index), r, inputs.labels(r.index), detailed))),
      if (detailed) edges(graph) else Vector.empty,
      Some(tree(graph, outcome.original, reasons, Some(inputs.written))),
      if (taken) Some(tree(graph, outcome.best, reasons)) else None,
      (if (taken && detailed) outcome.runnerUp() else None).map(t => (order(graph, t.shape), t.cost)),
      Some(basis.costModel)
    )
  }

  private def distinguished(relations: Vector[RelationReport]): Vector[RelationReport] =
    relations.zip(GroupAtRun.distinct(relations.map(_.columns))).map { case (r, own) => r.copy(columns = own) }

  private def relation(leaf: LogicalPlan, r: Relation, label: String, detailed: Boolean): RelationReport = {
    val read = if (!detailed) Vector.empty
    else leaf.collectLeaves().collect { case l: LeafNode => l }.flatMap(LeafNames.identity(_)).distinct.toVector
    RelationReport(
      r.name,
      label,
      Some(r.profile.rows),
      Some(r.profile.rows.value * r.width),
      read,
      leaf.collect { case p => p.output.map(_.exprId) }.flatten.toSet
    )
  }

  /** @param as the same joins, with left and right sides in the order to show */
  private def tree(
      graph: JoinGraph,
      t: JoinTree,
      reasons: Option[MethodReason],
      as: Option[Shape] = None
  ): TreeReport = {
    val number = t.joins.zipWithIndex.map { case (j, i) => j.relations -> s"(${i + 1})" }.toMap
    val lefts  = as.fold(Set.empty[Set[Int]])(leftSides)
    val joins  = t.joins.map { j =>
      val turned = !lefts(j.left.relations.toSet) && lefts(j.right.relations.toSet)
      val sides  = if (turned) Vector(j.right, j.left) else Vector(j.left, j.right)
      val inputs = sides.map(side => number.getOrElse(side.relations, order(graph, side.shape)))
      val plain  = JoinReport(
        j.kind.name,
        j.relations.map(graph.relations(_).name),
        inputs,
        condition(graph, j, sides),
        j.rows,
        j.method.name,
        j.own
      )
      reasons.fold(plain)(_.explained(j, plain, side => number.get(side.relations).map(n => s"step $n")))
    }
    TreeReport(order(graph, as.getOrElse(t.shape)), t.cost, joins, t.reducers.map(ReducerReport(graph, _)))
  }

  /** The sets of relations that are left inputs of the joins of an order. */
  private def leftSides(shape: Shape): Set[Set[Int]] = shape match {
    case Shape.Join(l, r) => leftSides(l) ++ leftSides(r) + l.leaves.toSet
    case _                => Set.empty
  }

  /**
   * The edges of the join graph as text. An equivalence class of three or more members is one edge: `a.x = b.y = c.z`.
   */
  private def edges(graph: JoinGraph): Vector[EdgeReport] = {
    val all = graph.classes.map(c => c.relations -> c.members.map(_.text).mkString(" = ")) ++ graph.predicates.map(p =>
      p.relations -> p.text
    ) ++
      graph.operators.map(o => o.reads -> s"${o.kind.name}: ${o.text}")
    all.collect {
      case (relations, text) if relations.size > 1 => EdgeReport(relations.map(graph.relations(_).name), text)
    }
  }

  def order(graph: JoinGraph, shape: Shape): String = shape.render(graph.relations(_).name)

  /** The predicates between two inputs as text, with one pair of members for each equivalence class. */
  private def condition(graph: JoinGraph, j: JoinTree.Join, sides: Vector[JoinTree]): String = {
    val (l, r) = (sides.head.relations.toSet, sides.last.relations.toSet)
    val keys   = graph.classes.flatMap(c =>
      for (a <- c.members.find(m => l(m.relation)); b <- c.members.find(m => r(m.relation)))
        yield s"${a.text} = ${b.text}"
    )
    val rest = graph.joinable.predicatesAt(j.left.relations, j.right.relations).map(_.text)
    val on   = j.operator.toVector.map(_.text).filter(_.nonEmpty) ++ keys
    if (on.isEmpty && rest.isEmpty) "cross product" else (on ++ rest).mkString(" AND ")
  }
}
