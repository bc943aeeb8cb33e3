package org.apache.spark.sql.dovetail.group

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.JoinKind
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeSet,
  EqualNullSafe,
  EqualTo,
  Expression,
  NamedExpression
}
import org.apache.spark.sql.catalyst.plans.{Cross, InnerLike}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinPredicates, Movable, PlacedCondition}

/**
 * A maximal group of joins: first step from a logical plan to a join graph.
 *
 * Transparent are joins of all kinds without a strategy hint, filters on top of them, and projections between them, as
 * far as what these compute reads one input. All else is a leaf of the group: aggregates, windows, limits, unions,
 * joins with a hint, and joins, filters and projections whose expressions must stay where they are ([[Movable]]). A
 * join whose condition may throw cannot be one of the group with a condition that waits for its inputs: Spark pushes
 * filters and conditions down after our rule, through whatever order it finds.
 *
 * @param top        the plan that the group takes the place of
 * @param leaves     in order of appearance, which makes duplicated bodies of a common table expression come out equal
 * @param conditions of inner joins, and filters
 * @param operators  joins of other kinds, bottom-up
 * @param computed   what projections between the joins compute, with the leaf it is computed from, those first that
 *                   others read
 * @param fragile    columns of the leaves, and computed from them, that are read at a price: [[FragileColumns]]
 * @param shape      the joins as written
 * @param crossed    some join is written as CROSS JOIN
 * @param marked     every join carries Dovetail's mark: the group is ordered already
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
   * Per leaf what the group's expressions call its columns: its own, those computed from it, and the flag of an
   * existence join that has it on its right side: who reads the flag reads all of that side.
   */
  val outputs: Vector[AttributeSet] = leaves.indices.toVector.map(i =>
    AttributeSet(own(i).toSeq ++ operators.filter(_.right.contains(i)).flatMap(_.flag))
  )

  def predicates: JoinPredicates = JoinPredicates(outputs, conditions, fragile)

  /** Per leaf its alias, or the name of a view, if the query reads a column by it. */
  lazy val aliases: Vector[Option[InputAliases.InputAlias]] =
    InputAliases(outputs, conditions.map(_.expression) ++ operators.flatMap(_.condition), leaves)

  /** No two leaves have a column in common. */
  def distinct: Boolean = own.map(_.size).sum == AttributeSet(own.flatten).size

  /** The leaves, or what took their places, with the columns that the projections between the joins computed. */
  def withComputed(plans: Vector[LogicalPlan]): Vector[LogicalPlan] =
    computed.foldLeft(plans) { case (ps, (i, a)) => ps.updated(i, Project(ps(i).output :+ a, ps(i))) }
}

object JoinGroup {

  /**
   * Dovetail's mark on a join: a hint without a strategy. It means nothing to the planner, but Spark's own reordering
   * leaves joins with a hint alone.
   */
  val Mark: JoinHint = JoinHint(Some(HintInfo()), None)

  def isMark(hint: JoinHint): Boolean = hint.leftHint.exists(_.strategy.isEmpty) && hint.rightHint.isEmpty

  /**
   * Leaves beyond which joins that are not inner are inputs of a group, as they were written: with half of four hundred
   * relations outer joined the greedy search alone takes all the time there is, and what comes before the search as
   * much again.
   */
  private val MostWithOperators = 300

  /** A join at least, so two leaves. What a projection computes on top of all joins stays there. */
  def unapply(plan: LogicalPlan): Option[JoinGroup] = plan match {
    case Project(list, _) if !list.forall(_.isInstanceOf[Attribute]) => None
    case _                                                           =>
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
   * @param open leaves whose rows come out as they are, or multiplied: not those that an outer join fills with NULLs,
   * nor those only looked at
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

    /** With the columns of a projection, if all that it computes can be computed from one leaf before the joins. */
    def projected(list: Seq[NamedExpression]): Option[SubGroup] = list.foldLeft(Option(this)) {
      case (part, _: Attribute) => part
      case (part, a: Alias)     => part.flatMap(p => p.leafOf(a).map(i => p.computing(i, a)))
      case _                    => None
    }

    private def computing(leaf: Int, a: Alias): SubGroup =
      copy(
        computed = computed :+ (leaf -> a),
        fragile = if (a.references.exists(fragile.contains)) fragile + a.toAttribute else fragile
      )

    private def leafOf(a: Alias): Option[Int] = {
      def has(i: Int) = a.references.forall(r =>
        leaves(i - first).outputSet.contains(r) || computed.exists { case (l, c) => l == i && c.exprId == r.exprId }
      )
      if (a.references.nonEmpty && Movable(a.child)) numbers.find(i => open(i) && has(i)) else None
    }
  }

  private def part(plan: LogicalPlan, first: Int, innerOnly: Boolean = false): SubGroup = {
    def leaf                     = SubGroup(Shape.Leaf(first), Vector(plan), first, Set(first), FragileColumns(plan))
    def over(child: LogicalPlan) = Some(part(child, first, innerOnly)).filter(_.joins.nonEmpty)
    plan match {
      case whole if SubqueryCopies.isWhole(whole)                                          => leaf
      case j: Join if transparent(j) && (j.joinType.isInstanceOf[InnerLike] || !innerOnly) =>
        val left  = part(j.left, first, innerOnly)
        val right = part(j.right, first + left.leaves.size, innerOnly)
        if (spares(j, left, right)) leaf else left.joined(right, j)
      case Filter(c, child) if Movable(c) => over(child).fold(leaf)(_.filtered(c))
      case Project(list, child)           => over(child).flatMap(_.projected(list)).getOrElse(leaf)
      case _                              => leaf
    }
  }

  private def transparent(j: Join): Boolean =
    WrittenJoin.known(j.joinType) && !hasStrategy(j.hint) && j.condition.forall(Movable(_))

  /**
   * Spark is going to broadcast one side, and to compute fragile columns of the other one only for rows that find a
   * partner.
   */
  private def spares(j: Join, left: SubGroup, right: SubGroup): Boolean = {
    def streams(side: SubGroup, other: LogicalPlan) = side.fragile.nonEmpty && j.conf.wholeStageEnabled &&
      (SparkBroadcast(other, j.conf.autoBroadcastJoinThreshold) || !j.condition.exists(Conjuncts(_).exists(isEquality)))
    streams(left, j.right) || streams(right, j.left)
  }

  /** Without one, a join that is not inner is done by a broadcast of any size. */
  private def isEquality(e: Expression): Boolean = e.isInstanceOf[EqualTo] || e.isInstanceOf[EqualNullSafe]

  /** Spark does such a join as its hint says, where it is written. */
  def hasStrategy(hint: JoinHint): Boolean =
    hint.leftHint.exists(_.strategy.isDefined) || hint.rightHint.exists(_.strategy.isDefined)
}
