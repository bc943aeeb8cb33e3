package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.JoinMethod
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.FailOpen
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage => AdaptiveStage, QueryStageExec}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * How a join is done, where we know better than Spark:
 *
 *  - Broadcasts that the search decided on: of a small side that Spark cannot see to be small, because without column statistics of its own it takes the
 *    size of a join for the product of its inputs. The decision lies on the join as a tag.
 *  - Hash tables instead of two sorts, once both inputs of a shuffled join are exchanged and counted ([[ExchangedInputs]]).
 *
 * Here, when a join is planned, and planned again during adaptive execution, Spark's own `JoinSelection` is asked to plan a copy of the join with a hint. A
 * hint in the logical plan would outlive the moment: adaptive execution could not correct it. A user's hint always wins.
 */
final class JoinChoice(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = FailOpen("choosing how to join", (_: String) => Seq.empty[SparkPlan])(choice(plan))

  private def choice(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case j: Join if DovetailConf.Enabled.get(j.conf) && !hasStrategy(j.hint) && !isBroadcast(j.left) && !isBroadcast(j.right) =>
      broadcastSide(j).map(planned(j, _, BROADCAST))
        .orElse(ExchangedInputs.hashSide(j, session.sparkContext).map(planned(j, _, SHUFFLE_HASH)))
        .getOrElse(Nil)
    case _ => Nil
  }

  private def planned(j: Join, side: BuildSide, strategy: JoinStrategyHint): Seq[SparkPlan] = {
    val hint = Some(HintInfo(strategy = Some(strategy)))
    session.sessionState.planner.JoinSelection(j.copy(hint = if (side == BuildLeft) JoinHint(hint, None) else JoinHint(None, hint)))
  }

  private def broadcastSide(j: Join): Option[BuildSide] = j.getTagValue(JoinChoice.Tag).filter { side =>
    val build = JoinChoice.input(j, side)
    JoinChoice.builds(j.joinType, side) && !provenLarge(build) && FailedBroadcasts.mayBe(build, session)
  }

  private def hasStrategy(hint: JoinHint): Boolean = (hint.leftHint ++ hint.rightHint).exists(_.strategy.isDefined)

  /** Already broadcast: Spark's own strategy for such stages comes after ours, and has to plan the join. */
  private def isBroadcast(plan: LogicalPlan): Boolean = plan match {
    case s: AdaptiveStage => s.physicalPlan.isInstanceOf[BroadcastQueryStageExec]
    case _                => false
  }

  /** The side has been computed meanwhile, and is larger than what is broadcast. */
  private def provenLarge(plan: LogicalPlan): Boolean = plan match {
    case s: AdaptiveStage => s.physicalPlan match {
        case q: QueryStageExec => q.isMaterialized && s.stats.sizeInBytes > s.conf.autoBroadcastJoinThreshold
        case _                 => false
      }
    case _ => false
  }
}

object JoinChoice {

  /** The side to broadcast. */
  val Tag: TreeNodeTag[BuildSide] = TreeNodeTag[BuildSide]("dovetail.broadcast")

  def side(method: JoinMethod): Option[BuildSide] = method match {
    case JoinMethod.BroadcastLeft  => Some(BuildLeft)
    case JoinMethod.BroadcastRight => Some(BuildRight)
    case _                         => None
  }

  def input(j: Join, side: BuildSide): LogicalPlan = if (side == BuildLeft) j.left else j.right

  /** The side whose rows come out, partner or not, cannot be the one that is broadcast, and is not the one that we hash. */
  def builds(joinType: JoinType, side: BuildSide): Boolean = joinType match {
    case Inner                                              => true
    case LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => side == BuildRight
    case RightOuter                                         => side == BuildLeft
    case _                                                  => false
  }
}
