package dovetail.kernel.cost

import dovetail.kernel.graph.JoinKind

/**
 * What a cost model has to know of an operator's join. Unlike the two sides of a class, those of an operator's equality
 * may be keys of different classes.
 *
 * @param leftKey  the keys on its left side, as a partitioning mask; 0 where there are none
 * @param rightKey the keys on its right side
 * @param equi     there is an equality to hash or sort by
 */
final case class OperatorJoin(kind: JoinKind, leftKey: Long, rightKey: Long, equi: Boolean) {

  /**
   * The side that is matched against may be copied to where the other one is: of a full outer join, every row of both
   * may come out by itself.
   */
  def broadcastsRight: Boolean = kind != JoinKind.FullOuter

  /** What the right side has no keys of need not be read on the left: rows without a partner are not in the result. */
  def prunesLeft: Boolean = kind == JoinKind.Semi

  /**
   * Partitioning of its output, where both sides were partitioned by their keys: rows without a partner keep their left
   * key, if they have a left side.
   */
  def partitioning: Long = if (kind == JoinKind.FullOuter) 0L else leftKey
}
