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
   * Nested loops that are not inner joins and have other inputs than in the written order: they copy the right side.
   */
  private val ofOperators: Vector[Broadcast] = tree.joins.flatMap { j =>
    j.operator.filter(CopiedInputs.isNew(j, _)).map(_ => Broadcast(j, BuildRight, j.right))
  }

  /** Inner nested loops whose smaller side may be copied if it fits beside the other broadcasts. */
  private val inner: Vector[Broadcast] = tree.joins.filter(j => j.operator.isEmpty && j.method == JoinMethod.NestedLoop)
    .map(j => if (j.right.bytes <= j.left.bytes) Broadcast(j, BuildRight, j.right) else Broadcast(j, BuildLeft, j.left))
    .filter(_.memory <= one)

  /** Copies of nested loops. They come first, because a loop whose inputs are not copied is a Cartesian product. */
  private val ofLoops: Vector[Broadcast] = ofOperators ++ within(inner, ofOperators)

  /**
   * The sides that nested loops copy: the smaller side of an inner join if it fits, and the right side of another join
   * that has other inputs than in the written order. [[CopiedInputs]] has made sure that it fits.
   */
  val loops: Map[JoinTree.Join, BuildSide] = ofLoops.map(c => c.join -> c.side).toMap

  /** Whether one side of a nested loop is copied, by Dovetail's choice or by Spark's. */
  def copies(loop: JoinTree.Join): Boolean = loops.contains(loop) || isOwn(loop.left) || isOwn(loop.right)

  private val chosen: Vector[Broadcast] = tree.joins.flatMap { j =>
    // Spark broadcasts by itself what it can run in no other way
    val side = if (j.operator.exists(_.copies)) None else JoinChoice.side(j.method)
    side.map(s => Broadcast(j, s, if (s == BuildLeft) j.left else j.right))
  }

  private val fit: Vector[Broadcast] = within(chosen, ofLoops)

  /** Those that fit together and beside others, the small ones first. */
  private def within(some: Vector[Broadcast], others: Vector[Broadcast]): Vector[Broadcast] = {
    val sized = some.sortBy(_.memory)
    val sums  = sized.scanLeft(memory(others)) { (sum, c) =>
      BroadcastRoom(sum.most + c.memory, sum.expected + c.expected)
    }
    sized.zip(sums.tail).collect { case (c, sum) if room.fits(sum) => c }
  }

  private def memory(all: Vector[Broadcast]): BroadcastRoom =
    BroadcastRoom(all.map(_.memory).sum, all.map(_.expected).sum)

  /** Memory of those that fit, and of the copies of nested loops. */
  def taken: BroadcastRoom = memory(ofLoops ++ fit)

  /** Those that fit together, the small ones first, and those of nested loops. */
  lazy val fitting: Map[JoinTree.Join, BuildSide] = fit.map(c => c.join -> c.side).toMap ++ loops

  /** Bytes of memory of the largest broadcast that fits, if some of Dovetail's choice do not. */
  val largest: Option[Double] =
    if (chosen.forall(c => isOwn(c.input) || fit.exists(_ eq c))) None else Some(fit.lastOption.fold(0.0)(_.memory))

  private def isOwn(input: JoinTree): Boolean = input match {
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
