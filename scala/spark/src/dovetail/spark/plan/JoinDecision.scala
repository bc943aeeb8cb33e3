package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.logical.{Filter, HintInfo, Join, JoinHint, JoinStrategyHint, LogicalPlan}
import org.apache.spark.sql.dovetail.base.IdentityMemo
import org.apache.spark.sql.dovetail.predicates.ExpressionText
import org.apache.spark.sql.types.DataType

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
 * @param sides     what the sides that were decided on return
 */
final class JoinDecision private (
    val broadcast: Option[BuildSide],
    val kept: Vector[BuildSide],
    private val sides: Vector[JoinDecision.SideSignature],
    now: Option[JoinStrategyHint] = None
) extends HintInfo(now) {

  /** Adaptive execution adds a strategy to a hint once it has seen the rows of a side. The decision stays. */
  override def copy(strategy: Option[JoinStrategyHint]): HintInfo = new JoinDecision(broadcast, kept, sides, strategy)

  // Spark merges subqueries whose joins have equal hints, and the columns of their sides. A decision holds only for the
  // columns and rows that it was made for.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[JoinDecision]
  override def equals(that: Any): Boolean   = that match {
    case d: JoinDecision => d.broadcast == broadcast && d.kept == kept && d.sides == sides && d.strategy == strategy
    case _               => false
  }
  override def hashCode: Int = (broadcast, kept, sides, strategy).##
}

object JoinDecision {

  /** What a side returns: its columns, and the conditions on its rows. */
  final private case class SideSignature(columns: Seq[(String, DataType)], conditions: Seq[String])

  /** The hint with a decision about this join. */
  def hint(join: Join, broadcast: Option[BuildSide], kept: Vector[BuildSide] = Vector.empty): JoinHint = {
    val sides = (broadcast.toVector ++ kept).distinct.map(side => signature(JoinChoice.input(join, side)))
    JoinHint(Some(new JoinDecision(broadcast, kept, sides)), None)
  }

  private def signature(side: LogicalPlan) = SideSignature(
    side.output.map(a => a.name -> a.dataType),
    side.collect { case Filter(condition, _) => texts(condition) }
  )

  /** Conditions whose texts are remembered: those of the queries that are planned at the same time. */
  private val Remembered = 4096

  /** The texts of conditions: each is on a side of all joins above it. */
  private val texts = new IdentityMemo[Expression, String](Remembered)(ExpressionText.short)

  def broadcast(join: Join): Option[BuildSide] = of(join).flatMap(_.broadcast)

  def kept(join: Join): Vector[BuildSide] = of(join).fold(Vector.empty[BuildSide])(_.kept)

  private def of(join: Join): Option[JoinDecision] = join.hint.leftHint.collect { case d: JoinDecision => d }
}
