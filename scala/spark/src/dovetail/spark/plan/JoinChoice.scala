package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.JoinMethod
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen}
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.log.ChosenJoin
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Chooses the method of a join where Dovetail knows better than Spark:
 *
 *  - Broadcasts that the search decided on. The build side is small, but Spark cannot see that: without column
 *    statistics of its own, it estimates the size of a join as the product of its inputs. The join carries the decision
 *    ([[JoinDecision]]).
 *  - Hash tables instead of two sorts, once both inputs of a shuffled join are exchanged and counted
 *    ([[ExchangedInputs]]).
 *
 * Spark calls this strategy when it plans a join, and again when it replans it during adaptive execution. The strategy
 * asks Spark's own `JoinSelection` to plan a copy of the join with a hint. A hint in the logical plan would last
 * longer, and adaptive execution could not correct it. A user's hint always wins.
 */
final class JoinChoice(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    FailOpen("choosing how to join", (_: String) => Seq.empty[SparkPlan])(choice(plan))

  private def choice(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    // Spark's own strategy for inputs that are broadcast already comes after this one, and must plan their joins: any
    // other join above a broadcast is an invalid plan, for which adaptive execution gives up what it has planned
    case j: Join if j.children.exists(AdaptiveInput.isBroadcast)                       => Nil
    case j: Join if DovetailConf.Enabled.get(j.conf) && !JoinGroup.hasStrategy(j.hint) =>
      broadcastSide(j).flatMap(planned(j, _, BROADCAST, ChosenJoin.Broadcast))
        .orElse(ExchangedInputs.hashSide(j, session.sparkContext).flatMap(planned(j, _, SHUFFLE_HASH, ChosenJoin.Hash)))
        .getOrElse(keeping(j))
    // adaptive execution has added hints of its own
    case j: Join if DovetailConf.Enabled.get(j.conf) && JoinGroup.strategies(j.hint).forall(JoinChoice.ofSpark) =>
      keeping(j)
    case _ => Nil
  }

  /** None if a query has failed with this same choice. */
  private def planned(j: Join, side: BuildSide, strategy: JoinStrategyHint, method: String): Option[Seq[SparkPlan]] = {
    val hint   = Some(HintInfo(strategy = Some(strategy)))
    val choice = ChosenJoin(method, JoinChoice.input(j, side))
    if (!FailedJoins.mayBe(choice, session)) None
    else {
      val hinted = j.copy(hint = if (side == BuildLeft) JoinHint(hint, None) else JoinHint(None, hint))
      Some(ChosenJoin.mark(session.sessionState.planner.JoinSelection(hinted), choice))
    }
  }

  /**
   * Sides that Spark must not broadcast yet. Once a side has been exchanged, Spark knows the bytes of its rows and may
   * decide by itself.
   */
  private def heavySides(j: Join): Vector[BuildSide] =
    JoinDecision.kept(j).filterNot(side => AdaptiveInput.isExchanged(JoinChoice.input(j, side)))

  /**
   * The join without a broadcast of these sides; nothing if Spark may decide about both, or if it has to broadcast one
   * of them.
   */
  private def keeping(j: Join): Seq[SparkPlan] = {
    val sides                 = heavySides(j)
    def hint(side: BuildSide) = {
      val other = JoinChoice.hint(j, side).flatMap(_.strategy)
      (if (sides.contains(side)) Some(NO_BROADCAST_HASH) else other).map(s => HintInfo(strategy = Some(s)))
    }
    def selection(hints: JoinHint)   = session.sessionState.planner.JoinSelection(j.copy(hint = hints))
    def only(hint: JoinStrategyHint) = Some(HintInfo(strategy = Some(hint)))
    if (sides.isEmpty) Nil
    else if (SparkBuildSide.hasKeys(j)) selection(JoinHint(hint(BuildLeft), hint(BuildRight)))
    else if (!j.joinType.isInstanceOf[InnerLike]) Nil
    else SparkBuildSide(j) match {
      case Some(BuildLeft) => selection(JoinHint(only(BROADCAST), None))
      case Some(_)         => selection(JoinHint(None, only(BROADCAST)))
      case None            => selection(JoinHint(only(SHUFFLE_REPLICATE_NL), None))
    }
  }

  /** A nested loop may copy either side, and the one that was chosen stays: the other one may take too much memory. */
  private def broadcastSide(j: Join): Option[BuildSide] = JoinDecision.broadcast(j).filter(side =>
    !SparkBuildSide.hasKeys(j) || (JoinChoice.builds(j.joinType, side) && !SparkBuildSide.onlySorts(j) &&
      !provenLarge(JoinChoice.input(j, side)))
  )

  /** Whether the side has been computed meanwhile, and is larger than Spark's broadcast threshold. */
  private def provenLarge(plan: LogicalPlan): Boolean =
    AdaptiveInput.complete(plan).isDefined && plan.stats.sizeInBytes > plan.conf.autoBroadcastJoinThreshold
}

object JoinChoice {

  def side(method: JoinMethod): Option[BuildSide] = method match {
    case JoinMethod.BroadcastLeft  => Some(BuildLeft)
    case JoinMethod.BroadcastRight => Some(BuildRight)
    case _                         => None
  }

  def other(side: BuildSide): BuildSide = if (side == BuildLeft) BuildRight else BuildLeft

  def input(j: Join, side: BuildSide): LogicalPlan = if (side == BuildLeft) j.left else j.right

  private[plan] def hint(j: Join, side: BuildSide): Option[HintInfo] =
    if (side == BuildLeft) j.hint.leftHint else j.hint.rightHint

  /**
   * Whether adaptive execution gives this hint. A hint without a name in SQL is no user's; one of these is not a
   * preference but a need of MERGE. Told by its name's absence: not every line has the same hints.
   */
  private def ofSpark(strategy: JoinStrategyHint): Boolean =
    strategy.hintAliases.isEmpty && strategy != NO_BROADCAST_AND_REPLICATION

  /**
   * Whether a side can be the build side. The side whose rows an outer join preserves cannot be broadcast, and Dovetail
   * does not hash it either.
   */
  def builds(joinType: JoinType, side: BuildSide): Boolean = joinType match {
    case Inner                                              => true
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => side == BuildRight
    case RightOuter                                         => side == BuildLeft
    case _                                                  => false
  }
}
