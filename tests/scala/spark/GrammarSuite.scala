package org.apache.spark.sql.dovetail

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.ErrorCondition
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable}
import org.apache.spark.sql.dovetail.sql.Statement._
import org.apache.spark.sql.dovetail.sql.{CommandParser, Grammar, Statement}
import org.apache.spark.sql.execution.SparkSqlParser

/**
 * DOVETAIL statements: the meaning of each form, and the error, with its position, for a text that is not a statement.
 */
class GrammarSuite extends DovetailSuite {

  private def read(text: String): Statement = Grammar(text, spark.sessionState.sqlParser)

  test("each form is read, in any letter case, with comments and a semicolon") {
    val analyze = Analyze("TABLE", "t", Nil, None, Nil)
    Seq(
      "DOVETAIL ANALYZE TABLE t"                            -> analyze,
      "  dovetail /* now */ Analyze -- it\n table t ;"      -> analyze,
      "/* a */ DOVETAIL ANALYZE TABLE t"                    -> analyze,
      "DOVETAIL ANALYZE TABLE c.`a b` . t-1"                -> analyze.copy(name = "c.`a b` . t-1"),
      "DOVETAIL ANALYZE TABLE t COLUMNS (a, `b``c`)"        -> analyze.copy(columns = Some(Seq("a", "b`c"))),
      "DOVETAIL ANALYZE TABLE t GROUPS ((a, b), (c, d, e))" ->
        analyze.copy(groups = Seq(Seq("a", "b"), Seq("c", "d", "e"))),
      "DOVETAIL ANALYZE TABLE t PARTITION (d = DATE'2020-01-01', h = concat('a', ')')) COLUMNS (a)" ->
        analyze.copy(
          partition = Seq("d" -> "DATE'2020-01-01'", "h" -> "concat('a', ')')"),
          columns = Some(Seq("a"))
        ),
      "DOVETAIL ANALYZE PATH csv.`/a` GROUPS ((a, b)) COLUMNS (c) PARTITION (d = 1)" ->
        Analyze("PATH", "csv.`/a`", Seq("d" -> "1"), Some(Seq("c")), Seq(Seq("a", "b"))),
      "DOVETAIL ANALYZE PATH parquet.`/a/b c`"             -> analyze.copy(kind = "PATH", name = "parquet.`/a/b c`"),
      "DOVETAIL ANALYZE DATABASE db"                       -> analyze.copy(kind = "DATABASE", name = "db"),
      "DOVETAIL SAVE PINS 'it' \"'\" 's'"                  -> SavePins("it's"),
      "DOVETAIL PROFILE SELECT ';' AS x;"                  -> Profile("SELECT ';' AS x"),
      "DOVETAIL CALIBRATE"                                 -> Calibrate(Some(2000000L)),
      "DOVETAIL CALIBRATE 300000 rows"                     -> Calibrate(Some(300000L)),
      "DOVETAIL CALIBRATE RESET"                           -> Calibrate(None),
      "DOVETAIL SET ROWS 7 FOR TABLE db.t"                 -> SetRows(7L, OfTable("db.t")),
      "DOVETAIL SET ROWS 7 FOR SELECT 'a' FROM t"          -> SetRows(7L, OfQuery("SELECT 'a' FROM t")),
      "DOVETAIL SET ROWS 7 FOR 'SELECT \\'a\\' FROM t'"    -> SetRows(7L, OfQuery("SELECT 'a' FROM t")),
      "DOVETAIL FORGET ROWS"                               -> ForgetRows(None),
      "DOVETAIL FORGET ROWS FOR TABLE t"                   -> ForgetRows(Some(OfTable("t"))),
      "DOVETAIL FORGET FAILURES"                           -> ForgetFailures,
      "DOVETAIL FORGET HISTORY"                            -> ForgetHistory(None),
      "DOVETAIL FORGET HISTORY FOR TABLE db.t"             -> ForgetHistory(Some(OfTable("db.t"))),
      "DOVETAIL SAVE HISTORY '/a b'"                       -> SaveHistory("/a b"),
      "DOVETAIL LOAD HISTORY '/a b'"                       -> LoadHistory("/a b"),
      "DOVETAIL CLEAR CACHES"                              -> ClearCaches,
      "DOVETAIL SAVE ROWS 'a b.json'"                      -> SaveRows("a b.json"),
      "DOVETAIL LOAD PINS \"/a.json\""                     -> LoadPins("/a.json"),
      "DOVETAIL PIN my-pin.v2 AS '((a b) c)' FOR SELECT 1" -> MakePin("my-pin.v2", Some("((a b) c)"), "SELECT 1"),
      "DOVETAIL PIN `my pin` FOR 'SELECT 1'"               -> MakePin("my pin", None, "SELECT 1"),
      "DOVETAIL UNPIN 2026-q1"                             -> RemovePin("2026-q1"),
      "DOVETAIL HELP"                                      -> Help(None),
      "DOVETAIL HELP rows"                                 -> Help(Some("rows"))
    ).foreach { case (text, statement) =>
      assert(Grammar.isIn(text), text)
      assert(read(text) == statement, text)
    }
  }

  test("a string literal means what the session's settings make of it") {
    assert(read("DOVETAIL SAVE ROWS 'a\\tb'") == SaveRows("a\tb"))
    withConf("spark.sql.parser.escapedStringLiterals" -> "true") {
      assert(read("DOVETAIL SAVE ROWS 'a\\tb'") == SaveRows("a\\tb"))
    }
  }

  test("Spark's statements are left to Spark") {
    Seq(
      "SELECT dovetail FROM t",
      "DOVETAILS",
      "dovetail.x",
      "",
      "  ",
      "-- DOVETAIL\nSELECT 1",
      "/* DOVETAIL */ SELECT 1"
    )
      .foreach(text => assert(!Grammar.isIn(text), text))
  }

  test("what cannot stand where it stands is named, with its position and what is allowed") {
    Seq(
      ("DOVETAIL", "", 8, "expected ANALYZE, CALIBRATE"),
      ("DOVETAIL ANALYSE TABLE t", "'ANALYSE'", 9, "did you mean ANALYZE?"),
      ("DOVETAIL EXPLAIN SELECT 1", "'EXPLAIN'", 9, "DOVETAIL HELP lists all statements"),
      ("DOVETAIL ANALYZE t", "'t'", 17, "expected TABLE, PATH or DATABASE"),
      ("DOVETAIL ANALYZE TABLE", "", 22, "expected a name. Allowed: DOVETAIL ANALYZE TABLE"),
      ("DOVETAIL ANALYZE TABLE t NONSENSE", "'NONSENSE'", 25, "Allowed: DOVETAIL ANALYZE TABLE"),
      ("DOVETAIL ANALYZE TABLE range(10)", "'('", 28, "Allowed: DOVETAIL ANALYZE TABLE"),
      ("DOVETAIL ANALYZE TABLE t COLUMNS id", "'id'", 33, "expected '('"),
      ("DOVETAIL ANALYZE TABLE t COLUMNS (id", "", 36, "expected ')'"),
      ("DOVETAIL ANALYZE TABLE t COLUMNS (id)\n  GROUPS ((id))", "'('", 10, "two or more columns"),
      ("DOVETAIL ANALYZE DATABASE d COLUMNS (a)", "'COLUMNS'", 28, "expected the end of the statement"),
      ("DOVETAIL ANALYZE PATH '/data'", "'''/data'''", 22, "expected a name"),
      ("DOVETAIL ANALYZE TABLE t PARTITION (a = )", "')'", 40, "expected a value"),
      ("DOVETAIL PROFILE", "", 16, "expected a query"),
      ("DOVETAIL CALIBRATE now", "'now'", 19, "Allowed: DOVETAIL CALIBRATE [<n> ROWS | RESET]"),
      ("DOVETAIL CALIBRATE 5", "", 20, "expected ROWS"),
      ("DOVETAIL SET ROWS -3 FOR SELECT 1", "'-'", 18, "expected a whole number"),
      ("DOVETAIL SET ROWS 99999999999999999999 FOR TABLE f", "'FOR'", 39, "expected at most 18 digits"),
      ("DOVETAIL SET ROWS 5 FOR TABLE f extra", "'extra'", 32, "Allowed: DOVETAIL SET ROWS"),
      ("DOVETAIL FORGET", "", 15, "Allowed: DOVETAIL FORGET ROWS"),
      ("DOVETAIL FORGET ALL", "'ALL'", 16, "expected FAILURES, HISTORY or ROWS. Allowed: DOVETAIL FORGET ROWS"),
      ("DOVETAIL FORGET", "", 15, "expected FAILURES, HISTORY or ROWS"),
      ("DOVETAIL SAVE x", "'x'", 14, "expected HISTORY, PINS or ROWS"),
      ("DOVETAIL LOAD x", "'x'", 14, "expected HISTORY, PINS or ROWS"),
      ("DOVETAIL LOAD x", "'x'", 14, "Allowed: DOVETAIL LOAD ROWS '<path>'; DOVETAIL LOAD PINS '<path>'"),
      ("DOVETAIL PIN p AS (a b) FOR SELECT 1", "'('", 18, "expected a string"),
      ("DOVETAIL UNPIN", "", 14, "Allowed: DOVETAIL UNPIN <name>"),
      ("DOVETAIL HELP me out", "'out'", 17, "expected the end of the statement")
    ).foreach { case (text, near, position, said) =>
      val e = intercept[ParseException](spark.sql(text))
      assert(e.getMessage.contains("[PARSE_SYNTAX_ERROR]") && e.getSqlState == "42601", text)
      assert(e.getMessage.contains(said), e.getMessage)
      assert(e.start.startPosition.contains(position), e.getMessage)
      if (near.nonEmpty && !near.startsWith("'(i"))
        assert(e.getMessageParameters.get("error") == near.replace("'''", "''"), text)
    }
  }

  test("HELP lists every statement, and those of a word") {
    assert(spark.sql("DOVETAIL HELP").collect().map(_.getString(0)).toSeq == Statement.Forms.map(_.usage))
    assert(spark.sql("DOVETAIL HELP pin").count() == 1)
    assert(spark.sql("DOVETAIL HELP rows").collect().forall(_.getString(0).contains("ROWS")))
    assert(spark.sql("DOVETAIL HELP nothing").count() == Statement.Forms.size)
  }

  test("errors have a condition, an SQLSTATE and parameters") {
    withTables("t") {
      spark.sql("CREATE TABLE t USING parquet AS SELECT 1 AS id")
      Seq(
        ("DOVETAIL ANALYZE TABLE t COLUMNS (nope)", ErrorCondition.ColumnNotFound, Map("column" -> "nope")),
        ("DOVETAIL ANALYZE TABLE t PARTITION (p = 1)", ErrorCondition.PartitionNotFound, Map("column" -> "p")),
        ("DOVETAIL PROFILE DROP TABLE t", ErrorCondition.NotAQuery, Map("asker" -> "DOVETAIL PROFILE")),
        ("DOVETAIL CALIBRATE 10 ROWS", ErrorCondition.InvalidArgument, Map("argument" -> "10")),
        ("DOVETAIL UNPIN nope", ErrorCondition.PinNotFound, Map("pin" -> "nope")),
        ("DOVETAIL PIN p FOR SELECT 1", ErrorCondition.NotRecognizable, Map("asker" -> "DOVETAIL PIN")),
        ("DOVETAIL LOAD PINS '/no/such.json'", ErrorCondition.InvalidFile, Map("path" -> "/no/such.json")),
        // Hadoop knows the class of this file system, whose jar is missing
        ("DOVETAIL SAVE ROWS 's3a://b/x'", ErrorCondition.InvalidFile, Map("path" -> "s3a://b/x")),
        ("DOVETAIL LOAD ROWS 's3a://b/x'", ErrorCondition.InvalidFile, Map("path" -> "s3a://b/x")),
        ("DOVETAIL SAVE HISTORY 's3a://b/x'", ErrorCondition.InvalidFile, Map("path" -> "s3a://b/x")),
        ("SELECT * FROM dovetail_stats()", ErrorCondition.InvalidArgument, Map("function" -> "dovetail_stats"))
      ).foreach { case (text, condition, parameters) =>
        val e = intercept[IllegalArgumentException](spark.sql(text).collect())
        val t = e.asInstanceOf[SparkThrowable]
        assert(t.getSqlState == condition.sqlState, text)
        parameters.foreach { case (name, value) => assert(t.getMessageParameters.get(name) == value, text) }
        assert(
          e.getMessage.startsWith(s"[${condition.name}] ") && e.getMessage.endsWith(s" SQLSTATE: ${condition.sqlState}")
        )
      }
      assert(ErrorCondition.all.map(_.name).distinct.size == ErrorCondition.all.size)
    }
  }

  test("the parser has the interfaces of the parser before it, which other extensions look for") {
    val parser = CommandParser(new GrammarSuite.OtherParser)
    parser match {
      case other: GrammarSuite.Sorting => assert(other.sorted("b, a") == "a, b")
      case _                           => fail(s"$parser has lost an interface")
    }
    assert(CommandParser(parser).isInstanceOf[GrammarSuite.Sorting], "also if there are two of ours")
    assert(parser.parsePlan("SELECT 1").isInstanceOf[LogicalPlan])
  }

  test("the parser has the parser interfaces of all parsers behind it, and their methods") {
    val last = new GrammarSuite.OrderingParser
    CommandParser(new GrammarSuite.Wrapper(new GrammarSuite.Wrapper(last))) match {
      case parser: GrammarSuite.Ordering =>
        assert(parser.ordered("b, a") == "a, b" && parser.parsePlan("SELECT 1").isInstanceOf[LogicalPlan])
        assert(last.plans == 1, "the statement went through all parsers")
      case parser => fail(s"$parser has lost an interface")
    }
    val circle = new GrammarSuite.Wrapper(last)
    circle.next = circle
    assert(CommandParser(circle).isInstanceOf[ParserInterface], "a parser that hands on to itself")
  }

  test("errors of a parser that its interface does not declare keep their message") {
    val failing = new SparkSqlParser {
      override def parsePlan(text: String): LogicalPlan = throw new java.io.IOException(s"no $text")
    }
    val e = intercept[RuntimeException](CommandParser(failing).parsePlan("script"))
    assert(e.getMessage == "no script" && e.getCause.isInstanceOf[java.io.IOException])
    assert(intercept[ParseException](CommandParser(new SparkSqlParser).parsePlan("SELEC 1")).getCause == null)
  }
}

object GrammarSuite {

  /** What another extension's parser can do in addition. */
  trait Sorting { def sorted(text: String): String }

  class OtherParser extends SparkSqlParser with Sorting {
    override def sorted(text: String): String = text.split(", ").sorted.mkString(", ")
  }

  /** A parser interface of another extension, as Iceberg has one. */
  trait Ordering extends ParserInterface { def ordered(text: String): String }

  class OrderingParser extends SparkSqlParser with Ordering {
    var plans = 0

    override def ordered(text: String): String        = text.split(", ").sorted.mkString(", ")
    override def parsePlan(text: String): LogicalPlan = { plans += 1; super.parsePlan(text) }
  }

  /** A parser of a third extension, which has no interface of its own. */
  class Wrapper(var next: ParserInterface) extends SparkSqlParser {
    override def parsePlan(text: String): LogicalPlan = next.parsePlan(text)
  }
}
