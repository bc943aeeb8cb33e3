package org.apache.spark.sql.dovetail

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.Row
import org.apache.spark.sql.dovetail.base.{DovetailConf, Setting}
import org.scalactic.Tolerance

/** The table functions beside `dovetail_explain`, and what a wrong call of a function or statement says. */
class TableFunctionsSuite extends StarSuite with Tolerance {
  private val star =
    "SELECT f.v, a.w, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def quoted(sql: String) = sql.replace("\\", "\\\\").replace("'", "\\'")

  // dovetail_estimate

  private def estimated(query: String): Row = spark.sql(s"SELECT * FROM dovetail_estimate('${quoted(query)}')").head()

  test("dovetail_estimate: of a table, of two that the search leaves alone, of more what the search took") {
    val table = estimated("SELECT * FROM f")
    assert(table.schema.fieldNames.toSeq == Seq("value", "lower", "upper", "source"))
    assert(table == Row(5000.0, 5000.0, 5000.0, "catalog"))
    assert(estimated("SELECT * FROM c WHERE w = 1").getDouble(0) == 2.0)
    assert(estimated("SELECT f.v + 1, c.w FROM f, c WHERE f.k3 = c.k AND c.w = 1").getDouble(0) == 500.0)
    val explained = spark.sql(s"SELECT * FROM dovetail_explain('${quoted(star)}', 'json')").head().getString(0)
    val joins     = new ObjectMapper().readTree(explained).at("/groups/0/after/joins")
    assert(estimated(star).getDouble(0) == joins.get(joins.size - 1).at("/rows/value").asDouble)
    assert(estimated("SELECT count(*) FROM f").getDouble(0) == 1.0)
    assert(dovetail(on = false)(estimated("SELECT * FROM f, a WHERE f.k1 = a.k")).getDouble(0) === 5000.0 +- 100.0)
  }

  test("dovetail_estimate does not run the statement, and has no bound where none is known") {
    withTables("bare") {
      spark.sql("CREATE TABLE bare (v INT) USING parquet")
      assert(intercept[Exception](estimated("INSERT INTO bare SELECT v FROM f")).getMessage.contains("takes a query"))
      assert(spark.table("bare").count() == 0)
      withConf("spark.dovetail.footers.enabled" -> "false")(assert(estimated("SELECT * FROM bare").isNullAt(2)))
    }
  }

  // the other functions

  test("dovetail_version") {
    val row = spark.sql("SELECT * FROM dovetail_version()").head()
    assert(row.schema.fieldNames.toSeq == Seq("version", "spark_line", "spark_version", "scala_version", "enabled"))
    assert(row.getString(0) == BuildInfo.version && spark.version.startsWith(row.getString(1) + ".") && row.getString(
      2
    ) == spark.version && row.getBoolean(4))
    assert(!dovetail(on = false)(spark.sql("SELECT enabled FROM dovetail_version()").head().getBoolean(0)))
  }

  test("dovetail_conf") {
    // the test session changes these settings: more time for planning, no history, and a store for each suite
    val changed: Seq[Setting[_]] = Seq(
      DovetailConf.PlanningMaxMs,
      DovetailConf.MaxPlanningMs,
      DovetailConf.FootersMaxMs,
      DovetailConf.HistoryEnabled,
      DovetailConf.StorePath
    )
    val rows =
      withConf(
        changed.map(s => s.key -> s.entry.defaultValueString): _*
      )(spark.sql("SELECT * FROM dovetail_conf()").collect())
    assert(rows.head.schema.fieldNames.toSeq == Seq("key", "value", "default", "type", "range", "doc", "since"))
    assert(rows.map(_.getString(0)).toSeq == DovetailConf.all.map(_.key))
    rows.foreach { r =>
      assert(r.getString(0).startsWith("spark.dovetail.") && Set(
        "boolean",
        "int",
        "long",
        "double",
        "string",
        "enum"
      )(r.getString(3)))
      assert(
        (1 to 6).forall(i =>
          !r.isNullAt(i) && (r.getString(i).nonEmpty || (i != 5 && i != 6 && r.getString(3) == "string"))
        ) && r.getString(1) == r.getString(
          2
        ),
        r
      )
    }
    withConf(DovetailConf.MinGain.key -> "0.25") {
      assert(spark.sql(
        s"SELECT value, default FROM dovetail_conf() WHERE key = '${DovetailConf.MinGain.key}'"
      ).head().getString(0) == "0.25")
    }
  }

  test("dovetail_stats: the table first, then its columns") {
    val rows             = spark.sql("SELECT * FROM dovetail_stats('f')").collect()
    val (table, columns) = (rows.head, rows.tail)
    assert(rows.head.schema.fieldNames.toSeq == Seq(
      "column",
      "data_type",
      "rows",
      "size_bytes",
      "distinct_count",
      "null_count",
      "min",
      "max",
      "avg_length",
      "max_length",
      "histogram_bins",
      "source",
      "confidence",
      "kind",
      "group_columns",
      "frequent_values",
      "top_values",
      "sample_rows",
      "collected_at",
      "fresh",
      "unread_files",
      "distinct_error",
      "top_counts"
    ))
    assert(table.isNullAt(0) && table.getAs[Long]("rows") == 5000L && table.getAs[Long](
      "size_bytes"
    ) > 0L && table.getAs[String]("source") == "catalog")
    assert(columns.map(_.getString(0)).toSeq == Seq("k1", "k2", "k3", "v", "t"))
    val v = columns(3)
    assert(v.getAs[String]("data_type") == "INT" && v.getAs[String]("min") == "0" && v.getAs[String](
      "max"
    ) == "999" && v.getAs[Long]("null_count") == 0L)
    assert(math.abs(v.getAs[Long]("distinct_count") - 1000L) <= 100L)
    assert(columns(4).isNullAt(6) && columns(4).getAs[Long]("avg_length") > 0L)
  }

  test("dovetail_stats of a view, a path, a qualified name, a table without statistics") {
    withTables("some", "bare") {
      spark.sql("CREATE TEMPORARY VIEW some AS SELECT k1 AS renamed, v FROM f WHERE v < 100")
      val rows = spark.sql("SELECT * FROM dovetail_stats('some')").collect()
      assert(math.abs(rows.head.getAs[Long]("rows") - 500L) <= 60L && rows(1).getString(0) == "renamed" && rows(
        2
      ).getAs[Any]("max") != null)
      assert(spark.sql("SELECT rows FROM dovetail_stats('default.f') LIMIT 1").head().getLong(0) == 5000L)
      spark.sql("CREATE TABLE bare USING parquet AS SELECT * FROM a")
      def bare = spark.sql("SELECT * FROM dovetail_stats('bare')").collect()
      withConf(DovetailConf.FootersMaxMs.key -> "60000") {
        assert(bare.map(_.getAs[String]("source")).forall(_ == "footer"))
        assert(bare.head.getAs[String]("confidence") == "exact" && bare.tail.forall(r =>
          !r.isNullAt(5) && r.getAs[String]("confidence") == "estimated"
        ))
      }
      withConf(DovetailConf.FootersEnabled.key -> "false") {
        assert(bare.head.getAs[String]("confidence") == "guessed" && bare.tail.forall(r =>
          r.isNullAt(4) && r.isNullAt(5)
        ))
      }
    }
    withDirectory { directory =>
      spark.table("a").write.parquet(directory.resolve("files").toString)
      val rows = spark.sql(s"SELECT * FROM dovetail_stats('parquet.`${directory.resolve("files")}`')").collect()
      assert(rows.head.getAs[Long]("size_bytes") > 0L && rows.map(_.getString(0)).toSeq == Seq(null, "k", "w", "s"))
    }
  }

  test("histograms are counted") {
    withConf("spark.sql.statistics.histogram.enabled" -> "true", "spark.sql.statistics.histogram.numBins" -> "8") {
      withTables("h") {
        spark.sql("CREATE TABLE h USING parquet AS SELECT id FROM range(1000)")
        spark.sql("ANALYZE TABLE h COMPUTE STATISTICS FOR COLUMNS id")
        def bins = spark.sql("SELECT histogram_bins FROM dovetail_stats('h') WHERE column = 'id'").head()
        assert(bins.getInt(0) == 8)
        withConf(DovetailConf.HistogramEnabled.key -> "false")(assert(bins.isNullAt(0)))
      }
    }
  }

  test("a wrong call says what is allowed") {
    Seq(
      "SELECT * FROM dovetail_explain()" -> "dovetail_explain(sql or number [, format [, 'planned' | 'actual']])",
      "SELECT * FROM dovetail_explain('SELECT 1', 'yaml')"                    -> "text, verbose, json",
      "SELECT * FROM dovetail_explain('SELECT 1', 'json', 'x')"               -> "planned, actual",
      "SELECT * FROM dovetail_explain('1', '2', '3', '4')"                    -> "1 to 3 arguments",
      "SELECT * FROM dovetail_explain('DROP TABLE f', 'json', 'actual')"      -> "only for queries, not for commands",
      "SELECT * FROM dovetail_explain(1.5)"                                   -> "constant strings",
      "SELECT * FROM dovetail_explain(NULL)"                                  -> "constant strings",
      "SELECT * FROM dovetail_estimate()"                                     -> "dovetail_estimate(sql)",
      "SELECT * FROM dovetail_estimate('SELECT * FROM nope')"                 -> "nope",
      "SELECT * FROM dovetail_stats()"                                        -> "dovetail_stats(table)",
      "SELECT * FROM dovetail_stats('nowhere')"                               -> "nowhere",
      "SELECT * FROM dovetail_version('x')"                                   -> "dovetail_version",
      "DOVETAIL"                                                              -> "expected ANALYZE, CALIBRATE",
      "DOVETAIL DANCE"                                                        -> "expected ANALYZE, CALIBRATE",
      "DOVETAIL PROFILE"                                                      -> "DOVETAIL PROFILE <query>",
      "DOVETAIL PROFILE DROP TABLE f"                                         -> "takes a query",
      "DOVETAIL PROFILE INSERT INTO a SELECT 1, 1, '1'"                       -> "takes a query",
      "DOVETAIL PROFILE FROM a INSERT INTO a SELECT * INSERT INTO a SELECT *" -> "takes a query",
      "SELECT * FROM dovetail_explain('FROM a INSERT INTO a SELECT * INSERT INTO a SELECT *', 'json', 'actual')" ->
        "only for queries, not for commands",
      "DOVETAIL PROFILE DOVETAIL PROFILE SELECT 1" -> "takes a query"
    ).foreach { case (statement, hint) =>
      val message = intercept[Exception](spark.sql(statement).collect()).getMessage
      assert(message.contains(hint), s"$statement: $message")
    }
    assert(spark.table("a").count() == 100L && spark.catalog.tableExists("f"))
  }

  test("the functions compose with SQL, in any case and with a semicolon") {
    assert(spark.sql(
      "SELECT count(*) FROM dovetail_conf() c JOIN dovetail_version() v ON true WHERE c.type = 'double'"
    ).head().getLong(0) >= 2L)
    assert(spark.sql(
      "SELECT upper(column) FROM DOVETAIL_STATS('a') WHERE column IS NOT NULL ORDER BY 1"
    ).collect().map(_.getString(0)).toSeq == Seq(
      "K",
      "S",
      "W"
    ))
    assert(spark.sql("  dovetail Profile SELECT 1 AS x ; ").head().getString(0).contains("\"rows\":1"))
    assert(spark.sql("SELECT * FROM dovetail_explain(concat('SELECT ', '1'))").count() == 1L)
  }
}
