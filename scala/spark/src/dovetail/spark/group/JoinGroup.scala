package org.apache.spark.sql.dovetail.group

import scala.annotation.tailrec
import scala.collection.mutable

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.JoinKind
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, Expression, ExprId, NamedExpression}
import org.apache.spark.sql.catalyst.plans.{Cross, InnerLike}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.{JoinPredicates, Movable, MovableCondition, PlacedCondition}

/**
 * A maximal group of joins: the first step from a logical plan to a join graph.
 *
 * The group spans joins of all kinds without a strategy hint, filters above them, and projections between them if each
 * computed column reads one input. Every other operator is a leaf of the group: aggregates, windows, limits, unions,
 * joins with a hint, and joins, filters and projections whose expressions must stay where they are ([[Movable]]). A
 * join whose condition may throw cannot be part of a group: Spark pushes filters and conditions down after our rule,
 * through any order that it finds.
 *
 * @param top        plan that the group replaces
 * @param leaves     leaf plans of the join group, in order of appearance, so that copies of the body of a common table
 *                   expression come out equal
 * @param conditions conditions of inner joins, and filters
 * @param operators  joins of other kinds, bottom-up
 * @param computed   columns that projections between the joins compute, each with the leaf from which it is computed; a
 *                   column comes before the columns that read it
 * @param fragile    columns of the leaves, and columns computed from them, whose expressions may throw:
 *                   [[FragileColumns]]
 * @param shape      join tree as written
 * @param crossed    whether some join is written as CROSS JOIN
 * @param marked     whether every join carries Dovetail's mark, so the group is ordered already
 */
final case class JoinGroup(
    top: LogicalPlan,
    leaves: Vector[LogicalPlan],
    conditions: Vector[PlacedCondition],
    operators: Vector[WrittenJoin],
    computed: Vector[(Int, Alias)],
    fragile: AttributeSet,
    shape: Shape,
    crossed: Boolean,
    marked: Boolean
) {

  private val own: Vector[AttributeSet] = leaves.indices.toVector.map { i =>
    AttributeSet(leaves(i).output ++ computed.collect { case (`i`, a) => a.toAttribute })
  }

  /**
   * Per leaf, the columns by which the group's expressions refer to it: its own columns, the columns computed from it,
   * and the flag of an existence join that has the leaf on its right side. An expression that reads the flag depends on
   * all leaves of that side.
   */
  val outputs: Vector[AttributeSet] = leaves.indices.toVector.map(i =>
    AttributeSet(own(i).toSeq ++ operators.filter(_.right.contains(i)).flatMap(_.flag))
  )

  def predicates: JoinPredicates = JoinPredicates(outputs, conditions, fragile)

  /** Per leaf, its alias or the name of its view, if the query refers to one of its columns by it. */
  lazy val aliases: Vector[Option[InputAliases.InputAlias]] =
    InputAliases(outputs, conditions.map(_.expression) ++ operators.flatMap(_.condition), leaves)

  /** Whether no two leaves share a column. */
  def distinct: Boolean = own.map(_.size).sum == AttributeSet(own.flatten).size

  /** The leaves, or the plans that replace them, with the columns that the projections between the joins compute. */
  def withComputed(plans: Vector[LogicalPlan]): Vector[LogicalPlan] = {
    val byLeaf = computed.groupBy(_._1)
    plans.zipWithIndex.map { case (p, i) => byLeaf.get(i).fold(p)(all => JoinGroup.over(p, all.map(_._2))) }
  }
}

object JoinGroup {

  /**
   * Dovetail's mark on a join: a hint without a strategy. It means nothing to Spark's planner, but Spark's own
   * reordering does not touch joins with a hint.
   */
  val Mark: JoinHint = JoinHint(Some(HintInfo()), None)

  def isMark(hint: JoinHint): Boolean = hint.leftHint.exists(_.strategy.isEmpty) && hint.rightHint.isEmpty

  /** Computes columns over a plan, in one projection as long as none of them reads another one. */
  private def over(plan: LogicalPlan, columns: Vector[Alias]): LogicalPlan = {
    val (below, rest) = untilRead(columns)
    val projected     = Project(plan.output ++ below, plan)
    if (rest.isEmpty) projected else over(projected, rest)
  }

  private def untilRead(columns: Vector[Alias]): (Vector[Alias], Vector[Alias]) = {
    val computed = mutable.HashSet.empty[ExprId]
    columns.span { a =>
      val apart = !a.references.exists(r => computed(r.exprId))
      computed += a.exprId
      apart
    }
  }

  /**
   * Most leaves of a group that includes joins that are not inner. In a larger group these joins become leaves, as
   * written: with four hundred relations, half of them outer joined, the greedy search alone takes all of the planning
   * time, and the steps before the search take as much again.
   */
  private val MostWithOperators = 300

  /**
   * Matches a plan with at least one join, so at least two leaves. A projection above all joins that computes columns
   * is not part of the group.
   */
  def unapply(plan: LogicalPlan): Option[JoinGroup] = plan match {
    case Project(list, _) if !list.forall(_.isInstanceOf[Attribute]) => None
    case _ if !isAboveJoin(plan)                                     => None
    // a walk asks again for each input, and the parts of a large group take time to build
    case _ if !isAboveInner(plan) && isTooLarge(plan) => None
    case _                                            =>
      val whole = part(plan, 0)
      val all   = if (whole.operators.nonEmpty && whole.leaves.size > MostWithOperators) part(plan, 0, innerOnly = true)
      else whole
      if (all.joins.isEmpty) None
      else {
        val (crossed, marked) = (all.joins.exists(_.joinType == Cross), all.joins.forall(j => isMark(j.hint)))
        Some(JoinGroup(
          plan,
          all.leaves,
          all.conditions,
          all.operators,
          all.computed,
          all.fragile,
          all.shape,
          crossed,
          marked
        ))
      }
  }

  /**
   * @param places leaf of each computed column
   * @param open leaves whose rows come out unchanged or repeated; excludes leaves that an outer join fills with NULLs
   *             and leaves on the right side of a semi or anti join
   */
  final private case class SubGroup(
      shape: Shape,
      leaves: Vector[LogicalPlan],
      first: Int,
      open: Set[Int],
      fragile: AttributeSet,
      conditions: Vector[PlacedCondition] = Vector.empty,
      operators: Vector[WrittenJoin] = Vector.empty,
      computed: Vector[(Int, Alias)] = Vector.empty,
      places: Map[ExprId, Int] = Map.empty,
      joins: Vector[Join] = Vector.empty
  ) {
    def numbers: Vector[Int] = leaves.indices.toVector.map(first + _)

    def filtered(condition: Expression): SubGroup =
      copy(conditions = conditions :+ PlacedCondition(condition, numbers, open))

    def joined(that: SubGroup, join: Join): SubGroup = {
      val both = SubGroup(
        Shape.Join(shape, that.shape),
        leaves ++ that.leaves,
        first,
        open ++ that.open,
        fragile ++ that.fragile,
        conditions ++ that.conditions,
        operators ++ that.operators,
        computed ++ that.computed,
        places ++ that.places,
        (joins ++ that.joins) :+ join
      )
      WrittenJoin(join, numbers, that.numbers) match {
        case Some(o) =>
          both.copy(
            open = if (o.kind == JoinKind.FullOuter) Set.empty else if (o.left == numbers) open else that.open,
            operators = both.operators :+ o
          )
        case None => join.condition.fold(both)(both.filtered)
      }
    }

    /** This part with the columns of a projection, if each can be computed from one leaf before the joins. */
    def projected(list: Seq[NamedExpression]): Option[SubGroup] = list.foldLeft(Option(this)) {
      case (part, _: Attribute) => part
      case (part, a: Alias)     => part.flatMap(p => p.leafOf(a).map(i => p.computing(i, a)))
      case _                    => None
    }

    private def computing(leaf: Int, a: Alias): SubGroup =
      copy(
        computed = computed :+ (leaf -> a),
        places = places + (a.exprId  -> leaf),
        fragile = if (a.references.exists(fragile.contains)) fragile + a.toAttribute else fragile
      )

    private def leafOf(a: Alias): Option[Int] = {
      def has(i: Int) =
        a.references.forall(r => leaves(i - first).outputSet.contains(r) || places.get(r.exprId).contains(i))
      if (a.references.nonEmpty && Movable(a.child)) numbers.find(i => open(i) && has(i)) else None
    }
  }

  private def part(plan: LogicalPlan, first: Int, innerOnly: Boolean = false): SubGroup = {
    def leaf                     = SubGroup(Shape.Leaf(first), Vector(plan), first, Set(first), FragileColumns(plan))
    def over(child: LogicalPlan) =
      if (isAboveJoin(child)) Some(part(child, first, innerOnly)).filter(_.joins.nonEmpty) else None
    plan match {
      case whole if SubqueryCopies.isWhole(whole)                                          => leaf
      case j: Join if transparent(j) && (j.joinType.isInstanceOf[InnerLike] || !innerOnly) =>
        val left  = part(j.left, first, innerOnly)
        val right = part(j.right, first + left.leaves.size, innerOnly)
        if (LateColumns(j, left.fragile, right.fragile)) leaf else left.joined(right, j)
      case Filter(c, child) if MovableCondition(c) => over(child).fold(leaf)(_.filtered(c))
      case Project(list, child)                    => over(child).flatMap(_.projected(list)).getOrElse(leaf)
      case _                                       => leaf
    }
  }

  /** Whether the plan is a join, or only projections and filters lie between its root and a join. */
  private def isAboveJoin(plan: LogicalPlan): Boolean = plan match {
    case _: Join                => true
    case _: Project | _: Filter => isAboveJoin(plan.children.head)
    case _                      => false
  }

  /** Whether the topmost join is inner. */
  private def isAboveInner(plan: LogicalPlan): Boolean = plan match {
    case j: Join                => j.joinType.isInstanceOf[InnerLike]
    case _: Project | _: Filter => isAboveInner(plan.children.head)
    case _                      => false
  }

  /** Whether a group of the plan's joins would have more than [[MostWithOperators]] leaves, by a count of its joins. */
  private def isTooLarge(plan: LogicalPlan): Boolean = {
    @tailrec def more(than: Int, plans: List[LogicalPlan]): Boolean = plans match {
      case Nil                                    => false
      case (j: Join) :: rest if transparent(j)    => than == 0 || more(than - 1, j.left :: j.right :: rest)
      case (p @ (_: Project | _: Filter)) :: rest => more(than, p.children.head :: rest)
      case _ :: rest                              => more(than, rest)
    }
    more(MostWithOperators - 1, List(plan))
  }

  private def transparent(j: Join): Boolean =
    WrittenJoin.known(j.joinType) && !hasStrategy(j.hint) && j.condition.forall(MovableCondition(_)) &&
      !WronglyHashed(j)

  /**
   * Whether the join has a strategy hint. Spark executes such a join where it is written, in the way that the hint
   * says.
   */
  def hasStrategy(hint: JoinHint): Boolean = strategies(hint).nonEmpty

  /** The strategies that the hints of a join ask for. */
  def strategies(hint: JoinHint): Seq[JoinStrategyHint] =
    (hint.leftHint ++ hint.rightHint).flatMap(_.strategy).toSeq
}
