package org.apache.spark.sql.dovetail.steer

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, UnresolvedHint}
import org.apache.spark.sql.dovetail.base.QueryText
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * Hints of Dovetail's own: DOVETAIL_ORDER('((a b) c)') and DOVETAIL_OFF, in a query's text or by `df.hint`
 * ([[FrameHints]]).
 *
 * They reach the rule by the text itself, which Spark keeps with every operator: a node of our own in the plan would
 * stand in the way of Spark's rules, and a tag would be lost in some of them.
 */
object QueryHints {
  private val Names = Seq("DOVETAIL_ORDER", "DOVETAIL_OFF")

  // of a long text with many groups of joins, a search for it takes a hundredth of the pattern's time
  private val Begin = "/*+"

  private val Hint  = """(?s)/\*\+.*?\*/""".r
  private val Ours  = s"(?i)\\b(?:${Names.mkString("|")})\\b".r
  private val Order = "(?is)\\bDOVETAIL_ORDER\\s*\\(\\s*(?:'([^']*)'|\"([^\"]*)\")\\s*\\)".r
  private val Off   = "(?i)\\bDOVETAIL_OFF\\b".r
  private val Like  = "(?i)\\bDOVETAIL_\\w*".r

  def isLikeOurs(name: String): Boolean = Like.pattern.matcher(name).matches()

  def isIn(text: String): Boolean = Hint.findAllIn(text).exists(Ours.findFirstIn(_).isDefined)

  /** A parsed statement without our hints, which Spark would warn of. */
  def removed(parsed: LogicalPlan): LogicalPlan =
    parsed.transformUpWithSubqueries { case h: UnresolvedHint if Names.exists(h.name.equalsIgnoreCase(_)) => h.child }

  /** The orders that the text of a group's query asks for. */
  def orders(group: JoinGroup): Vector[String] =
    hints(group).flatMap(Order.findAllMatchIn(_)).map(call => Option(call.group(1)).getOrElse(call.group(2)))

  /** The text of a group's query asks for Spark's own plan. */
  def off(group: JoinGroup): Boolean = hints(group).exists(Off.findFirstIn(_).isDefined)

  /** Hints of the text that look like ours and do nothing, each with the reason. */
  def idle(group: JoinGroup): Vector[(String, String)] =
    hints(group).flatMap(text => Like.findAllIn(Order.replaceAllIn(text, ""))).distinct.collect {
      case hint if hint.equalsIgnoreCase(Names.head) =>
        hint -> s"it takes an order in quotes, as in ${Names.head}('((a b) c)')"
      case hint if !Names.exists(hint.equalsIgnoreCase(_)) =>
        hint -> s"unknown hint. Allowed: ${Names.mkString(", ")}"
    }

  private def hints(group: JoinGroup): Vector[String] =
    group.top.collect(texts).flatten.distinct.toVector.filter(_.contains(Begin)).flatMap(Hint.findAllIn(_).toVector)
      .distinct

  /**
   * Where a query has a view, Spark makes its joins anew, and they lose their texts. Their conditions keep theirs, and
   * the operators between them what a DataFrame's hints have written.
   */
  private val texts: PartialFunction[LogicalPlan, Seq[String]] = {
    case j: Join => j.origin.sqlText.toSeq ++ j.condition.toSeq.flatMap(Conjuncts(_)).flatMap(_.origin.sqlText)
    case p @ (_: Filter | _: Project) => p.origin.sqlText.map(QueryText.hints).filter(_.nonEmpty).toSeq
  }
}
