package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.{Contains, EndsWith, Expression, Like, StartsWith}
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.plan.PredicateOrder
import org.apache.spark.sql.dovetail.predicates.{Conditions, LikePieces}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper

/** Tests for the pieces of LIKE patterns: they are in the plan, and change neither answers nor estimates. */
class LikePiecesSuite extends DovetailSuite with SuiteTables with AdaptiveSparkPlanHelper {
  private val texts = Seq(
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aa",
    "aaa",
    "aaaa",
    "aab",
    "abab",
    "a\nb",
    "\n",
    "a\r\nb",
    "a b",
    "A B",
    "axb",
    "xaxbx",
    "ab%",
    "%",
    "a_b",
    "_",
    "a\\b",
    "\\",
    "äöü",
    "aäb",
    "ä",
    "\u00e4b\u00df",
    "a\u0308b",
    "😀",
    "a😀b",
    "😀a😀",
    "中文字",
    "special requests",
    "special\nrequests",
    "requests special",
    "x special x requests x",
    "specialrequests",
    "\u0000a\u0000b"
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    val session = spark
    import session.implicits._
    val rows = texts.map(Option(_)) ++ Seq(None, None)
    rows.zipWithIndex.map { case (t, i) => (i.toLong, t, t.map(_.length)) }.toDF("id", "x", "n")
      .unionByName(spark.sql("SELECT 900L AS id, CAST(X'61FF62' AS STRING) AS x, 3 AS n"))
      .unionByName(spark.sql("SELECT 901L AS id, CAST(X'61EFBFBD62' AS STRING) AS x, 3 AS n"))
      .createOrReplaceTempView("made")
    table("texts", "SELECT * FROM made")
    table("parts", "SELECT id, n, concat('a', n, 'b') AS part FROM made WHERE n < 4", "PARTITIONED BY (part)")
    spark.catalog.dropTempView("made")
  }

  private def tests(plan: LogicalPlan): Seq[String] = plan.collect { case f: Filter =>
    f.condition.collect {
      case StartsWith(_, p) => s"$p%"
      case Contains(_, p)   => s"%$p%"
      case EndsWith(_, p)   => s"%$p"
    }
  }.flatten

  private def tests(where: String, from: String = "texts"): Seq[String] =
    tests(optimized(s"SELECT id FROM $from WHERE $where"))

  private def conditions(plan: LogicalPlan): Seq[Expression] = plan.collect { case f: Filter => f.condition }

  test("each piece has a test before the LIKE, which stays, also below NOT and OR") {
    for (
      (pattern, expected) <- Seq(
        "%special%requests%" -> Seq("%special%", "%requests%"),
        "a%b%c"              -> Seq("a%", "%b%", "%c"),
        "a%b%"               -> Seq("a%", "%b%"),
        "%a%%b"              -> Seq("%a%", "%b"),
        "%ä%😀%"             -> Seq("%ä%", "%😀%"),
        "%a%a%"              -> Seq("%a%")
      );
      where <- Seq(s"x LIKE '$pattern'", s"x NOT LIKE '$pattern'", s"x LIKE '$pattern' OR n = 3")
    ) {
      assert(tests(where) == expected, where)
      assert(conditions(optimized(s"SELECT id FROM texts WHERE $where")).exists(_.exists(_.isInstanceOf[Like])), where)
      withConf(DovetailConf.FiltersOrder.key -> "false")(assert(tests(where).isEmpty, where))
      assert(dovetail(on = false)(tests(where)).isEmpty, where)
    }
    // a piece that is tested already, by the query or for another pattern
    assert(tests("contains(x, 'a') AND x LIKE '%a%b%' AND x LIKE '%b%c%'") == Seq("%a%", "%b%", "%c%"))
  }

  test("other patterns, columns and tables stay as they are") {
    for (
      where <- Seq(
        "x LIKE '%a_%b%'",
        "x LIKE '%a\\\\%%b%'",
        "x LIKE '%a/%%b%' ESCAPE '/'",
        "x LIKE '%a%\uFFFD%'",
        "upper(x) LIKE '%A%B%'",
        "x LIKE concat('%', n, '%b%')",
        "x LIKE CAST(NULL AS STRING)",
        "x RLIKE '.*a.*b.*'",
        "if(n > 2, x LIKE '%a%b%', true)"
      )
    ) assert(tests(where).isEmpty, where)
    // what Spark itself replaces
    assert(tests("x LIKE '%a%'") == dovetail(on = false)(tests("x LIKE '%a%'")))
    assert(tests("x LIKE 'a%b'") == dovetail(on = false)(tests("x LIKE 'a%b'")))
    assert(tests("part LIKE '%a%b%'", "parts").isEmpty)
    if (spark.version >= "4")
      assert(tests("x LIKE '%a%b%'", "(SELECT id, x COLLATE UTF8_LCASE AS x FROM texts)").isEmpty)
    withTables("elsewhere") {
      MemorySource.create(spark, "elsewhere", "id BIGINT, x STRING", Nil)
      assert(tests("x LIKE '%a%b%'", "elsewhere").isEmpty)
    }
    // of many patterns, as programs make them
    val many = (1 to 40).map(i => s"x LIKE '%a$i%b%'").mkString(" OR ")
    assert(tests(many).isEmpty)
  }

  test("the same rows as without the tests: NULL, empty texts, line breaks, other scripts, overlapping pieces") {
    val patterns = Seq(
      "%a%b%",
      "a%b%",
      "%a%b",
      "a%a%a",
      "%aa%aa%",
      "%a%a%",
      "a%b%b",
      "%ä%b%",
      "%😀%😀%",
      "%a%😀%b%",
      "%\n%b%",
      "%special%requests%",
      "%a%\uFFFD%",
      "%a%%b%",
      "%中%字%",
      "a%_%b",
      "%\u0000%\u0000%"
    )
    for (codegen <- Seq("NO_CODEGEN", "CODEGEN_ONLY")) withConf(
      "spark.sql.codegen.factoryMode" -> codegen,
      "spark.sql.codegen.wholeStage"  -> (codegen == "CODEGEN_ONLY").toString
    ) {
      // one query has all patterns, because each takes some time to plan
      val query = patterns.flatMap { p =>
        Seq(
          s"x LIKE '$p'",
          s"x NOT LIKE '$p'",
          s"NOT (x LIKE '$p' OR n = 3)",
          s"NOT (x LIKE '$p' AND n = 3)",
          s"coalesce(n, 0) = 2 OR x LIKE '$p'"
        ).map(where => s"SELECT \"$where\" AS w, id FROM texts WHERE $where")
      }.mkString(" UNION ALL ")
      assert(tests(optimized(query)).size > 5 * patterns.size)
      sameAnswer(query, reorders = false)
    }
    assert(answer("SELECT id FROM texts WHERE x LIKE '%aa%aa%'") == Seq(s"[${texts.indexOf("aaaa")}]"))
  }

  test("a second run changes nothing, also after Spark has simplified the condition") {
    for (
      where <- Seq(
        "x LIKE '%a%b%'",
        "x NOT LIKE '%a%b%' AND n > 1",
        "x LIKE '%a%b%' OR x LIKE '%a%c%'",
        "NOT (x LIKE '%a%b%' OR x NOT LIKE 'a%b%c')"
      )
    ) {
      val once = optimized(s"SELECT id FROM texts WHERE $where")
      assert(PredicateOrder(once).fastEquals(once), where)
      val simpler = BooleanSimplification(once)
      assert(PredicateOrder(simpler).fastEquals(simpler), where)
    }
  }

  test("estimates do not see the tests, in whichever form they are") {
    for (where <- Seq("x LIKE '%a%b%'", "x NOT LIKE '%a%b%'", "x LIKE 'a%b%c' OR n = 3")) {
      val plain = dovetail(on = false)(conditions(optimized(s"SELECT id FROM texts WHERE $where")))
      val plans = Seq(optimized(s"SELECT id FROM texts WHERE $where"))
      for (plan <- plans ++ plans.map(BooleanSimplification(_)); (c, p) <- conditions(plan).zip(plain)) {
        assert(!c.fastEquals(p), where)
        assert(text(LikePieces.untested(c)) == text(p), where)
        assert(new Conditions()(c).toString.replaceAll("\\d+", "") == new Conditions()(p).toString.replaceAll(
          "\\d+",
          ""
        ))
      }
    }
    // a subquery is planned first, so the query around it sees its tests
    val sql =
      "SELECT count(*) FROM texts a JOIN texts b ON a.id = b.id WHERE a.id IN (SELECT id FROM texts WHERE x LIKE " +
        "'%a%b%')"
    for (sampled <- Seq("true", "false")) withConf(DovetailConf.SampleFiles.key -> sampled) {
      def estimates =
        traced(sql)._2.groups.map(g => g.relations.map(_.rows) -> g.after.orElse(g.before).map(_.cost.total))
      assert(tests(optimized(sql)).nonEmpty)
      assert(estimates == withConf(DovetailConf.FiltersOrder.key -> "false")(estimates))
    }
  }

  private def text(e: Expression): String = e.sql.replaceAll("NOT \\((.*LIKE [^()]*)\\)", "NOT $1")

  test("a scan of files gets the tests, and the LIKE is evaluated after it") {
    val plan  = physical("SELECT id FROM texts WHERE x LIKE 'a%b%c'")
    val scans = collect(plan) { case s: FileSourceScanExec => s.metadata("PushedFilters") }
    assert(Seq("StringStartsWith(x,a)", "StringContains(x,b)", "StringEndsWith(x,c)").forall(scans.mkString.contains))
    // a cache, and rows in the plan
    withTables("kept") {
      spark.sql("CACHE TABLE kept AS SELECT * FROM texts")
      assert(tests("x LIKE '%a%b%'", "kept") == Seq("%a%", "%b%"))
      sameAnswer("SELECT id FROM kept WHERE x LIKE '%a%b%'", reorders = false)
      spark.sql("UNCACHE TABLE kept")
    }
  }
}
