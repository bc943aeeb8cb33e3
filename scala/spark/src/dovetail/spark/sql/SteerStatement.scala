package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.dovetail.leaf.KnownRows.{OfQuery, OfTable, Target}

/**
 * Statements by which people who know better steer Dovetail: rows that they know, and orders that are to stay. Queries
 * and names are left as text.
 */
sealed trait SteerStatement

object SteerStatement {
  final case class SetRows(rows: Long, of: Target)                             extends SteerStatement
  final case class ForgetRows(of: Option[Target])                              extends SteerStatement
  case object ForgetFailures                                                   extends SteerStatement
  case object ClearCaches                                                      extends SteerStatement
  final case class SaveRows(path: String)                                      extends SteerStatement
  final case class LoadRows(path: String)                                      extends SteerStatement
  final case class MakePin(name: String, order: Option[String], query: String) extends SteerStatement
  final case class RemovePin(name: String)                                     extends SteerStatement
  final case class SavePins(path: String)                                      extends SteerStatement
  final case class LoadPins(path: String)                                      extends SteerStatement

  /** First word and form of each. */
  val Usages: Seq[(String, String)] = Seq(
    "SET"    -> "DOVETAIL SET ROWS <number> FOR TABLE <table>",
    "SET"    -> "DOVETAIL SET ROWS <number> FOR <query>",
    "FORGET" -> "DOVETAIL FORGET ROWS [FOR TABLE <table> | FOR <query>]",
    "FORGET" -> "DOVETAIL FORGET FAILURES",
    "CLEAR"  -> "DOVETAIL CLEAR CACHES",
    "SAVE"   -> "DOVETAIL SAVE ROWS '<path>'",
    "LOAD"   -> "DOVETAIL LOAD ROWS '<path>'",
    "PIN"    -> "DOVETAIL PIN <name> [AS '<order>'] FOR <query>",
    "UNPIN"  -> "DOVETAIL UNPIN <name>",
    "SAVE"   -> "DOVETAIL SAVE PINS '<path>'",
    "LOAD"   -> "DOVETAIL LOAD PINS '<path>'"
  )

  private val Name     = "([\\w.-]+|`[^`]+`)"
  private val Text     = "'((?:[^']|'')*)'"
  private val SetIs    = "(?is)SET\\s+ROWS\\s+(\\d+)\\s+FOR\\s+(.+)".r
  private val ForgetIs = "(?is)FORGET\\s+ROWS(?:\\s+FOR\\s+(.+))?".r
  private val Failures = "(?is)FORGET\\s+FAILURES".r
  private val Caches   = "(?is)CLEAR\\s+CACHES".r
  private val FileIs   = s"(?is)(SAVE|LOAD)\\s+(ROWS|PINS)\\s+$Text".r
  private val PinIs    = s"(?is)PIN\\s+$Name\\s+(?:AS\\s+$Text\\s+)?FOR\\s+(.+)".r
  private val UnpinIs  = s"(?is)UNPIN\\s+$Name".r
  private val TableIs  = "(?is)TABLE\\s+(.+)".r

  /** None where the text is no such statement at all. */
  def apply(text: String): Option[SteerStatement] = text match {
    case SetIs(rows, of)          => Some(SetRows(number(text, rows), target(of)))
    case ForgetIs(of)             => Some(ForgetRows(Option(of).map(target)))
    case Failures()               => Some(ForgetFailures)
    case Caches()                 => Some(ClearCaches)
    case FileIs(verb, what, path) =>
      val file = path.replace("''", "'")
      Some((verb.toUpperCase(java.util.Locale.ROOT), what.toUpperCase(java.util.Locale.ROOT)) match {
        case ("SAVE", "ROWS") => SaveRows(file)
        case ("LOAD", "ROWS") => LoadRows(file)
        case ("SAVE", _)      => SavePins(file)
        case _                => LoadPins(file)
      })
    case PinIs(name, order, query) => Some(MakePin(unquoted(name), Option(order).map(_.replace("''", "'")), query.trim))
    case UnpinIs(name)             => Some(RemovePin(unquoted(name)))
    case other if usages(other).nonEmpty =>
      wrong(text, "it is not complete, or has something that does not belong there")
    case _ => None
  }

  private def usages(text: String): Seq[String] =
    Usages.collect { case (verb, usage) if text.takeWhile(!_.isWhitespace).equalsIgnoreCase(verb) => usage }

  private def target(text: String): Target = text.trim match {
    case TableIs(name) => OfTable(name.trim)
    case query         => OfQuery(query)
  }

  private def number(text: String, digits: String): Long =
    try digits.toLong
    catch { case _: NumberFormatException => wrong(text, s"$digits rows are more than ${Long.MaxValue}") }

  private def unquoted(name: String): String = name.stripPrefix("`").stripSuffix("`")

  private def wrong(text: String, reason: String): Nothing =
    throw new IllegalArgumentException(s"DOVETAIL $text: $reason. Allowed: ${usages(text).mkString(", ")}.")
}
