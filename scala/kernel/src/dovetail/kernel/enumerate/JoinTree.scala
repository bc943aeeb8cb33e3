package dovetail.kernel.enumerate

import dovetail.kernel.cost.{BroadcastMemory, Cost, CostModel, JoinMethod, MethodChoice, SubPlan}
import dovetail.kernel.graph.{JoinKind, Operator, Step}
import dovetail.kernel.profile.Estimate

/**
 * The result of a search: a tree of joins over relations, with the size and the cost of each node. Relations are
 * identified by their index.
 */
sealed trait JoinTree {

  /** Relations of the tree, ascending. */
  def relations: Vector[Int]
  def rows: Estimate

  /** Estimated bytes of the rows. */
  def bytes: Double

  /** Bytes of memory that a broadcast of the rows takes if the estimates are right. */
  def expectedMemory: Double = math.min(memory, BroadcastMemory(rows.value, bytes))

  /**
   * Bytes of memory that a broadcast of the rows should not exceed, however wrong their estimate is
   * ([[dovetail.kernel.cost.BroadcastMemory]]).
   */
  def memory: Double

  /** Rows that the tree should not return more than, however wrong their estimate is ([[SubPlan]]). */
  def most: Double

  /** Cost of the whole tree. */
  def cost: Cost

  /**
   * Cost of the work that is done before the first row comes out (PostgreSQL's startup cost): a broadcast join streams
   * its other input, an exchange needs all rows of both inputs. At most the whole cost, from which the scans are taken
   * off that broadcasts further up make unnecessary.
   */
  def startup: Double = math.max(0.0, math.min(beforeFirstRow, cost.total))

  private def beforeFirstRow: Double = this match {
    case j: JoinTree.Join if j.method == JoinMethod.BroadcastRight || j.copiesRight =>
      j.left.startup + j.right.cost.total + j.own.broadcast
    case j: JoinTree.Join if j.method == JoinMethod.BroadcastLeft || j.method == JoinMethod.NestedLoop =>
      j.right.startup + j.left.cost.total + j.own.broadcast
    case j: JoinTree.Join if j.method == JoinMethod.Unspecified => j.cost.total
    case j: JoinTree.Join                                       => j.cost.total - j.own.output
    // the filter of a reducer is built before the scan starts
    case l: JoinTree.Leaf => if (l.reducers.isEmpty) 0.0 else l.cost.hash
  }

  /** Cost of producing so many of the tree's rows, if the rest is not asked for. */
  def costOf(needed: Double): Double =
    startup + (cost.total - startup) * math.min(1.0, needed / math.max(rows.value, 1.0))

  /** All joins, inputs before outputs. */
  def joins: Vector[JoinTree.Join] = this match {
    case j: JoinTree.Join => j.left.joins ++ j.right.joins :+ j
    case _                => Vector.empty
  }

  /** Reducers of all relations. */
  def reducers: Vector[Reducer] = this match {
    case j: JoinTree.Join => j.left.reducers ++ j.right.reducers
    case _                => Vector.empty
  }

  /** The same without the methods that were not chosen: they are computed on request from the whole search. */
  def light: JoinTree = this match {
    case l: JoinTree.Leaf => l
    case j: JoinTree.Join =>
      val (left, right)      = (j.left.light, j.right.light)
      def input(t: JoinTree) = MethodChoice.Input(t.bytes, t.memory, broadcast = false, partitioned = false)
      val chosen             = MethodChoice(input(left), input(right), Vector(MethodChoice.Way(j.method, j.own.total)))
      j.copy(left = left, right = right)(() => chosen)
  }

  def shape: Shape = this match {
    case l: JoinTree.Leaf => Shape.Leaf(l.relation)
    case j: JoinTree.Join => Shape.Join(j.left.shape, j.right.shape)
  }
}

object JoinTree {

  /**
   * @param cost     cost of its scan, as far as joins can change it, and of its reducers
   * @param reducers reducers that remove rows of the relation
   */
  final case class Leaf(
      relation: Int,
      rows: Estimate,
      bytes: Double,
      memory: Double,
      most: Double,
      cost: Cost,
      override val reducers: Vector[Reducer]
  ) extends JoinTree {
    val relations: Vector[Int] = Vector(relation)
  }

  /**
   * @param estimated estimated rows, not corrected by known sizes
   * @param own       cost of this join without its inputs
   * @param operator  operator of the graph that this join executes, with `left` as its left side; None for an inner
   *                  join
   * @param choice    alternatives that the method was chosen from. Computed only on request, because it is for reports
   *                  and not for the plan.
   */
  final case class Join(
      left: JoinTree,
      right: JoinTree,
      rows: Estimate,
      estimated: Double,
      bytes: Double,
      memory: Double,
      most: Double,
      method: JoinMethod,
      own: Cost,
      operator: Option[Operator]
  )(
      val choice: () => MethodChoice
  ) extends JoinTree {
    def kind: JoinKind = operator.fold[JoinKind](JoinKind.Inner)(_.kind)

    /** Whether it is a nested loop that copies its right side: always in joins that are not inner, else the smaller. */
    def copiesRight: Boolean =
      method == JoinMethod.NestedLoop && (operator.isDefined || right.rows.value <= left.rows.value)
    val relations: Vector[Int] = merged(left.relations, right.relations)
    val cost: Cost             = left.cost + right.cost + own
  }

  /** Merges two ascending lists. */
  private def merged(a: Vector[Int], b: Vector[Int]): Vector[Int] = {
    val all = (a ++ b).toArray; java.util.Arrays.sort(all); all.toVector
  }

  /**
   * Converts alternative `i` of `plan` to a tree. The larger input of an inner join is on the left, as people write it
   * (in a tie, the input with the first relation). Other joins keep their sides.
   */
  def fromPlan(plan: SubPlan, i: Int, sizer: Sizer, costs: CostModel): JoinTree =
    if (plan.isLeaf) {
      val r       = plan.relation
      val filters = sizer.filters(r, costs)
      val cost    = Cost(hash = filters, scan = plan.cost(i) - filters)
      Leaf(
        r,
        sizer.estimate(Array(r)),
        plan.bytes,
        plan.cautious,
        plan.most,
        cost,
        sizer.reducers.filter(_.reduced == r)
      )
    } else {
      val left  = fromPlan(plan.left(i), plan.leftAlternative(i), sizer, costs)
      val right = fromPlan(plan.right(i), plan.rightAlternative(i), sizer, costs)
      val set   = (left.relations ++ right.relations).toArray
      val rows  = sizer.estimate(set)
      val plain = sizer.model.estimatedRows(set)
      sizer.step(left.relations, right.relations).flatMap(_.operator) match {
        case Some(o) =>
          val by       = sizer.operators(o.index)
          def choice() = MethodChoice(plan, i, (by.leftKey, by.rightKey))(costs.join(_, _, _, by))
          val own      = costs.parts(plan, i, by)
          Join(left, right, rows, plain, plan.bytes, plan.cautious, plan.most, plan.method(i), own, Some(o))(choice _)
        case None => inner(plan, i, left, right, rows, plain, sizer, costs)
      }
    }

  private def inner(
      plan: SubPlan,
      i: Int,
      left: JoinTree,
      right: JoinTree,
      rows: Estimate,
      estimated: Double,
      sizer: Sizer,
      costs: CostModel
  ): Join = {
    val (l, r)         = (plan.left(i).rows, plan.right(i).rows)
    val flip           = r > l || (r == l && right.relations.head < left.relations.head)
    val key            = plan.left(i).classes & plan.right(i).classes
    def loose          = sizer.looseEquality(left.relations.toSet, right.relations.toSet)
    def choice()       = MethodChoice(plan, i, (key, key))(sizer.price(_, _, _, Step.Inner, costs)(loose))
    val own            = costs.parts(plan, i)
    val (memory, most) = (plan.cautious, plan.most)
    val method         = plan.method(i)
    if (flip)
      Join(right, left, rows, estimated, plan.bytes, memory, most, method.flipped, own, None)(() => choice().flipped)
    else Join(left, right, rows, estimated, plan.bytes, memory, most, method, own, None)(choice _)
  }
}

/** The shape of a join tree, without sizes and costs. */
sealed trait Shape {
  def render(name: Int => String): String = this match {
    case Shape.Leaf(r)    => name(r)
    case Shape.Join(l, r) => s"(${l.render(name)} ${r.render(name)})"
  }
  def leaves: Vector[Int] = this match {
    case Shape.Leaf(r)    => Vector(r)
    case Shape.Join(l, r) => l.leaves ++ r.leaves
  }

  /** Whether both shapes have the same joins, regardless of left and right. */
  def sameJoins(that: Shape): Boolean = (this, that) match {
    case (Shape.Leaf(a), Shape.Leaf(b))       => a == b
    case (Shape.Join(a, b), Shape.Join(c, d)) =>
      (a.sameJoins(c) && b.sameJoins(d)) || (a.sameJoins(d) && b.sameJoins(c))
    case _ => false
  }
}

object Shape {

  /** The joins of alternative `i` of a plan. */
  def of(plan: SubPlan, i: Int): Shape =
    if (plan.isLeaf) Leaf(plan.relation)
    else Join(of(plan.left(i), plan.leftAlternative(i)), of(plan.right(i), plan.rightAlternative(i)))

  final case class Leaf(relation: Int)             extends Shape
  final case class Join(left: Shape, right: Shape) extends Shape
}
