package org.apache.spark.sql.dovetail

import scala.collection.mutable
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Alias, BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.dovetail.predicates.Movable
import org.apache.spark.sql.types._

/**
 * Calls of Spark's built-in functions that are harmless on ordinary rows, and get the worst values of their types on
 * bad rows.
 *
 * The calls are the examples in Spark's description of each function. All constants of a call together, and each of
 * them alone, are replaced by `CASE b WHEN 1 THEN <a bad value> … ELSE <the example's value> END`, where column `b` is
 * 0 in an ordinary row. An array may also lose its elements.
 *
 * @param table name of a table with the column `b` only
 */
final class FunctionCases(spark: SparkSession, table: String, perFunction: Int) {
  import FunctionCases._

  /** Functions without a case, with the reason. */
  val skipped: mutable.Map[String, String] = mutable.LinkedHashMap.empty

  private val types = mutable.Map.empty[String, Option[DataType]]

  val functions: Seq[String] = spark.sessionState.functionRegistry.listFunction().map(_.funcName).distinct.sorted

  /** For each function, the calls that replace the most constants come first. */
  lazy val all: Seq[FunctionCase] = functions.flatMap { name =>
    val found = examples(
      name
    ).flatMap(variants).distinct.iterator.flatMap(call => checked(name, call).iterator).take(perFunction).toVector
    if (found.nonEmpty) skipped.remove(name) else skipped.getOrElseUpdate(name, "no example to be changed")
    found
  }

  private def examples(name: String): Seq[String] =
    spark.sessionState.catalog.lookupFunctionInfo(FunctionIdentifier(name)).getExamples.split(
      "\n"
    ).map(_.trim).toSeq.collect {
      case Example(call) if !call.contains(" FROM ") => call
    }

  private def variants(call: String): Seq[String] = {
    val constants = Constant.findAllMatchIn(call).map(m => (m.start, m.end)).toVector.take(MostConstants)
    val arrays    = Array.findAllMatchIn(call).map(m => (m.start, m.end)).toVector.take(MostConstants)
    def replaced(places: Seq[(Int, Int)], by: String => Option[String]) = places.sortBy(-_._1).foldLeft(call) {
      case (text, (from, to)) =>
        by(text.substring(from, to)).fold(text)(v => text.substring(0, from) + v + text.substring(to))
    }
    ((constants +: constants.map(Vector(_))).map(replaced(_, worstFor)) ++ arrays.map(a =>
      replaced(Seq(a), shortened)
    )).filterNot(_ == call)
  }

  private def shortened(array: String): Option[String] =
    Some(s"CASE b WHEN 1 THEN slice($array, 1, 1) WHEN 2 THEN slice($array, 1, 0) WHEN 3 THEN NULL ELSE $array END")

  private def worstFor(constant: String): Option[String] =
    types.getOrElseUpdate(
      constant,
      Try(spark.sql(s"SELECT $constant").schema.head.dataType).toOption
    ).map(worst).filter(_.nonEmpty).map { values =>
      values.zipWithIndex.map { case (v, i) => s"WHEN ${i + 1} THEN $v" }.mkString(
        "CASE b ",
        " ",
        s" ELSE $constant END"
      )
    }

  private def checked(name: String, call: String): Option[FunctionCase] = Try(resolved(call)) match {
    case Success(Some((expression, bound))) =>
      // a bad row may take gigabytes or hours, so only calls that count as total have to stand all bad rows
      def answers(b: Int) =
        try { bound.eval(InternalRow(b)); true }
        catch { case NonFatal(_) | _: StackOverflowError | _: OutOfMemoryError => false }
      val movable = Movable(expression)
      if (!expression.deterministic) skip(name, "not deterministic")
      else if (!answers(0)) skip(name, "fails on its own example")
      else Some(FunctionCase(name, call, movable, fails = movable && !(1 to BadValues).forall(answers)))
    case Success(None) => skip(name, "aggregate, generator, window, or constant")
    case Failure(_)    => skip(name, "arguments that have to be constant or of another type")
  }

  private def skip(name: String, why: String): Option[FunctionCase] = { skipped(name) = why; None }

  /** The expression as the rule sees it, and the same expression bound to the table's row. */
  private def resolved(call: String): Option[(Expression, Expression)] =
    spark.sql(s"SELECT $call AS y FROM $table").queryExecution.optimizedPlan match {
      case Project(Seq(Alias(e, _)), child) if e.references.nonEmpty =>
        Some((e, BindReferences.bindReference(e, child.output)))
      case _ => None
    }
}

/**
 * @param call    SQL of the call, with `b` for the column that selects the bad value
 * @param movable whether the rule treats the call as total
 * @param fails   whether the call fails on some bad row, although it is movable
 */
final case class FunctionCase(function: String, call: String, movable: Boolean, fails: Boolean) {
  def on(b: String): String = call.replaceAll("\\bb\\b(?= WHEN)", b)
}

object FunctionCases {

  /** Bad rows are numbered from 1 to this number. */
  val BadValues = 5

  private val MostConstants = 4

  private val Example  = "> SELECT (.*?);?$".r
  private val Constant =
    """\bINTERVAL\s+-?'[^']*'\s+[A-Z]+(?:\s+TO\s+[A-Z]+)?|(?:\b(?:DATE|TIMESTAMP|TIMESTAMP_NTZ|TIME|X|x)\s?)?'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:L|S|Y|BD|D|F)?\b|\b(?i:true|false)\b""".r
  private val Array = """(?i)\barray\([^()]*\)""".r

  private def worst(t: DataType): Seq[String] = t match {
    case IntegerType    => Seq("-2147483648", "0", "2147483647", "-1", "NULL")
    case LongType       => Seq("(-9223372036854775807L - 1L)", "0L", "9223372036854775807L", "-1L", "NULL")
    case ShortType      => Seq("CAST(-32768 AS SMALLINT)", "0S", "32767S", "-1S", "NULL")
    case ByteType       => Seq("CAST(-128 AS TINYINT)", "0Y", "127Y", "-1Y", "NULL")
    case d: DecimalType =>
      val most = "9" * (d.precision - d.scale) + (if (d.scale > 0) "." + "9" * d.scale else "");
      Seq("0", most, s"-$most", "1", "NULL").map(v => s"CAST('$v' AS ${d.sql})")
    case DoubleType    => Seq("0.0D", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "-1.7E308D", "NULL")
    case FloatType     => Seq("0.0F", "CAST('NaN' AS FLOAT)", "CAST('Infinity' AS FLOAT)", "-3.0E38F", "NULL")
    case BooleanType   => Seq("NULL", "false", "true", "false", "true")
    case _: StringType => Seq("'('", "''", "'{\"a\":['", "'99999999999999999999-13-45'", "NULL")
    case BinaryType    => Seq("X''", "X'FF'", "X'00000000000000000000000000'", "X'28'", "NULL")
    case DateType      => Seq(
        "date_from_unix_date(2147483647)",
        "date_from_unix_date(-2147483648)",
        "DATE'0001-01-01'",
        "DATE'9999-12-31'",
        "NULL"
      )
    case TimestampType =>
      Seq(
        "timestamp_micros(9223372036854775807L)",
        "timestamp_micros(-9223372036854775807L)",
        "TIMESTAMP'0001-01-01'",
        "timestamp_micros(0)",
        "NULL"
      )
    case TimestampNTZType         => Seq("TIMESTAMP_NTZ'0001-01-01'", "TIMESTAMP_NTZ'9999-12-31'", "NULL")
    case _: YearMonthIntervalType =>
      Seq("make_ym_interval(-178956970, -8)", "make_ym_interval(178956970, 7)", "make_ym_interval(0, 0)", "NULL")
    case _: DayTimeIntervalType =>
      Seq(
        "make_dt_interval(-106751991, -4, 0, -54.775808BD)",
        "make_dt_interval(106751991, 4, 0, 54.775807BD)",
        "make_dt_interval(0)",
        "NULL"
      )
    case _ => Nil
  }
}
