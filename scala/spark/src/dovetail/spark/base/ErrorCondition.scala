package org.apache.spark.sql.dovetail.base

import java.io.IOException
import java.util.{LinkedHashMap, Map => JMap}

/**
 * The errors that users of Dovetail can meet, as Spark's own are described: a name, an SQLSTATE, parameters. Programs
 * recognize an error by its name and read its parameters; the text is for people and may change. A statement that does
 * not parse is Spark's own condition PARSE_SYNTAX_ERROR ([[org.apache.spark.sql.dovetail.sql.Grammar]]).
 */
final class ErrorCondition private (val name: String, val sqlState: String) {

  /** An argument, a name or a statement is wrong. */
  def apply(text: String, parameters: (String, String)*): IllegalArgumentException = because(null, text, parameters: _*)

  def because(cause: Throwable, text: String, parameters: (String, String)*): IllegalArgumentException =
    new ErrorCondition.WrongArgument(this, text, ErrorCondition.map(parameters), cause)

  /** A place cannot be read or written. */
  def ofPlace(cause: Throwable, text: String, parameters: (String, String)*): IOException =
    new ErrorCondition.WrongPlace(this, text, ErrorCondition.map(parameters), cause)

  private def message(text: String) = s"[$name] $text SQLSTATE: $sqlState"
}

object ErrorCondition {

  /** A query is expected, and this is a command, or a statement that Spark does not optimize. */
  val NotAQuery = new ErrorCondition("DOVETAIL_NOT_A_QUERY", "42601")

  /** An argument of a function or a statement is not one that it takes. */
  val InvalidArgument = new ErrorCondition("DOVETAIL_INVALID_ARGUMENT", "22023")

  /** A setting has a value that it does not take. */
  val InvalidSetting = new ErrorCondition("DOVETAIL_INVALID_SETTING", "22023")

  /** DOVETAIL ANALYZE cannot read this, or cannot do what is asked of it. */
  val NotAnalyzable = new ErrorCondition("DOVETAIL_NOT_ANALYZABLE", "0A000")

  val ColumnNotFound    = new ErrorCondition("DOVETAIL_COLUMN_NOT_FOUND", "42703")
  val PartitionNotFound = new ErrorCondition("DOVETAIL_PARTITION_NOT_FOUND", "428FT")
  val PinNotFound       = new ErrorCondition("DOVETAIL_PIN_NOT_FOUND", "42704")

  /** A query whose joins cannot be recognized in other queries, or that has none to order. */
  val NotRecognizable = new ErrorCondition("DOVETAIL_NOT_RECOGNIZABLE", "0A000")

  /** A join order that is not one of the query's, or that its outer or semi joins forbid. */
  val InvalidOrder = new ErrorCondition("DOVETAIL_INVALID_ORDER", "22023")

  /** A file that the user names cannot be read or written, or does not hold what it should. */
  val InvalidFile = new ErrorCondition("DOVETAIL_INVALID_FILE", "58030")

  /** The directory of the statistics cannot be written. */
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

  /** What an error says, without its condition: to be part of another text. */
  def text(e: Throwable): String = e match {
    case e: WrongArgument => e.text
    case e: WrongPlace    => e.text
    case other            => other.getMessage
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
