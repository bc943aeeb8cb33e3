package org.apache.spark.sql.dovetail.sql

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.Locale

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.steer.QueryHints

/**
 * Adds the statements that begin with DOVETAIL to the session's parser; all else goes to the parser that was there
 * (Spark's, or another extension's).
 *
 * A dynamic proxy, because the parser's interface grows with every Spark line.
 */
object CommandParser {

  def apply(delegate: ParserInterface): ParserInterface =
    Proxy.newProxyInstance(
      getClass.getClassLoader,
      Array(classOf[ParserInterface]),
      new Handler(delegate)
    ).asInstanceOf[ParserInterface]

  final private class Handler(delegate: ParserInterface) extends InvocationHandler {
    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
      val args = if (arguments == null) Array.empty[AnyRef] else arguments
      val own  = (method.getName, args.headOption) match {
        // spark.sql() calls parsePlan up to Spark 4.0, and parsePlanWithParameters from 4.1 on
        case ("parsePlan" | "parsePlanWithParameters", Some(text: String)) => command(text)
        case _                                                             => None
      }
      own.getOrElse {
        val parsed =
          try method.invoke(delegate, args: _*)
          catch { case e: InvocationTargetException => throw e.getTargetException }
        (args.headOption, parsed) match {
          case (Some(text: String), plan: LogicalPlan) if QueryHints.isIn(text) => QueryHints.removed(plan)
          case _                                                                => parsed
        }
      }
    }
  }

  private val Statement = """(?is)\s*DOVETAIL(?:\s+(.*))?""".r

  private def command(text: String): Option[LogicalPlan] = text match {
    case Statement(rest) =>
      val body           = Option(rest).fold("")(_.trim.stripSuffix(";").trim)
      val (verb, remain) = body.span(!_.isWhitespace)
      Some(verb.toUpperCase(Locale.ROOT) match {
        case "PROFILE" if remain.trim.isEmpty =>
          throw new IllegalArgumentException(
            s"DOVETAIL PROFILE: the query is missing. Allowed: ${ProfileCommand.Usage}."
          )
        case "PROFILE"   => ProfileCommand(remain.trim)
        case "ANALYZE"   => AnalyzeCommand(AnalyzeStatement(remain.trim))
        case "CALIBRATE" => CalibrateCommand(remain.trim)
        case _           => SteerStatement(body).map(SteerCommand(_)).getOrElse(unknown(body))
      })
    case _ => None
  }

  private def unknown(body: String): Nothing = {
    val what = if (body.isEmpty) "DOVETAIL alone is no statement" else s"there is no statement 'DOVETAIL $body'"
    throw new IllegalArgumentException(s"$what. Allowed: ${Usages.mkString(", ")}.")
  }

  private val Usages =
    AnalyzeStatement.Usages ++ Seq(ProfileCommand.Usage, CalibrateCommand.Usage) ++ SteerStatement.Usages.map(_._2)
}
