package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.logical.{HintInfo, Join, JoinHint}

/**
 * The decision about a join, made when its join group was ordered. [[JoinChoice]] reads it when it plans the join.
 *
 * It is stored in the join's hint, without a strategy of Spark's own: the strategy stays free for a user's hint and for
 * adaptive execution. It is not a tag of the node, because rules that come after ours build new joins
 * (`RemoveRedundantAliases`, `PushPredicateThroughJoin` of the batch that rewrites subqueries) and pass on only the
 * hint.
 *
 * @param broadcast side to broadcast
 * @param kept      sides that Spark takes for small, but that take more memory than there is for a broadcast
 */
final class JoinDecision private (val broadcast: Option[BuildSide], val kept: Vector[BuildSide])
    extends HintInfo(None) {

  // Spark merges subqueries whose joins have equal hints
  override def equals(that: Any): Boolean = that match {
    case d: JoinDecision => d.broadcast == broadcast && d.kept == kept
    case _               => false
  }
  override def hashCode: Int = (broadcast, kept).##
}

object JoinDecision {

  def hint(broadcast: Option[BuildSide], kept: Vector[BuildSide] = Vector.empty): JoinHint =
    JoinHint(Some(new JoinDecision(broadcast, kept)), None)

  def broadcast(join: Join): Option[BuildSide] = of(join).flatMap(_.broadcast)

  def kept(join: Join): Vector[BuildSide] = of(join).fold(Vector.empty[BuildSide])(_.kept)

  private def of(join: Join): Option[JoinDecision] = join.hint.leftHint.collect { case d: JoinDecision => d }
}
