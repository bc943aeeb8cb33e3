package org.apache.spark.sql.dovetail

import java.util.Collections

import dovetail.kernel.cost.{Cost, JoinMethod}
import dovetail.kernel.enumerate.{JoinTree, Outcome}
import dovetail.kernel.graph.{JoinKind, Operator}
import dovetail.kernel.profile.{Estimate, Source}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan}
import org.apache.spark.sql.dovetail.plan.{BroadcastAllowance, BroadcastRoom, CopiedInputs, GroupBroadcasts}
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

/** Which broadcasts of a group fit together: copies of nested loops, then those of hash joins. */
class GroupBroadcastsSuite extends AnyFunSuite {
  private val one = 1000.0

  private def rows(n: Double) = Estimate.exactly(n, Source.Exact)

  private def leaf(relation: Int, memory: Double): JoinTree =
    JoinTree.Leaf(relation, rows(1), bytes = memory, memory, most = 1, Cost(), Vector.empty)

  private def join(
      left: JoinTree,
      right: JoinTree,
      method: JoinMethod,
      operator: Option[Operator] = None
  ): JoinTree.Join = JoinTree.Join(left, right, rows(1), 1, bytes = 1e9, 1e9, most = 1, method, Cost(), operator)(() =>
    throw new UnsupportedOperationException("the choice of the method")
  )

  private def loop(left: Int, right: Int, memory: Double): JoinTree.Join =
    join(leaf(left, 1e6), leaf(right, memory), JoinMethod.NestedLoop)

  private def two(memory: Double): JoinTree.Join =
    join(loop(0, 1, memory), loop(2, 3, memory), JoinMethod.SortMerge)

  private def of(tree: JoinTree, room: BroadcastRoom = BroadcastRoom.of(one), own: Set[Int] = Set.empty) =
    new GroupBroadcasts(tree, one, room, own)

  private def barred(tree: JoinTree, broadcasts: GroupBroadcasts): Option[String] = {
    val outcome = Outcome(tree, tree, "given", 0L, None)(() => None)
    new CopiedInputs(LocalRelation(), Vector.empty, Collections.emptySet[LogicalPlan])
      .exceeding(outcome, broadcasts, 1e9, Vector("a", "b", "c", "d"), priced = true)
  }

  test("two nested loops in a group: both copy a side only if both copies fit together") {
    assert(of(two(500)).loops.size == 2 && of(two(500)).taken.expected == 1000.0)
    assert(barred(two(500), of(two(500))).isEmpty)
    assert(of(two(800)).loops.size == 1 && of(two(800)).taken == BroadcastRoom(800, 800))
    assert(barred(two(800), of(two(800))).exists(_.contains("once for each partition")))
  }

  test("groups over a table of very many columns are no copies of each other, because nobody compares them") {
    val wide           = LocalRelation((0 to 1000).map(i => AttributeReference(s"c$i", IntegerType)()))
    val (first, other) = (Filter(Literal(true), wide), Filter(Literal(false), wide))
    val allowance      = new BroadcastAllowance(one)
    allowance.take(first, BroadcastRoom(800, 800))
    assert(allowance.left(first) == BroadcastRoom.of(one) && allowance.left(other) != BroadcastRoom.of(one))
  }

  test("a copy of a group takes memory of its own if Spark computes equal plans again") {
    val plan = Filter(Literal(true), LocalRelation(AttributeReference("c", IntegerType)()))
    for (reuses <- Seq(true, false)) {
      val allowance = new BroadcastAllowance(one, reuses)
      allowance.take(plan, BroadcastRoom(800, 800))
      assert((allowance.left(plan) == BroadcastRoom.of(one)) == reuses)
    }
  }

  test("nested loops in two groups share the memory of the query") {
    val (first, second) = (loop(0, 1, 800), loop(2, 3, 800))
    val allowance       = new BroadcastAllowance(one)
    assert(barred(first, of(first, allowance.left)).isEmpty && barred(second, of(second, allowance.left)).isEmpty)
    allowance.take(of(first, allowance.left).taken)
    assert(barred(second, of(second, allowance.left)).isDefined)
    assert(of(second, allowance.left).taken == BroadcastRoom(0, 0))
  }

  test("copies of nested loops come before broadcasts of hash joins, which get what is left") {
    def tree(hashed: Double) = join(loop(0, 1, 600), leaf(2, hashed), JoinMethod.BroadcastRight)
    assert(of(tree(400)).fitting.size == 2 && of(tree(400)).largest.isEmpty)
    assert(of(tree(401)).fitting == of(tree(401)).loops && of(tree(401)).largest.contains(0.0))
  }

  test("a loop of an outer join with other inputs counts whatever it takes, because Spark copies its right side") {
    val outer = Operator(
      0,
      JoinKind.LeftOuter,
      Vector(0),
      Vector(2),
      Vector.empty,
      Vector(0, 2),
      0.5,
      Vector.empty,
      wideEquality = false,
      "a < c"
    )
    val inside = loop(0, 1, 800)
    val tree   = join(inside, leaf(2, 5000), JoinMethod.NestedLoop, Some(outer))
    assert(of(tree).loops == Map(tree -> BuildRight) && of(tree).taken == BroadcastRoom(5000, 5000))
    assert(barred(tree, of(tree)).exists(_.startsWith("Spark would read a")))
    val written = join(leaf(0, 1e6), leaf(2, 5000), JoinMethod.NestedLoop, Some(outer))
    assert(of(written).loops.isEmpty, "as written")
  }

  test("a loop over an input that Spark broadcasts by itself is no Cartesian product, whatever its bound is") {
    val tree = loop(0, 1, Estimate.Ceiling)
    assert(barred(tree, of(tree)).isDefined)
    assert(barred(tree, of(tree, own = Set(1))).isEmpty)
  }
}
