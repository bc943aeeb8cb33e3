package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike, LeftAnti}
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinCondition}

/**
 * The side of a join that is broadcast when the query is planned. [[Planner]] asks for the joins of the written order,
 * and [[SparedInputs]] for those of the written and of the new one.
 */
object SparkBuildSide {

  /**
   * The side that is broadcast: by Dovetail's choice, or by Spark's choice, which depends on sizes. Of two sides of the
   * same size, Spark takes the right one. A join that is not inner and has no key can only be a broadcast join. None if
   * both sides are read.
   */
  def apply(j: Join): Option[BuildSide] =
    if (isNullAware(j)) Some(BuildRight)
    else JoinDecision.broadcast(j).orElse {
      (broadcasts(j, BuildLeft), broadcasts(j, BuildRight)) match {
        case (true, true) =>
          Some(if (SparkBroadcast.bytes(j.right) <= SparkBroadcast.bytes(j.left)) BuildRight else BuildLeft)
        case (left, right) =>
          if (left) Some(BuildLeft)
          else if (right || (j.joinType != Inner && JoinChoice.builds(j.joinType, BuildRight) && !hasKeys(j)))
            Some(BuildRight)
          else None
      }
    }

  /**
   * Whether the join is a NOT IN of one column, for which a NULL on the right side matters. Spark broadcasts its right
   * side, whatever its size.
   */
  def isNullAware(j: Join): Boolean = j.joinType == LeftAnti && j.conf.optimizeNullAwareAntiJoin &&
    j.condition.exists(sides(j)(_).equality.exists(_.kind == JoinCondition.NullAware))

  /** Whether the join is a Cartesian product of which Spark broadcasts neither side. */
  def isProduct(j: Join): Boolean = j.joinType.isInstanceOf[InnerLike] && !hasKeys(j) &&
    JoinDecision.broadcast(j).isEmpty && !broadcasts(j, BuildLeft) && !broadcasts(j, BuildRight)

  /** Whether the join has an equality between its sides. Otherwise it cannot be a hash join. */
  def hasKeys(j: Join): Boolean = j.condition.exists(Conjuncts(_).exists(sides(j)(_).sides.isDefined))

  private def broadcasts(j: Join, side: BuildSide): Boolean =
    JoinChoice.builds(if (j.joinType.isInstanceOf[InnerLike]) Inner else j.joinType, side) &&
      !JoinDecision.kept(j).contains(side) &&
      SparkBroadcast(JoinChoice.input(j, side), j.conf.autoBroadcastJoinThreshold)

  /** The two sides of a join as two relations of a classifier. */
  private def sides(j: Join) = new JoinCondition.Classifier(Vector(j.left.outputSet, j.right.outputSet))
}
