package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Equality, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Movable}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.internal.SQLConf

/**
 * One join of a [[JoinChain]].
 *
 * @param side side of its build; the other side is the probe, or the joins before this one
 */
final class ChainLink private (val join: Join, val side: BuildSide) {
  val build: LogicalPlan = JoinChoice.input(join, side)
  def probe: LogicalPlan = JoinChoice.input(join, JoinChoice.other(side))

  /** Whether the build is broadcast, or about to be. */
  val isBroadcast: Boolean = AdaptiveInput.isBroadcast(build)

  /** Whether the build is complete. */
  def isReady: Boolean = AdaptiveInput.complete(build).isDefined

  /**
   * Whether the join looks up rows of the build without an exchange of the probe: the build is broadcast, or it has
   * been exchanged and turned out small enough for Spark to broadcast it.
   */
  def looksUp: Boolean = isBroadcast || (AdaptiveInput.complete(build) match {
    case Some(q: ShuffleQueryStageExec) =>
      !SparkBuildSide.onlySorts(join) && JoinChoice.hint(join, side).forall(_.strategy.isEmpty) &&
      q.getRuntimeStatistics.sizeInBytes <= ChainLink.broadcastBytes(join)
    case _ => false
  })

  /** Equalities of the condition between the two sides: the probe's expression, and the conjunct. */
  val equalities: Vector[(Expression, Expression)] =
    join.condition.toVector.flatMap(Conjuncts(_)).flatMap(e => ChainLink.ofProbe(e, build, probe).map(_ -> e))

  /** Columns that the join adds to the rows of the probe. */
  val added: AttributeSet = join.joinType match {
    case LeftSemi | LeftAnti => AttributeSet.empty
    case ExistenceJoin(flag) => AttributeSet(flag)
    case _                   => build.outputSet
  }

  /** The same join over another probe. A hint of adaptive execution for the old probe does not hold for the new one. */
  def over(probe: LogicalPlan): Join = {
    def kept(hint: Option[HintInfo]) = hint.filter(_.strategy.isEmpty)
    val moved                        =
      if (side == BuildLeft) join.copy(right = probe, hint = join.hint.copy(rightHint = kept(join.hint.rightHint)))
      else join.copy(left = probe, hint = join.hint.copy(leftHint = kept(join.hint.leftHint)))
    moved.copyTagsFrom(join)
    moved
  }
}

object ChainLink {

  /** None if the join cannot be part of a chain with its build on this side. */
  def apply(join: Join, side: BuildSide): Option[ChainLink] =
    if (byUser(join.hint) || !JoinChoice.builds(join.joinType, side) || !join.condition.exists(Movable(_))) None
    else
      Some(new ChainLink(join, side)).filter { l =>
        l.equalities.nonEmpty && !AdaptiveInput.isBroadcast(l.probe) &&
        (l.isBroadcast || !JoinDecision.broadcast(join).contains(JoinChoice.other(side)))
      }

  /** Most bytes of a counted input that Spark broadcasts. */
  private def broadcastBytes(join: Join): Long = join.conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD)
    .fold(join.conf.autoBroadcastJoinThreshold)(_.longValue)

  /** Whether a user's hint asks for a method. Adaptive execution adds hints of its own, which users cannot write. */
  private def byUser(hint: JoinHint): Boolean = JoinGroup.strategies(hint).exists {
    case BROADCAST | SHUFFLE_MERGE | SHUFFLE_HASH | SHUFFLE_REPLICATE_NL => true
    case _                                                               => false
  }

  /** The probe's side of a conjunct, if it is an equality between the two inputs, by which rows are looked up. */
  private def ofProbe(e: Expression, build: LogicalPlan, probe: LogicalPlan): Option[Expression] = {
    def of(x: Expression, plan: LogicalPlan) = x.references.nonEmpty && x.references.subsetOf(plan.outputSet)
    def across(a: Expression, b: Expression) =
      if (of(a, build) && of(b, probe)) Some(b) else if (of(b, build) && of(a, probe)) Some(a) else None
    e match {
      case Equality(a, b) => across(a, b)
      case _              => None
    }
  }
}
