package org.apache.spark.sql.dovetail.group

import dovetail.kernel.graph.JoinKind
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.Join

/**
 * A join of a join group that is not inner, as written. A right outer join is represented as a left outer join with
 * swapped inputs.
 *
 * @param left  leaves below its left input, ascending
 * @param right leaves below its right input, ascending
 */
final case class WrittenJoin(
    kind: JoinKind,
    joinType: JoinType,
    left: Vector[Int],
    right: Vector[Int],
    condition: Option[Expression]
) {

  /** The column that an existence join adds. */
  def flag: Option[Attribute] = joinType match {
    case ExistenceJoin(exists) => Some(exists)
    case _                     => None
  }
}

object WrittenJoin {

  /** None for an inner join. */
  def apply(join: Join, left: Vector[Int], right: Vector[Int]): Option[WrittenJoin] = join.joinType match {
    case RightOuter => Some(new WrittenJoin(JoinKind.LeftOuter, LeftOuter, right, left, join.condition))
    case other      => kindOf(other).map(new WrittenJoin(_, other, left, right, join.condition))
  }

  /**
   * Whether the search supports joins of this type. It does not support the joins that Spark 4 makes of scalar
   * subqueries, which fail on a second join partner.
   */
  def known(joinType: JoinType): Boolean = joinType match {
    case Inner | Cross | RightOuter => true
    case other                      => kindOf(other).isDefined
  }

  private def kindOf(joinType: JoinType): Option[JoinKind] = joinType match {
    case LeftOuter        => Some(JoinKind.LeftOuter)
    case FullOuter        => Some(JoinKind.FullOuter)
    case LeftSemi         => Some(JoinKind.Semi)
    case LeftAnti         => Some(JoinKind.Anti)
    case ExistenceJoin(_) => Some(JoinKind.Existence)
    case _                => None
  }
}
