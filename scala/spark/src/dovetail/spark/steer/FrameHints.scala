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
 * Hints of DataFrames, `df.hint("DOVETAIL_OFF")`, for a session's analyzer: takes them out of the plan, and writes them
 * into the text ([[QueryText]]) of the operators below and above them, where [[QueryHints]] finds those of the joins.
 *
 * All operators, for one that the optimizer makes has the text of the one that it started from: a filter above a join
 * becomes a join with the filter's text, a column that an aggregate does not need a projection with the aggregate's.
 * So a hint holds for the joins below it and for those that its result is joined by, as one in a subquery's text holds
 * for the whole text.
 */
object FrameHints extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(p => isOurs(p) || hints(p).nonEmpty)) plan
    else FailOpen("reading the hints of a DataFrame", (_: String) => plan) {
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
    val body = if (carries(h.child)) h.child else Project(h.child.output, h.child)
    body.transformUp { case p if carries(p) => changed(p, hint) }.transformUp(unchanged)
  }

  /**
   * An operator that only has another text is equal to the one that was there, and Spark would keep that one. So it is
   * below another one, until those above it are changed, too.
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

  /** Hints of the operators below that this one has not. */
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

  /** The constructors of other operators differ between the lines of Spark; one that is not known keeps its text. */
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
