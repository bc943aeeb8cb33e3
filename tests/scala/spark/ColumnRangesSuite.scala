package org.apache.spark.sql.dovetail

/**
 * Joins with an expression that fails for some values of a type, but for none that is there: conversions of days to
 * timestamps, which overflow for years beyond 294246, and integer arithmetic in ANSI mode. Such a join moves if the
 * footers of all files tell that there is no such value.
 */
class ColumnRangesSuite extends DovetailSuite {
  private val join = "JOIN versions v ON e.k = v.k AND e.at >= v.since AND e.at < v.until"

  private def query(join: String = join, where: String = "n.name = 'n3'") =
    s"SELECT count(*), max(e.id) FROM events e $join JOIN names n ON e.n = n.n WHERE $where"

  private def withEvents(last: String, at: String)(body: => Unit): Unit = withTables("events", "versions", "names") {
    spark.sql(
      s"CREATE TABLE events USING parquet AS SELECT id, id % 100 AS k, id % 40 AS n, $at AS at FROM range(8000)"
    )
    spark.sql(
      "CREATE TABLE versions USING parquet AS SELECT id % 100 AS k, date_add(DATE'2020-01-01', CAST(id DIV 100 AS INT)) " +
        s"AS since, IF(id >= 900, $last, date_add(DATE'2020-01-02', CAST(id DIV 100 AS INT))) AS until FROM range(1000)"
    )
    spark.sql("CREATE TABLE names USING parquet AS SELECT id AS n, concat('n', id) AS name FROM range(40)")
    withConf("spark.dovetail.reorder.minGain" -> "0")(body)
  }

  private val (zoned, local) =
    ("timestamp_seconds(1577836800 + id * 100)", "CAST(timestamp_seconds(1577836800 + id * 100) AS TIMESTAMP_NTZ)")

  test("a join by a range of days moves") {
    for (at <- Seq(zoned, local)) withEvents("DATE'9999-12-31'", at) {
      for (ansi <- Seq("true", "false")) withConf("spark.sql.ansi.enabled" -> ansi)(sameAnswer(query()))
      sameAnswer(query(join.replace("e.at < v.until", "CAST(e.at AS TIMESTAMP) < CAST(v.until AS TIMESTAMP_NTZ)")))
      withConf("spark.dovetail.footers.enabled" -> "false")(assert(!reordered(query())))
    }
  }

  test("a day that overflows keeps the join in its place, where plain Spark does not convert it") {
    // the year 300,000, in a version of which no event with this name is
    withEvents("IF(id = 950, date_from_unix_date(108853000), DATE'9999-12-31')", zoned) {
      assert(!reordered(query()))
      sameAnswer(
        s"SELECT count(*), max(e.id) FROM names n JOIN events e ON e.n = n.n $join WHERE n.name = 'n3'",
        reorders = false
      )
    }
  }

  test("the files of one part of a UNION say nothing about the other parts") {
    withEvents("DATE'9999-12-31'", zoned) {
      withTables("others") {
        spark.sql("CREATE TABLE others USING parquet AS SELECT 50L AS k, DATE'2020-01-01' AS since, " +
          "date_from_unix_date(108853000) AS until FROM range(1)")
        def all(parts: String*) = parts.map(p => s"SELECT k, since, until FROM $p").mkString("(", " UNION ALL ", ")")
        val found               = join.replace("JOIN versions v", s"JOIN ${all("versions", "others")} v")
        // events with k = 50 have the name n10 or n30
        assert(!reordered(query(found)))
        sameAnswer(
          s"SELECT count(*), max(e.id) FROM names n JOIN events e ON e.n = n.n $found WHERE n.name = 'n3'",
          reorders = false
        )
        // the same columns of the table alone
        sameAnswer(query())
      }
    }
  }

  test("files that were not all seen prove nothing") {
    withEvents("DATE'9999-12-31'", zoned) {
      spark.sql("INSERT INTO versions SELECT 1, DATE'2020-01-01', date_from_unix_date(108853000)")
      assert(!reordered(query()))
    }
  }

  /** Weeks of two years, of which the filter keeps a few names; `last` is the largest number of a week. */
  private def withWeeks(last: String = "900L")(body: => Unit): Unit = withTables("weeks", "sales", "names") {
    spark.sql(s"CREATE TABLE weeks USING parquet AS SELECT CAST(IF(id = 99, $last, id) AS INT) AS week, id % 7 AS g " +
      "FROM range(100)")
    spark.sql(
      "CREATE TABLE sales USING parquet AS SELECT CAST(id % 90 AS INT) AS week, id % 40 AS n, id FROM range(8000)"
    )
    spark.sql("CREATE TABLE names USING parquet AS SELECT id AS n, concat('n', id) AS name FROM range(40)")
    withConf("spark.dovetail.reorder.minGain" -> "0", "spark.sql.ansi.enabled" -> "true")(body)
  }

  private val named = "JOIN names n ON s.n = n.n WHERE n.name = 'n3'"

  private def shifted(weeks: String = "weeks") =
    s"SELECT count(*), max(s.id) FROM sales s JOIN $weeks w ON s.week = w.week - 53 $named"

  test("a join on a shifted integer moves") {
    withWeeks() {
      sameAnswer(shifted())
      sameAnswer(
        shifted("(SELECT week AS week FROM (SELECT week + 1 AS week, count(*) AS c FROM weeks GROUP BY week))")
      )
      sameAnswer(shifted().replace("w.week - 53", "w.week * 2"))
      withConf("spark.dovetail.footers.enabled" -> "false")(assert(!reordered(shifted())))
      spark.sql("INSERT INTO weeks SELECT -2147483640, 1")
      assert(!reordered(shifted()))
    }
    // the smallest number that 53 can be subtracted from
    withWeeks("-2147483595L")(sameAnswer(shifted()))
    withWeeks("-2147483596L") {
      assert(!reordered(shifted()))
      // plain Spark fails at the row in this order, too
      intercept[Exception](spark.sql(shifted("(SELECT week FROM weeks WHERE week < 0)")).collect())
    }
  }

  test("ranks and counts have room for a neighbor") {
    withWeeks() {
      for (f <- Seq("row_number()", "rank()", "dense_rank()")) {
        val ranked = s"(SELECT g, week, $f OVER (PARTITION BY g ORDER BY week) AS week2 FROM weeks)"
        sameAnswer(s"SELECT count(*), max(s.id) FROM sales s JOIN $ranked w ON s.week = w.week2 + 1 $named")
      }
      val counted = "(SELECT g, count(*) AS c FROM weeks GROUP BY g)"
      sameAnswer(s"SELECT count(*), max(s.id) FROM sales s JOIN $counted w ON s.week = w.c + 1 $named")
    }
  }

  test("a range of one part of a UNION is no range of the whole") {
    withWeeks() {
      withTables("others") {
        spark.sql("CREATE TABLE others USING parquet AS SELECT CAST(-2147483640 AS INT) AS week FROM range(1)")
        val all = "(SELECT week FROM weeks UNION ALL SELECT week FROM others)"
        assert(!reordered(shifted(all)))
      }
    }
  }
}
