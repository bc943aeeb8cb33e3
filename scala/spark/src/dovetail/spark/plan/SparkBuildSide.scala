package org.apache.spark.sql.dovetail.plan

import org.apache.spark.SPARK_VERSION
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{FullOuter, Inner, InnerLike, LeftAnti, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{BROADCAST, Join, LogicalPlan}
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.predicates.JoinCondition
import org.apache.spark.sql.internal.SQLConf

/**
 * The side of a join that is broadcast when the query is planned. [[Planner]] asks for the joins of the written order,
 * and [[SparedInputs]] for those of the written and of the new one.
 */
object SparkBuildSide {

  /**
   * The side that is broadcast: by Dovetail's choice, or by Spark's choice, which depends on sizes. Of two sides of the
   * same size, Spark takes the right one. None if both sides are read. That is so whatever the sizes, decisions and
   * hints are if Spark can only sort by the keys.
   */
  def apply(j: Join): Option[BuildSide] =
    if (isNullAware(j)) Some(BuildRight)
    else if (onlySorts(j)) None
    else JoinDecision.broadcast(j).orElse(hinted(j)).orElse(if (hasKeys(j)) hashed(j) else looped(j))

  /** The side that a hint of the user broadcasts. Such a join is in no group, but may be above one. */
  def hinted(j: Join): Option[BuildSide] =
    Seq(BuildLeft -> j.hint.leftHint, BuildRight -> j.hint.rightHint).collectFirst {
      case (side, Some(hint)) if hint.strategy.contains(BROADCAST) && builds(j, side) => side
    }

  private def hashed(j: Join): Option[BuildSide] = (broadcasts(j, BuildLeft), broadcasts(j, BuildRight)) match {
    case (true, true)  => Some(smaller(j))
    case (left, right) => if (left) Some(BuildLeft) else if (right) Some(BuildRight) else None
  }

  /**
   * The side of a join without keys. A small side is broadcast, whatever the type of the join. If both are small or
   * neither, the type decides, but an inner join of two large sides is a Cartesian product.
   */
  private def looped(j: Join): Option[BuildSide] = {
    val inner                  = j.joinType.isInstanceOf[InnerLike]
    def small(side: BuildSide) = isSmall(j, side) && !(inner && JoinDecision.kept(j).contains(side))
    (small(BuildLeft), small(BuildRight)) match {
      case (true, false)           => Some(BuildLeft)
      case (false, true)           => Some(BuildRight)
      case (false, false) if inner => None
      case _                       =>
        if (inner || j.joinType == FullOuter) Some(smaller(j))
        else Some(if (j.joinType == RightOuter) BuildLeft else BuildRight)
    }
  }

  private def smaller(j: Join): BuildSide =
    if (SparkBroadcast.bytes(j.right) <= SparkBroadcast.bytes(j.left)) BuildRight else BuildLeft

  /**
   * Whether the join is a NOT IN of one column for which Spark makes a hash table of the right side. A NULL on the
   * right side matters then.
   */
  def isNullAware(j: Join): Boolean = j.joinType == LeftAnti && j.conf.optimizeNullAwareAntiJoin && {
    val conjuncts = JoinCondition.of(j)
    conjuncts.size == 1 && conjuncts.head.equality.exists(_.kind == JoinCondition.NullAware)
  } && hashesNotIn(j.right, j.conf)

  /** Whether Spark makes a hash table of this input, the right side of a NOT IN of one column. */
  def hashesNotIn(right: LogicalPlan, conf: SQLConf): Boolean = notInLimit(conf).forall(SparkBroadcast(right, _))

  /**
   * Bytes of the right side up to which Spark makes a hash table for NOT IN; None: any number. In Spark 4.2.0, it is
   * the limit of broadcasts. Later versions have a setting; the limit of broadcasts holds if it is larger.
   */
  def notInLimit(conf: SQLConf): Option[Long] =
    if (SQLConf.containsConfigKey(NotInThreshold)) {
      val set = conf.getConfString(NotInThreshold)
      if (set.startsWith("-")) None
      else Some(math.max(JavaUtils.byteStringAsBytes(set), conf.autoBroadcastJoinThreshold))
    } else if (SPARK_VERSION.startsWith("4.2.")) Some(conf.autoBroadcastJoinThreshold)
    else None

  private val NotInThreshold = "spark.sql.optimizeNullAwareAntiJoin.broadcastThreshold"

  /** Whether the join is a Cartesian product of which Spark broadcasts neither side. */
  def isProduct(j: Join): Boolean = j.joinType.isInstanceOf[InnerLike] && !hasKeys(j) && apply(j).isEmpty

  /** Whether the join has an equality between its sides. Otherwise it cannot be a hash join. */
  def hasKeys(j: Join): Boolean = JoinCondition.keys(j).nonEmpty

  /** Whether Spark cannot hash one of the keys of the join. It then sorts both inputs by all keys. */
  def onlySorts(j: Join): Boolean = JoinCondition.keys(j).exists(!_.hashable)

  private def broadcasts(j: Join, side: BuildSide): Boolean =
    builds(j, side) && !JoinDecision.kept(j).contains(side) && isSmall(j, side)

  private def builds(j: Join, side: BuildSide): Boolean =
    JoinChoice.builds(if (j.joinType.isInstanceOf[InnerLike]) Inner else j.joinType, side)

  private def isSmall(j: Join, side: BuildSide): Boolean =
    SparkBroadcast.ofSide(j, JoinChoice.input(j, side), j.conf.autoBroadcastJoinThreshold)
}
