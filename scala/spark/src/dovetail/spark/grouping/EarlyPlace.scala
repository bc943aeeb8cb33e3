package org.apache.spark.sql.dovetail.grouping

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, ExpressionSize, Movable, MovableCondition}
import org.apache.spark.sql.dovetail.report.EarlyMark

/**
 * A place below a grouping where rows can be grouped early. The keys are the grouping's own columns that come from
 * there, and all columns that the operators in between read. Rows that agree in these columns have the same join
 * partners and pass the same filters. So every row that the operators in between make of an early group stands for the
 * rows that they would have made of the group's rows.
 *
 * The operators in between can be joins that keep rows as they are, repeat them or drop them (inner, semi, anti, and
 * outer joins from the side that they preserve), filters, projections, and the row copies of ROLLUP, CUBE and GROUPING
 * SETS. One of them can be an outer join that fills the columns of the place with NULLs for rows without a partner, if
 * every aggregate function skips such rows ([[SplitFunction.skips]]).
 *
 * @param input plan whose rows are grouped early
 * @param keys  columns to group by
 * @param parts the grouping's aggregate functions, split, reading the columns of `input`
 * @param way   operators in between
 */
final class EarlyPlace private (
    val input: LogicalPlan,
    val keys: Vector[Attribute],
    parts: Vector[SplitFunction],
    way: EarlyPlace.Way
) {

  /** The early grouping of the input's rows. */
  lazy val early: Aggregate = EarlyMark(Aggregate(keys, keys ++ parts.flatMap(_.partial), input))

  def depth: Int = way.path.size

  /** The joins in between, from the top down. */
  def sides: Vector[EarlyPlace.Side] = way.sides

  /** Columns of the partial functions, as the operators above the early grouping read them. */
  private def carried: Vector[Attribute] =
    parts.flatMap(_.partial).map(p => if (way.isFilled) p.toAttribute.withNullability(true) else p.toAttribute)

  /** The grouping `of` that the place belongs to, rewritten to merge the groups of the early grouping. */
  def grouped(of: Aggregate): LogicalPlan = {
    val merged  = EarlyPlace.splitIn(of).zip(parts).map { case (f, s) => f.canonicalized -> s.merged }.toMap
    val outputs = of.aggregateExpressions.map(_.transformUp {
      case e: AggregateExpression => merged.getOrElse(e.canonicalized, e)
    })
    of.copy(
      aggregateExpressions = outputs.map(_.asInstanceOf[NamedExpression]),
      child = way.rebuild(early, carried)
    )
  }
}

object EarlyPlace {

  /** A join between a place and its grouping. @param side side of the join on which the place is */
  final case class Side(join: Join, side: BuildSide) {
    def input: LogicalPlan = if (side == BuildLeft) join.left else join.right
    def other: LogicalPlan = if (side == BuildLeft) join.right else join.left

    /** Whether the join returns rows of the other side without a partner, with NULLs in the columns of this side. */
    def isFilled: Boolean = join.joinType match {
      case LeftOuter  => side == BuildRight
      case RightOuter => side == BuildLeft
      case _          => false
    }
  }

  private type Rebuild = (LogicalPlan, Vector[Attribute]) => LogicalPlan

  /**
   * The path from a grouping down to a plan below it.
   *
   * @param needs     columns of the plan that operators above read, except those that only aggregate functions read
   * @param functions aggregate functions of the grouping, reading the columns of the plan
   * @param path      operators in between, from the top down
   * @param sides     joins among them
   * @param fragile   columns of the plan that conditions of the operators read which may fail, one set for each
   * @param rebuild   puts the operators over another plan, which has additional columns to carry up
   */
  final private case class Way(
      needs: AttributeSet,
      functions: Vector[AggregateExpression],
      path: Vector[LogicalPlan] = Vector.empty,
      sides: Vector[Side] = Vector.empty,
      fragile: Vector[AttributeSet] = Vector.empty,
      rebuild: Rebuild = (input, _) => input
  ) {

    /** The path extended by one operator further down. `over` puts this operator over another plan. */
    def through(operator: LogicalPlan, needs: AttributeSet)(over: Rebuild): Way = copy(
      needs = needs,
      path = path :+ operator,
      rebuild = (input, carried) => rebuild(over(input, carried), carried)
    )

    /** The same with the conditions of an operator of the path. */
    def under(condition: Option[Expression]): Way =
      copy(fragile = fragile ++ condition.toVector.flatMap(Conjuncts(_)).filterNot(Movable(_)).map(_.references))

    /** Replaces columns that functions and conditions read by the expressions of the plan that compute them. */
    def reading(columns: AttributeMap[Expression]): Way = copy(
      functions =
        functions.map(_.transform { case a: Attribute => columns.getOrElse(a, a) }.asInstanceOf[AggregateExpression]),
      fragile = fragile.map(read => AttributeSet(read.toSeq.flatMap(a => columns.getOrElse(a, a).references)))
    )

    /**
     * Whether Spark may push a condition that may fail below a grouping of the plan, because it does not ask whether a
     * condition may fail. The grouping reads all rows of the plan, also if a join above it has none, so that plain
     * Spark would not read them.
     */
    def mayPush(plan: LogicalPlan): Boolean = fragile.exists(_.subsetOf(plan.outputSet))

    /**
     * Whether the path passes a join or an Expand. If it does not, an early grouping would only group the same rows
     * twice.
     */
    def leadsAway: Boolean = path.exists(p => p.isInstanceOf[Join] || p.isInstanceOf[Expand])

    /** Whether a join above fills the columns of the plan with NULLs. */
    def isFilled: Boolean = sides.exists(_.isFilled)

    def parts: Option[Vector[SplitFunction]] = {
      val all = functions.map(SplitFunction(_))
      if (all.forall(_.isDefined)) Some(all.flatten.map(p => if (isFilled) p.filled else p)) else None
    }
  }

  /**
   * All places below a grouping, from the top down.
   *
   * @param key   whether a column can be a key: equal values of its type are the same for every operator that reads
   *              them
   * @param guard builds the join of a side over a new input
   */
  def apply(of: Aggregate, key: Attribute => Boolean, guard: (Side, LogicalPlan) => Join): Vector[EarlyPlace] = {
    val functions = splitIn(of)
    val outside   = of.groupingExpressions.flatMap(_.references) ++ of.aggregateExpressions.flatMap(outsideFunctions)
    // columns that are replaced by expressions never make a function splittable
    if (!of.expressions.forall(_.deterministic) || isGrouped(of.child) || functions.exists(SplitFunction(_).isEmpty))
      Vector.empty
    else new Walk(key, guard)(of.child, Way(AttributeSet(outside), functions))
  }

  /** Whether there may be places in or below the plan. */
  def isOpen(plan: LogicalPlan): Boolean = plan match {
    case _: Expand              => true
    case _: Project | _: Filter => isOpen(plan.children.head)
    case other                  => other.containsPattern(JOIN)
  }

  /** Whether the plan has an early grouping already. This happens because Spark may run the rule several times. */
  private def isGrouped(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => EarlyMark.isOn(a)
    case other        => other.children.exists(isGrouped)
  }

  /** The functions to split: those that do not stay as they are above an early grouping. */
  private def splitIn(a: Aggregate): Vector[AggregateExpression] = functionsOf(a).filterNot(SplitFunction.ofSet)

  private def functionsOf(a: Aggregate): Vector[AggregateExpression] = {
    val found = mutable.LinkedHashMap.empty[Expression, AggregateExpression]
    a.aggregateExpressions.foreach(_.foreach {
      case e: AggregateExpression => found.getOrElseUpdate(e.canonicalized, e); ()
      case _                      =>
    })
    found.values.toVector
  }

  /** Columns that are read outside of the functions to split. */
  private def outsideFunctions(e: Expression): Seq[Attribute] = e match {
    case f: AggregateExpression if !SplitFunction.ofSet(f) => Nil
    case a: Attribute                                      => Seq(a)
    case other                                             => other.children.flatMap(outsideFunctions)
  }

  final private class Walk(key: Attribute => Boolean, guard: (Side, LogicalPlan) => Join) {

    def apply(plan: LogicalPlan, way: Way): Vector[EarlyPlace] = {
      PlanningTime.check()
      val keys  = plan.output.filter(way.needs.contains).distinct.toVector
      val legal = way.leadsAway && keys.nonEmpty && keys.forall(key) && !way.mayPush(plan)
      val here  = if (legal) way.parts.map(new EarlyPlace(plan, keys, _, way)) else None
      val below =
        if (!isOpen(plan) || !plan.expressions.forall(_.deterministic)) Vector.empty
        else plan match {
          // adaptive execution may broadcast few groups, and it cannot evaluate a subquery in the key of a broadcast
          case _: Join | _: Filter if plan.expressions.exists(MovableCondition.hasSubqueryKey) => Vector.empty
          case p: Project                                                                      => project(p, way)
          case f: Filter                                                                       =>
            val further = way.through(f, way.needs ++ f.condition.references)((input, _) => Filter(f.condition, input))
            apply(f.child, further.under(Some(f.condition)))
          case e: Expand => expand(e, way)
          case j: Join   => sidesOf(j).flatMap(join(_, way))
          case _         => Vector.empty
        }
      here.toVector ++ below
    }

    private def project(p: Project, way: Way): Vector[EarlyPlace] = {
      val needed  = p.projectList.filter(e => way.needs.contains(e.toAttribute))
      val aliases = AttributeMap(p.projectList.collect { case a: Alias => a.toAttribute -> a.child })
      val further = way.through(p, AttributeSet(needed.flatMap(_.references)))((input, carried) =>
        Project(needed ++ carried, input)
      )
      // a filter on a computed column may become a filter on the expression
      val total = p.projectList.forall { case a: Alias => Movable(a.child); case _ => true }
      if (total && nodes(way, aliases) <= MostNodes) apply(p.child, further.reading(aliases)) else Vector.empty
    }

    /**
     * Number of nodes of the functions if the columns are replaced by expressions. It doubles with each projection that
     * reads every column of the one below it twice.
     */
    private def nodes(way: Way, columns: AttributeMap[Expression]): Long = {
      val sizes = AttributeMap(columns.toSeq.map { case (a, e) => a -> ExpressionSize(e) })
      way.functions.flatMap(_.collect { case a: Attribute => sizes.getOrElse(a, 1L) }).sum
    }

    /**
     * Passes an Expand only if the columns that functions read are the same in all copies. Each copy computes the other
     * columns by its own projection.
     */
    private def expand(e: Expand, way: Way): Vector[EarlyPlace] = {
      val same = e.output.indices.flatMap { i =>
        e.projections.map(_(i)).distinct match {
          case Seq(a: Attribute) => Some(e.output(i) -> (a: Expression))
          case _                 => None
        }
      }
      val read    = e.output.indices.filter(i => way.needs.contains(e.output(i)))
      val needs   = AttributeSet(read.flatMap(i => e.projections.flatMap(_(i).references)))
      val further = way.through(e, needs)((input, carried) =>
        Expand(e.projections.map(p => read.map(p(_)) ++ carried), read.map(e.output(_)) ++ carried, input)
      )
      if (way.functions.flatMap(SplitFunction.reads).forall(AttributeSet(same.map(_._1)).contains))
        apply(e.child, further.reading(AttributeMap(same)))
      else Vector.empty
    }

    private def join(side: Side, way: Way): Vector[EarlyPlace] = {
      val columns = side.input.outputSet
      val reads   = way.needs ++ side.join.condition.fold(AttributeSet.empty)(_.references)
      val further =
        way.through(side.join, AttributeSet(reads.filter(columns.contains)))((input, _) => guard(side, input))
      // a second join that fills the same columns is left out: it has not been proven
      val skipped = !side.isFilled || (!way.isFilled && way.functions.forall(SplitFunction.skips(_, columns)))
      if (skipped && way.functions.forall(SplitFunction.reads(_).subsetOf(columns)))
        apply(side.input, further.under(side.join.condition).copy(sides = way.sides :+ side))
      else Vector.empty
    }
  }

  /** Sides of a join whose rows it keeps as they are, drops, or repeats. One side of an outer join is filled, too. */
  private def sidesOf(j: Join): Vector[Side] = j.joinType match {
    case _: InnerLike | LeftOuter | RightOuter  => Vector(Side(j, BuildLeft), Side(j, BuildRight))
    case LeftSemi | LeftAnti | ExistenceJoin(_) => Vector(Side(j, BuildLeft))
    case _                                      => Vector.empty
  }

  /** Maximum number of nodes of all columns that a grouping's functions read, as expressions of the plan below. */
  private val MostNodes = 1000
}
