package org.apache.spark.sql.dovetail.base

import java.io.IOException
import java.util.{LinkedHashMap, Map => JMap}

/**
 * An error that users of Dovetail can see, described like Spark's own errors: a name, an SQLSTATE, and parameters.
 * Programs recognize an error by its name and read its parameters. The text is for people and may change. A statement
 * that does not parse raises Spark's own condition PARSE_SYNTAX_ERROR ([[org.apache.spark.sql.dovetail.sql.Grammar]]).
 */
final class ErrorCondition private (val name: String, val sqlState: String) {

  /** The error for a wrong argument, name or statement. */
  def apply(text: String, parameters: (String, String)*): IllegalArgumentException = because(null, text, parameters: _*)

  def because(cause: Throwable, text: String, parameters: (String, String)*): IllegalArgumentException =
    new ErrorCondition.WrongArgument(this, text, ErrorCondition.map(parameters), cause)

  /** The error for a file or directory that cannot be read or written. */
  def ofPlace(cause: Throwable, text: String, parameters: (String, String)*): IOException =
    new ErrorCondition.WrongPlace(this, text, ErrorCondition.map(parameters), cause)

  /** Whether an error has this condition. */
  def is(e: Throwable): Boolean = e match {
    case named: ConditionName => named.condition eq this
    case _                    => false
  }

  private def message(text: String) = s"[$name] $text SQLSTATE: $sqlState"
}

object ErrorCondition {

  /** A query is expected, but the statement is a command, or a statement that Spark does not optimize. */
  val NotAQuery = new ErrorCondition("DOVETAIL_NOT_A_QUERY", "42601")

  /** A function or a statement does not accept an argument. */
  val InvalidArgument = new ErrorCondition("DOVETAIL_INVALID_ARGUMENT", "22023")

  /** A setting does not accept a value. */
  val InvalidSetting = new ErrorCondition("DOVETAIL_INVALID_SETTING", "22023")

  /** DOVETAIL ANALYZE cannot read a relation, or cannot do what the statement requests. */
  val NotAnalyzable = new ErrorCondition("DOVETAIL_NOT_ANALYZABLE", "0A000")

  val ColumnNotFound    = new ErrorCondition("DOVETAIL_COLUMN_NOT_FOUND", "42703")
  val PartitionNotFound = new ErrorCondition("DOVETAIL_PARTITION_NOT_FOUND", "428FT")
  val PinNotFound       = new ErrorCondition("DOVETAIL_PIN_NOT_FOUND", "42704")

  /** A query has no joins to order, or its joins cannot be recognized in other queries. */
  val NotRecognizable = new ErrorCondition("DOVETAIL_NOT_RECOGNIZABLE", "0A000")

  /** A join order does not fit the query, or the outer or semi joins of the query forbid it. */
  val InvalidOrder = new ErrorCondition("DOVETAIL_INVALID_ORDER", "22023")

  /** A file that the user names cannot be read or written, or has the wrong content. */
  val InvalidFile = new ErrorCondition("DOVETAIL_INVALID_FILE", "58030")

  /** The directory of the stored statistics cannot be written. */
  val StoreNotWritable = new ErrorCondition("DOVETAIL_STORE_NOT_WRITABLE", "58030")

  val all: Seq[ErrorCondition] = Seq(
    NotAQuery,
    InvalidArgument,
    InvalidSetting,
    NotAnalyzable,
    ColumnNotFound,
    PartitionNotFound,
    PinNotFound,
    NotRecognizable,
    InvalidOrder,
    InvalidFile,
    StoreNotWritable
  )

  /** The text of an error without its condition, to be used as a part of another text. */
  def text(e: Throwable): String = e match {
    case e: WrongArgument => e.text
    case e: WrongPlace    => e.text
    case other            => Option(other.getMessage).getOrElse(other.toString)
  }

  private def map(parameters: Seq[(String, String)]): JMap[String, String] = {
    val map = new LinkedHashMap[String, String]
    parameters.foreach { case (name, value) => map.put(name, value) }
    map
  }

  final private class WrongArgument(
      val condition: ErrorCondition,
      val text: String,
      parameters: JMap[String, String],
      cause: Throwable
  ) extends IllegalArgumentException(condition.message(text), cause) with ConditionName {
    override def getSqlState: String                        = condition.sqlState
    override def getMessageParameters: JMap[String, String] = parameters
  }

  final private class WrongPlace(
      val condition: ErrorCondition,
      val text: String,
      parameters: JMap[String, String],
      cause: Throwable
  ) extends IOException(condition.message(text), cause) with ConditionName {
    override def getSqlState: String                        = condition.sqlState
    override def getMessageParameters: JMap[String, String] = parameters
  }
}
