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
 * @param memory bytes of memory that the broadcasts may take
 */
final class GroupBroadcasts(tree: JoinTree, memory: Double) {
  private val chosen: Vector[(JoinTree.Join, BuildSide, Double)] = tree.joins.flatMap { j =>
    // Spark broadcasts by itself what it can run in no other way
    val side = if (j.operator.exists(_.copies)) None else JoinChoice.side(j.method)
    side.map(s => (j, s, (if (s == BuildLeft) j.left else j.right).memory))
  }

  private val fit: Vector[(JoinTree.Join, BuildSide, Double)] = {
    val sized = chosen.sortBy(_._3)
    sized.zip(sized.map(_._3).scanLeft(0.0)(_ + _).tail).collect { case (one, sum) if sum <= memory => one }
  }

  /** Those that fit together, the small ones first. */
  val fitting: Map[JoinTree.Join, BuildSide] = fit.map { case (j, side, _) => j -> side }.toMap

  /** Bytes of memory of the largest broadcast that fits, if some of them do not. */
  val largest: Option[Double] =
    if (fit.size == chosen.size) None else Some(fit.lastOption.fold(0.0)(_._3))
}
