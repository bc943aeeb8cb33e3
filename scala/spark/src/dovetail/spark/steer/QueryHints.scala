package org.apache.spark.sql.dovetail.steer

import java.util.{Collections, IdentityHashMap}

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, UnresolvedHint}
import org.apache.spark.sql.dovetail.base.QueryText
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.predicates.Conjuncts

/**
 * Dovetail's hints, DOVETAIL_ORDER('((a b) c)') and DOVETAIL_OFF, in a query's text or set by `df.hint`
 * ([[FrameHints]]).
 *
 * The rule reads them from the query text that Spark keeps with every operator. A hint node in the plan would block
 * some of Spark's rules, and others would lose a tag.
 *
 * @param query plan whose join groups are asked for
 */
final class QueryHints(query: LogicalPlan) {
  import QueryHints._

  // most queries have no hints, so their groups are not searched for them; all operators of a query share its text
  private lazy val any = {
    val without = Collections.newSetFromMap(new IdentityHashMap[String, java.lang.Boolean])
    query.exists(p =>
      texts.lift(p).exists(_.exists(t => !without.contains(t) && (t.contains(Begin) || !without.add(t))))
    )
  }

  /** The join orders that the text of a group's query requests. */
  def orders(group: JoinGroup): Vector[String] =
    hints(group.top).flatMap(Order.findAllMatchIn(_)).map(call => Option(call.group(1)).getOrElse(call.group(2)))

  /** Whether the text of the query of these joins requests Spark's own plan. */
  def off(joins: LogicalPlan): Boolean = hints(joins).exists(Off.findFirstIn(_).isDefined)

  /** Hints in the text that look like Dovetail's but have no effect, each with the reason. */
  def idle(group: JoinGroup): Vector[(String, String)] =
    hints(group.top).flatMap(text => Like.findAllIn(Order.replaceAllIn(text, ""))).distinct.collect {
      case hint if hint.equalsIgnoreCase(Names.head) =>
        hint -> s"it takes an order in quotes, as in ${Names.head}('((a b) c)')"
      case hint if !Names.exists(hint.equalsIgnoreCase(_)) =>
        hint -> s"unknown hint. Allowed: ${Names.mkString(", ")}"
    }

  private def hints(joins: LogicalPlan): Vector[String] =
    if (!any) Vector.empty
    else
      joins.collect(texts).flatten.distinct.toVector.filter(_.contains(Begin)).flatMap(Hint.findAllIn(_).toVector)
        .distinct
}

object QueryHints {
  private val Names = Seq("DOVETAIL_ORDER", "DOVETAIL_OFF")

  // in a long text with many join groups, searching for this prefix takes a hundredth of the time of the regex
  private val Begin = "/*+"

  private val Hint  = """(?s)/\*\+.*?\*/""".r
  private val Ours  = s"(?i)\\b(?:${Names.mkString("|")})\\b".r
  private val Order = "(?is)\\bDOVETAIL_ORDER\\s*\\(\\s*(?:'([^']*)'|\"([^\"]*)\")\\s*\\)".r
  private val Off   = "(?i)\\bDOVETAIL_OFF\\b".r
  private val Like  = "(?i)\\bDOVETAIL_\\w*".r

  def isLikeOurs(name: String): Boolean = Like.pattern.matcher(name).matches()

  def isIn(text: String): Boolean = text.contains(Begin) && Hint.findAllIn(text).exists(Ours.findFirstIn(_).isDefined)

  /**
   * Removes our hints from a parsed statement, because Spark would warn about unknown hints. A SQL script stays as it
   * is: its nodes lose parts if they are copied (exception handlers, ELSE). Hints in its statements are removed when
   * these are analyzed ([[FrameHints]]).
   */
  def removed(parsed: LogicalPlan): LogicalPlan =
    if (parsed.nodeName == Script) parsed
    else
      parsed.transformUpWithSubqueries { case h: UnresolvedHint if Names.exists(h.name.equalsIgnoreCase(_)) => h.child }

  /** Name of the root of a SQL script, whose class Spark 3.5 does not have. */
  private val Script = "CompoundBody"

  /**
   * Extracts texts from an operator. If a query uses a view, Spark creates its joins anew, and they lose their texts.
   * The join conditions keep their texts, and filters and projections keep the hints of DataFrames, so these are read,
   * too.
   */
  private val texts: PartialFunction[LogicalPlan, Seq[String]] = {
    case j: Join => j.origin.sqlText.toSeq ++ j.condition.toSeq.flatMap(Conjuncts(_)).flatMap(_.origin.sqlText)
    case p @ (_: Filter | _: Project) => p.origin.sqlText.map(QueryText.hints).filter(_.nonEmpty).toSeq
  }
}
