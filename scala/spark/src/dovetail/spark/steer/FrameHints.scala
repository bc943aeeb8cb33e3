package org.apache.spark.sql.dovetail.steer

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{
  Filter,
  Join,
  LogicalPlan,
  Project,
  SubqueryAlias,
  UnaryNode,
  UnresolvedHint,
  View
}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.dovetail.base.{FailOpen, QueryText}

/**
 * Analyzer rule for hints on DataFrames, such as `df.hint("DOVETAIL_OFF")`. It removes them from the plan and writes
 * them into the text ([[QueryText]]) of the operators below and above. [[QueryHints]] reads them from the text of the
 * joins.
 *
 * The rule writes to all operators, because an operator that the optimizer creates gets the text of the operator that
 * it replaces: a filter above a join becomes a join with the filter's text, and a projection that drops columns below
 * an aggregate gets the aggregate's text. So a hint holds for the joins below it and for the joins that use its result,
 * just as a hint in a subquery holds for the whole text of the query.
 */
object FrameHints extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    FailOpen("reading the hints of a DataFrame", (_: String) => plan) {
      if (!plan.exists(p => isOurs(p) || hints(p).nonEmpty)) plan
      else
        plan.resolveOperatorsUp {
          case h: UnresolvedHint if isOurs(h) && h.child.resolved => below(h)
          case p if carries(p) && missing(p).nonEmpty             => changed(p, missing(p))
        }.resolveOperatorsUp(unchanged)
    }

  private def isOurs(p: LogicalPlan): Boolean = p match {
    case h: UnresolvedHint => QueryHints.isLikeOurs(h.name)
    case _                 => false
  }

  private def below(h: UnresolvedHint): LogicalPlan = {
    val call = if (h.parameters.isEmpty) h.name else h.parameters.map(constant).mkString(s"${h.name}(", ", ", ")")
    val hint = s"/*+ $call */"
    // Spark Connect finds columns by the tags of a DataFrame's topmost operator, which is the hint
    val body = Project(h.child.output, h.child)
    body.copyTagsFrom(h)
    body.transformUp { case p if carries(p) => changed(p, hint) }.transformUp(unchanged)
  }

  /**
   * Gives an operator another text, and puts a marker filter on top. An operator that differs only in its text equals
   * the old one, so Spark would keep the old one. The marker makes it different; `unchanged` removes the markers after
   * all operators have their new text.
   */
  private def changed(p: LogicalPlan, hint: String): LogicalPlan = Filter(Changed, rewritten(p, hint))

  private val Changed: Expression = Literal(true)

  private val unchanged: PartialFunction[LogicalPlan, LogicalPlan] = {
    case f: Filter if f.condition eq Changed => f.child
  }

  private def carries(p: LogicalPlan): Boolean = p match {
    case f: Filter                                      => f.condition ne Changed
    case _: UnresolvedHint | _: SubqueryAlias | _: View => false
    case _                                              => p.isInstanceOf[Join] || p.isInstanceOf[UnaryNode]
  }

  /** Hints of the operators below that this operator does not have. */
  private def missing(p: LogicalPlan): String = {
    val own = hints(p)
    p.children.map(of).filter(hint => hint.nonEmpty && !own.contains(hint)).distinct.mkString(" ")
  }

  private def of(p: LogicalPlan): String = p match {
    case _ if hints(p).nonEmpty => hints(p)
    case _ if carries(p)        => ""
    case other                  => other.children.map(of).filter(_.nonEmpty).distinct.mkString(" ")
  }

  private def text(p: LogicalPlan): String  = p.origin.sqlText.getOrElse("")
  private def hints(p: LogicalPlan): String = QueryText.hints(text(p))

  private def rewritten(p: LogicalPlan, hint: String): LogicalPlan =
    CurrentOrigin.withOrigin(p.origin.copy(sqlText = Some(QueryText.hinted(text(p), hint)))) {
      val made = p match {
        case j: Join    => Join(j.left, j.right, j.joinType, j.condition, j.hint)
        case f: Filter  => Filter(f.condition, f.child)
        case q: Project => Project(q.projectList, q.child)
        case other      => again(other)
      }
      if (made ne p) made.copyTagsFrom(p)
      made
    }

  /**
   * Copies an operator by reflection, because the constructors differ between Spark lines. An operator without a
   * matching constructor keeps its text.
   */
  private def again(p: LogicalPlan): LogicalPlan = {
    val arguments = p.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    p.getClass.getConstructors.find(_.getParameterCount == arguments.length).fold(p) { constructor =>
      FailOpen("copying an operator", (_: String) => p)(
        constructor.newInstance(arguments: _*).asInstanceOf[LogicalPlan]
      )
    }
  }

  private def constant(value: Any): String = value match {
    case Literal(text, _) if text != null => quoted(text.toString)
    case e: Expression                    => e.sql
    case other                            => quoted(String.valueOf(other))
  }

  private def quoted(text: String): String = if (text.contains("'")) "\"" + text + "\"" else s"'$text'"
}
