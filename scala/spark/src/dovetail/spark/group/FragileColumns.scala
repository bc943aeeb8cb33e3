package org.apache.spark.sql.dovetail.group

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  AttributeSet,
  Expression,
  NamedExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.base.ThreadScope
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.{Movable, ShortDecimals}

/**
 * Columns of a plan that a projection in it computes by an expression that may throw ([[Movable]]). Spark may evaluate
 * the expression at another place than the projection:
 *
 *  - A filter on such a column is a filter on the expression: Spark pushes it through the projection, and through the
 *    joins below it.
 *  - In generated code, a broadcast join first looks for a join partner. A column that the join does not read is
 *    computed only for rows that have a partner.
 *
 * So Dovetail must not filter by such a column inside an input, and must not move a join that keeps rows from the
 * expression.
 */
object FragileColumns {

  // the columns that were found in this run of the rule
  private val found = new ThreadScope[IdentityHashMap[LogicalPlan, AttributeSet]]

  /**
   * Looks at each plan only once while `body` runs. Nested joins ask for the plan below each of them, and each of those
   * for all plans below.
   */
  def once[A](body: => A): A = found.within(new IdentityHashMap)(body)

  def apply(plan: LogicalPlan): AttributeSet = found.current.fold(look(plan)) { known =>
    Option(known.get(plan)).getOrElse { val columns = look(plan); known.put(plan, columns); columns }
  }

  private def look(plan: LogicalPlan): AttributeSet = plan match {
    case _: LeafNode  => AttributeSet.empty
    case p: Project   => computed(p.projectList, apply(p.child))
    case a: Aggregate => computed(a.aggregateExpressions, apply(a.child))
    case u: Union     =>
      val places = u.children.flatMap(placesIn).toSet
      if (places.isEmpty) AttributeSet.empty
      else AttributeSet(u.output.zipWithIndex.collect { case (a, i) if places(i) => a })
    case other =>
      val below = other.children.map(apply).filter(_.nonEmpty)
      if (below.isEmpty) AttributeSet.empty
      else AttributeSet.fromAttributeSets(below).filter(other.outputSet.contains)
  }

  /** Places of such columns in the output of a plan. */
  private def placesIn(plan: LogicalPlan): Seq[Int] = {
    PlanningTime.check()
    val columns = apply(plan)
    if (columns.isEmpty) Nil else plan.output.zipWithIndex.collect { case (a, i) if columns.contains(a) => i }
  }

  /** The columns of a projection or grouping that may throw. */
  private def computed(list: Seq[NamedExpression], below: AttributeSet): AttributeSet = AttributeSet(list.collect {
    case a: Attribute if below.contains(a)  => a
    case a: Alias if throws(a.child, below) => a.toAttribute
  })

  private def throws(e: Expression, below: AttributeSet): Boolean = {
    val known = ofResults(e)
    !Movable(known) || known.references.exists(below.contains)
  }

  /**
   * The expression over the results of its aggregate functions. These do not count: they depend on the rows of their
   * group alone, and a multiple of an average is computed from one value.
   */
  private def ofResults(e: Expression): Expression = e.transform {
    case r if ShortDecimals.isResult(r) || r.isInstanceOf[AggregateExpression] =>
      AttributeReference("result", r.dataType, r.nullable)()
  }
}
