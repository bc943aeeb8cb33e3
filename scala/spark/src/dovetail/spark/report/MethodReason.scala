package org.apache.spark.sql.dovetail.report

import dovetail.kernel.cost.{JoinMethod, MethodChoice}
import dovetail.kernel.enumerate.JoinTree
import dovetail.kernel.graph.{JoinGraph, JoinKind}
import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable

/**
 * Explains in words why a join uses its join method, for [[JoinReport]]. The cost model provides the methods that were
 * available (`MethodChoice`).
 *
 * @param leaves plans of the graph's relations, for which Spark has its own size estimates
 * @param limit  bytes up to which inputs are broadcast when a query is planned; a negative value means never
 * @param memory most bytes of memory that a broadcast may take, however wrong its estimate is
 */
final class MethodReason(graph: JoinGraph, leaves: Vector[LogicalPlan], limit: Long, memory: Double) {
  import MethodChoice.Input
  import MethodReason._

  /**
   * Adds the reason for the join method and the second-best method to the report of a join.
   *
   * @param step name of an input that is itself a join
   */
  def explained(join: JoinTree.Join, report: JoinReport, step: JoinTree => Option[String]): JoinReport = {
    val choice                     = join.choice()
    val (left, right)              = sides(join, choice, step)
    def described(way: JoinMethod) = way match {
      case JoinMethod.BroadcastLeft  => s"${way.name} of ${left.name}"
      case JoinMethod.BroadcastRight => s"${way.name} of ${right.name}"
      case _                         => way.name
    }
    report.copy(
      why = reason(join, choice, left, right),
      runnerUp = choice.runnerUp(join.method).map(w => (described(w.method), w.cost))
    )
  }

  /** The reason for the join method; None if the cost model does not distinguish methods. */
  private def reason(join: JoinTree.Join, choice: MethodChoice, left: Side, right: Side): Option[String] = {
    val smaller = if (right.input.bytes <= left.input.bytes) right else left
    join.method match {
      case JoinMethod.Unspecified                                      => None
      case JoinMethod.NestedLoop                                       => Some("no equality to hash or sort by")
      case JoinMethod.BroadcastRight if join.operator.exists(_.copies) =>
        Some(s"Spark broadcasts ${right.name} whatever its size, for NOT IN")
      case JoinMethod.BroadcastLeft         => Some(broadcast(left) + pruning(join, right))
      case JoinMethod.BroadcastRight        => Some(broadcast(right) + pruning(join, left))
      case JoinMethod.ShuffledThenBroadcast =>
        val side = if (join.kind == JoinKind.Inner) smaller else right
        Some(s"${notPlanned(side, choice)}; adaptive execution broadcasts it if it turns out small")
      case JoinMethod.SortMerge if !hashable(join) =>
        Some("Spark cannot hash strings of this collation, so it sorts both inputs whatever their sizes")
      case JoinMethod.SortMerge    => Some(shuffled(join.kind, left, right, smaller, choice))
      case JoinMethod.ShuffledHash =>
        val side = if (join.kind == JoinKind.Inner) smaller else right
        Some(
          s"${shuffled(join.kind, left, right, smaller, choice)}; a task has the memory to hash ${side.name}, so " +
            "nothing is sorted"
        )
    }
  }

  private def hashable(join: JoinTree.Join): Boolean = join.operator match {
    case Some(o) => o.hashable
    case None    => graph.hashable(join.left.relations, join.right.relations)
  }

  private def sides(
      join: JoinTree.Join,
      choice: MethodChoice,
      step: JoinTree => Option[String]
  ): (Side, Side) = {
    def side(word: String, tree: JoinTree, input: Input) = tree match {
      case l: JoinTree.Leaf => Side(graph.relations(l.relation).name, Some(l.relation), input)
      case _                => Side(step(tree).getOrElse(s"the $word side"), None, input)
    }
    (side("left", join.left, choice.left), side("right", join.right, choice.right))
  }

  private def broadcast(side: Side): String =
    if (side.input.broadcast)
      s"Spark broadcasts ${side.name} by itself: " +
        side.relation.flatMap(sparkSize).fold("")(b => s"${size(b)} by its own count, ") +
        s"limit ${size(limit.toDouble)}"
    else
      s"broadcast by Dovetail: ${side.name} is about ${size(side.input.bytes)}, ${atMost(side.input)}; limit " +
        s"${size(limit.toDouble)}"

  private def pruning(join: JoinTree.Join, stream: Side): String =
    if (join.own.scan < 0.0) s"; files of ${stream.name} without its keys are not read" else ""

  private def shuffled(kind: JoinKind, left: Side, right: Side, smaller: Side, choice: MethodChoice): String = {
    val placed = Vector(left, right).filter(_.input.partitioned).map(_.name)
    if (placed.nonEmpty)
      s"${placed.mkString(" and ")} ${if (placed.size == 1) "is" else "are"} already partitioned by the key"
    else if (choice.ways.exists(w => isBroadcast(w.method)))
      s"cheaper than a broadcast of ${smaller.name}, about ${size(smaller.input.bytes)}"
    else if (kind == JoinKind.FullOuter) "neither side of a full outer join can be broadcast"
    else if (kind != JoinKind.Inner)
      s"only ${right.name} can be broadcast with this join type; ${notPlanned(right, choice)}"
    else notPlanned(smaller, choice)
  }

  /** The reason why a side is not broadcast when the query is planned. */
  private def notPlanned(side: Side, choice: MethodChoice): String = {
    val bytes = s"${side.name} is about ${size(side.input.bytes)}"
    if (limit < 0) "broadcasts are switched off (spark.sql.autoBroadcastJoinThreshold)"
    else if (choice.ways.exists(w => isBroadcast(w.method))) "a broadcast from the start costs more"
    else if (side.input.bytes > limit) s"$bytes, over the broadcast limit of ${size(limit.toDouble)}"
    else if (side.relation.exists(r => graph.relations(r).rowBytes.rest >= Estimate.Ceiling))
      s"$bytes, but the width of its columns is unknown (DOVETAIL ANALYZE measures it): too uncertain to broadcast " +
        "from the start"
    else if (side.input.cautious > memory)
      s"$bytes, ${atMost(side.input)} of memory, and a broadcast may take ${size(memory)}: too uncertain to " +
        "broadcast from the start"
    else s"$bytes, but Spark does not recognize this"
  }

  /** Spark's own size estimate of a relation, which decides whether Spark broadcasts it. */
  private def sparkSize(relation: Int): Option[Double] =
    try Some(leaves(relation).stats.sizeInBytes.toDouble)
    catch { case Survivable(_) => None }
}

private object MethodReason {

  /** @param relation number of the relation in the graph, if the side is a single relation */
  final case class Side(name: String, relation: Option[Int], input: MethodChoice.Input)

  def size(bytes: Double): String = ReportNumbers.size(bytes)

  def isBroadcast(method: JoinMethod): Boolean =
    method == JoinMethod.BroadcastLeft || method == JoinMethod.BroadcastRight

  def atMost(input: MethodChoice.Input): String =
    if (input.cautious >= Estimate.Ceiling) "without a known bound" else s"at most ${size(input.cautious)}"
}
