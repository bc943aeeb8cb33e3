package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.JoinMethod
import dovetail.kernel.enumerate.JoinTree
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}

/**
 * The broadcasts that Dovetail chooses in one join group. Adaptive execution starts all broadcasts of a query at once,
 * and a chain of joins holds all of their tables, so they have to fit into memory together, with those of the query's
 * other groups ([[BroadcastAllowance]]).
 *
 * The search prices each broadcast alone. If its plan needs more memory, [[GroupSearch]] searches again without the
 * broadcasts that do not fit, because a plan that loses one afterwards may cost many times what it was chosen for.
 *
 * Joins without keys are nested loops, and Spark decides by its own sizes which side of them it copies, or whether it
 * makes a Cartesian product. The sizes of joins that Spark has not seen before are products of their inputs. So the
 * plan says which side is copied ([[loops]]).
 *
 * @param one  bytes of memory that one broadcast may take
 * @param room memory that all of them may take
 * @param own  relations that Spark broadcasts by itself, whether Dovetail asks for it or not
 */
final class GroupBroadcasts(tree: JoinTree, one: Double, room: BroadcastRoom, own: Int => Boolean) {
  import GroupBroadcasts._

  /**
   * The sides that nested loops copy: the smaller side of an inner join if it fits, and the right side of another join
   * that has other inputs than in the written order. [[CopiedInputs]] has made sure that it fits.
   */
  lazy val loops: Map[JoinTree.Join, BuildSide] = tree.joins.flatMap(j => loopSide(j).map(j -> _)).toMap

  private def loopSide(j: JoinTree.Join): Option[BuildSide] = j.operator match {
    case Some(o) if CopiedInputs.isNew(j, o)       => Some(BuildRight)
    case None if j.method == JoinMethod.NestedLoop =>
      val small = if (j.right.bytes <= j.left.bytes) BuildRight else BuildLeft
      if ((if (small == BuildLeft) j.left else j.right).memory <= one) Some(small) else None
    case _ => None
  }

  private val chosen: Vector[Broadcast] = tree.joins.flatMap { j =>
    // Spark broadcasts by itself what it can run in no other way
    val side = if (j.operator.exists(_.copies)) None else JoinChoice.side(j.method)
    side.map(s => Broadcast(j, s, if (s == BuildLeft) j.left else j.right))
  }

  private val fit: Vector[Broadcast] = {
    val sized = chosen.sortBy(_.memory)
    val sums  = sized.scanLeft((0.0, 0.0)) { case ((most, expected), c) => (most + c.memory, expected + c.expected) }
    sized.zip(sums.tail).collect { case (c, (most, expected)) if room.fits(BroadcastRoom(most, expected)) => c }
  }

  /** Memory of those that fit. */
  def taken: BroadcastRoom = BroadcastRoom(fit.map(_.memory).sum, fit.map(_.expected).sum)

  /** Those that fit together, the small ones first, and those of nested loops. */
  lazy val fitting: Map[JoinTree.Join, BuildSide] = fit.map(c => c.join -> c.side).toMap ++ loops

  /** Bytes of memory of the largest broadcast that fits, if some of Dovetail's choice do not. */
  val largest: Option[Double] =
    if (chosen.forall(c => isOwn(c) || fit.exists(_ eq c))) None else Some(fit.lastOption.fold(0.0)(_.memory))

  private def isOwn(c: Broadcast): Boolean = c.input match {
    case l: JoinTree.Leaf => own(l.relation)
    case _                => false
  }
}

private object GroupBroadcasts {

  final private case class Broadcast(join: JoinTree.Join, side: BuildSide, input: JoinTree) {
    def memory: Double   = input.memory
    def expected: Double = input.expectedMemory
  }
}
