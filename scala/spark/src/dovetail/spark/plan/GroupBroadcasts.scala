package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.enumerate.JoinTree
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}

/**
 * The broadcasts that Dovetail chooses in one join group. Adaptive execution starts all broadcasts of a query at once,
 * and a chain of joins holds all of their tables, so they have to fit into memory together.
 *
 * The search prices each broadcast alone. If its plan needs more memory, [[GroupOrdering]] searches again without the
 * broadcasts that do not fit, because a plan that loses one afterwards may cost many times what it was chosen for.
 *
 * @param one bytes of memory that one broadcast may take
 */
final class GroupBroadcasts(tree: JoinTree, one: Double) {
  private val memory = one * GroupBroadcasts.Together

  private val chosen: Vector[(JoinTree.Join, BuildSide, Double)] = tree.joins.flatMap { j =>
    // Spark broadcasts by itself what it can run in no other way
    val side = if (j.operator.exists(_.copies)) None else JoinChoice.side(j.method)
    side.map(s => (j, s, (if (s == BuildLeft) j.left else j.right).memory))
  }

  private val fit: Vector[(JoinTree.Join, BuildSide, Double)] = {
    val sized = chosen.sortBy(_._3)
    sized.zip(sized.map(_._3).scanLeft(0.0)(_ + _).tail).collect { case (each, sum) if sum <= memory => each }
  }

  /** Those that fit together, the small ones first. */
  val fitting: Map[JoinTree.Join, BuildSide] = fit.map { case (j, side, _) => j -> side }.toMap

  /** Bytes of memory of the largest broadcast that fits, if some of them do not. */
  val largest: Option[Double] =
    if (fit.size == chosen.size) None else Some(fit.lastOption.fold(0.0)(_._3))
}

private object GroupBroadcasts {

  /**
   * Memory of all broadcasts of a group, in parts of what one may take: a fifth of the heap. One takes its maximum only
   * if its estimate is wrong by far, and two of them seldom do so in one query.
   */
  val Together = 2.0
}
