package org.apache.spark.sql.dovetail

import java.time.LocalDate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.dovetail.base.{DovetailConf, KeyRangeFilter}
import org.apache.spark.sql.dovetail.deadline.SharedFileIndex
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * Scans that are filtered by the smallest and the largest key of another input: they skip row groups, legal ones do not
 * change the answer, and illegal ones are not made.
 */
class RangeFilterSuite extends DovetailSuite with SuiteTables with AdaptiveSparkPlanHelper {
  override def beforeAll(): Unit = {
    super.beforeAll()
    // 400 days of 50 rows in their order, in many row groups; some keys are NULL
    spark.sql(
      "CREATE TABLE fact USING parquet OPTIONS ('parquet.block.size'='65536', " +
        "'parquet.block.size.row.check.min'='100') " +
        "AS SELECT id, if(id % 31 = 0, NULL, CAST(id DIV 50 AS INT)) AS day, id DIV 50 AS big, " +
        "date_add(DATE'2020-01-01', CAST(id DIV 50 AS INT)) AS date, concat('d', id DIV 50) AS text, " +
        "CAST(id DIV 50 AS DOUBLE) AS ratio, id % 50 AS item, sha2(CAST(id AS STRING), 256) AS noise " +
        "FROM range(0, 20000, 1, 1)"
    )
    table(
      "days",
      "SELECT CAST(id AS INT) AS day, id AS big, date_add(DATE'2020-01-01', CAST(id AS INT)) AS date, " +
        "concat('d', id) AS text, CAST(id AS DOUBLE) AS ratio, id DIV 7 AS week, id DIV 30 AS month FROM range(400)"
    )
    table("weeks", "SELECT id AS week, id % 10 AS kind FROM range(60)")
    table("items", "SELECT id AS item, id % 5 AS brand FROM range(60)")
    table("none", "SELECT CAST(id AS INT) AS day, 1 AS month FROM range(10) WHERE id < 0")
  }

  override def afterAll(): Unit =
    try spark.sql("DROP TABLE IF EXISTS fact")
    finally super.afterAll()

  private def forced[A](body: => A): A = withConf(
    DovetailConf.ReducersAlways.key -> "true",
    DovetailConf.Reducers.key       -> "false"
  )(body)

  /** Columns of the fact table with a range of days. */
  private def filtered(sql: String): Seq[String] =
    columns(sql).filter(c => c.startsWith("fact.") && c != "fact.item")

  /** All columns with a range, each with its table. With all ranges that are legal, useless ones are among them. */
  private def columns(sql: String): Seq[String] = optimized(sql).collect { case f: Filter =>
    f.condition.collect {
      case e @ LessThanOrEqual(key, _) if KeyRangeFilter(e) =>
        val tables = f.collect { case r: LogicalRelation => r.catalogTable.fold("?")(_.identifier.table) }
        s"${tables.mkString("+")}.${key.references.map(_.name).mkString}"
    }
  }.flatten

  private def ranges(sql: String, expected: String*): Unit = forced {
    assert(dovetail(on = false)(columns(sql)).isEmpty)
    assert(filtered(sql).sorted == expected.sorted, told(s"$sql: ${traced(sql)._2.groups.map(_.reason)}"))
    sameAnswer(sql, reorders = false)
  }

  /** Rows that the scan of the fact table returns. */
  private def scanned(sql: String): Long = {
    val frame = spark.sql(sql)
    frame.collect()
    collect(frame.queryExecution.executedPlan) {
      case s: FileSourceScanExec if s.tableIdentifier.exists(_.table == "fact") => s.metrics("numOutputRows").value
    }.sum
  }

  private val three = "FROM fact f JOIN days d ON f.day = d.day JOIN items i ON f.item = i.item"

  test("a range of days: the scan skips the row groups of all other days, and explain says so") {
    val sql = s"SELECT count(*), sum(f.id) $three WHERE d.month = 3"
    ranges(sql, "fact.day")
    forced {
      assert(dovetail(on = false)(scanned(sql)) == 20000L)
      // 30 of 400 days, and the rest of the row groups at both ends
      assert(scanned(sql) < 4000L)
      val reasons = traced(sql)._2.groups.map(_.reason)
      assert(
        reasons.exists(_.matches("(?s).*f is read only between the smallest and the largest d.day \\(about .*")),
        reasons
      )
      withConf(DovetailConf.ReducersRanges.key -> "false")(assert(filtered(sql).isEmpty && scanned(sql) == 20000L))
    }
    // too small a table to pay off
    assert(filtered(sql).isEmpty)
  }

  test("two relations, keys of all types that files keep in order, and of others") {
    def two(key: String) = s"SELECT count(*), sum(f.id) FROM fact f JOIN days d ON f.$key = d.$key WHERE d.month = 2"
    for (key <- Seq("day", "big", "date")) {
      ranges(two(key), s"fact.$key")
      forced(assert(scanned(two(key)) < 4000L, key))
    }
    for (key <- Seq("text", "ratio")) ranges(two(key))
    ranges("SELECT count(*) FROM fact f JOIN days d ON f.day + 1 = d.day WHERE d.month = 2")
  }

  test("dates that Java's old classes do not convert faithfully are not dropped") {
    // the ten days that the Julian calendar has twice: Spark would compare with the day after them
    for (start <- Seq("1582-10-01", "2020-01-01")) {
      val (old, days) = (s"old${start.take(4)}", s"days${start.take(4)}")
      table(old, s"SELECT id, date_add(DATE'$start', CAST(id DIV 100 AS INT)) AS date FROM range(0, 3000, 1, 1)")
      table(days, s"SELECT date_add(DATE'$start', CAST(id AS INT)) AS date, id AS n FROM range(30)")
      val sql = s"SELECT count(*) FROM $old f JOIN $days d ON f.date = d.date WHERE d.n BETWEEN 5 AND 8"
      forced {
        assert(columns(sql).exists(_.startsWith(s"$old.")), start)
        assert(spark.sql(sql).head().getLong(0) == 400L)
      }
    }
  }

  test("a date before 1902 in any row group, and one that is written after planning") {
    // the footers of a file tell the ends of 64 row groups, and this file has more
    spark.sql(
      "CREATE TABLE long USING parquet OPTIONS ('parquet.block.size'='1024', " +
        "'parquet.block.size.row.check.min'='100', " +
        "'parquet.page.size.row.check.min'='100') AS SELECT if(id % 300 = 7, DATE'1800-01-01', date_add(" +
        "DATE'1990-01-01', CAST(id AS INT))) AS day, if(id % 300 = 7, TIMESTAMP'1800-01-01 00:00:00', " +
        "timestamp_seconds(id * 86400)) AS at, sha2(CAST(id AS STRING), 256) AS noise FROM range(0, 9000, 1, 1)"
    )
    table(
      "labels",
      "SELECT * FROM VALUES (DATE'1800-01-01', TIMESTAMP'1800-01-01 00:00:00', 'unknown'), " +
        "(DATE'1991-01-01', TIMESTAMP'1991-01-01 00:00:00', 'known') AS t(day, at, label)"
    )
    try
      for ((key, label) <- Seq("day" -> "unknown", "day" -> "known", "at" -> "unknown")) forced {
        val sql = s"SELECT count(*) FROM long f JOIN labels d ON f.$key = d.$key WHERE d.label = '$label'"
        assert(columns(sql).exists(_.startsWith("long.")) == (key == "day"), sql)
        val rows = Seq(true, false).map(on => dovetail(on)(spark.sql(sql).head().getLong(0)))
        assert(rows.head == rows.last && rows.head > 0L, sql)
        def planned = { val frame = spark.sql(sql); frame.queryExecution.executedPlan; frame }
        val both    = Seq(true, false).map(on => dovetail(on)(planned))
        spark.sql(
          "INSERT INTO long SELECT date_sub(day, 1), date_sub(at, 1), noise FROM long WHERE noise = sha2('7', 256)"
        )
        spark.sql(s"INSERT INTO labels VALUES (DATE'1799-12-31', TIMESTAMP'1799-12-31 00:00:00', '$label')")
        val answers = both.map(_.collect().head.getLong(0))
        assert(answers.head == answers.last, sql)
      }
    finally { spark.sql("DROP TABLE long"); () }
  }

  test("the ends of a range of dates have a margin, because time zones of driver and executors may differ") {
    val sql = "SELECT count(*) FROM fact f JOIN days d ON f.date = d.date WHERE d.month = 3"
    forced {
      val ends = optimized(sql).collect { case f: Filter =>
        f.condition.collect { case BinaryComparison(_, s: ScalarSubquery) => s.plan }
      }.flatten
      val days  = ends.map(e => spark.sessionState.executePlan(e).executedPlan.executeCollect().head.getInt(0))
      val found = days.map(d => LocalDate.ofEpochDay(d.toLong).toString).sorted
      // 30 days from 2020-03-31
      // and the ends of the other table's range, which is useless
      assert(Seq("2020-03-28", "2020-05-02").forall(found.contains), found)
      withConf("spark.sql.parquet.filterPushdown.date" -> "false")(assert(filtered(sql).isEmpty))
    }
  }

  test("timestamps, with a time zone and without") {
    val moment = "timestamp_micros(id DIV 100 * 86400000000)"
    // INT96, Spark's default, has no smallest and largest values
    withConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")(
      table("moments", s"SELECT id, $moment AS at, CAST($moment AS TIMESTAMP_NTZ) AS local FROM range(0, 3000, 1, 1)")
    )
    val day = moment.replace(" DIV 100", "")
    table("starts", s"SELECT $day AS at, CAST($day AS TIMESTAMP_NTZ) AS local, id AS n FROM range(30)")
    for ((key, used) <- Seq("at" -> true, "local" -> false)) forced {
      val sql = s"SELECT count(*) FROM moments f JOIN starts d ON f.$key = d.$key WHERE d.n BETWEEN 5 AND 8"
      assert(columns(sql).exists(_.startsWith("moments.")) == used, key)
      assert(spark.sql(sql).head().getLong(0) == 400L)
    }
  }

  test("a computed key, keys of many files, and a cache that waits for a subquery give no range") {
    forced {
      val computed =
        "SELECT count(*) FROM fact f JOIN days d ON f.big = CAST(d.day AS BIGINT) + 1 AND f.big = d.big + 1 " +
          "WHERE d.month = 3"
      sameAnswer(computed, reorders = false)
      assert(filtered(computed).isEmpty)
    }
    val two = "SELECT count(*), sum(f.id) FROM fact f JOIN days d ON f.day = d.day WHERE d.month = 2"
    forced(withConf("spark.sql.files.openCostInBytes" -> "200MB")(assert(filtered(two).isEmpty)))
    spark.sql("CACHE LAZY TABLE recent AS SELECT * FROM days WHERE week <= (SELECT max(week) FROM weeks)")
    spark.sql("CACHE LAZY TABLE some AS SELECT * FROM days WHERE week <= 51")
    try forced {
        assert(filtered(two.replace("days", "some")).nonEmpty)
        assert(filtered(two.replace("days", "recent")).isEmpty)
      }
    finally Seq("recent", "some").foreach(t => spark.sql(s"UNCACHE TABLE $t"))
  }

  test("an input that its neighbor restricts") {
    val sql = "SELECT count(*), sum(f.id) FROM fact f JOIN days d ON f.day = d.day JOIN weeks w ON d.week = w.week " +
      "WHERE w.week BETWEEN 20 AND 22"
    ranges(sql, "fact.day")
    forced(assert(scanned(sql) < 4000L))
  }

  test("no partner at all, and one day") {
    ranges(s"SELECT f.id $three WHERE d.day = 77", "fact.day")
    ranges(s"SELECT f.id $three WHERE d.month = 77")
    ranges(s"SELECT count(*) ${three.replace("days", "none")}")
    // known only when it runs: the sample has rows
    forced(withConf(DovetailConf.SampleFiles.key -> "true") {
      val sql = s"SELECT count(*) $three WHERE d.month = 3 AND d.week = 2"
      sameAnswer(sql, reorders = false)
    })
  }

  test("the right side of an outer, semi or anti join is filtered by its left side, and filters nothing") {
    def kinds(kind: String) =
      s"SELECT f.id FROM fact f $kind JOIN (SELECT * FROM days WHERE month = 3) d ON f.day = d.day"
    ranges(kinds("LEFT"))
    ranges(kinds("FULL").replace("f.id", "count(*)"))
    ranges(kinds("LEFT ANTI"))
    for (kind <- Seq("LEFT", "LEFT SEMI", "LEFT ANTI")) ranges(
      s"SELECT d.day, d.week FROM days d $kind JOIN fact f ON f.day = d.day AND f.id % 9 = 1 WHERE d.month = 3",
      "fact.day"
    )
    ranges("SELECT d.day, f.id FROM days d FULL JOIN fact f ON f.day = d.day WHERE d.month = 3", "fact.day")
    ranges("SELECT d.day, f.id FROM (SELECT * FROM days WHERE month = 3) d FULL JOIN fact f ON f.day = d.day")
    ranges(
      s"SELECT f.id $three LEFT JOIN weeks w ON w.week = f.item WHERE d.month = 3",
      "fact.day"
    )
    ranges(
      s"SELECT f.id $three WHERE d.month = 3 AND NOT EXISTS (SELECT 1 FROM weeks w WHERE w.week = f.item)",
      "fact.day"
    )
  }

  test("tables that a query has twice, subqueries, LIMIT") {
    val part = s"SELECT f.id $three WHERE d.month = 3"
    forced {
      sameAnswer(s"SELECT count(*) FROM ($part) a JOIN ($part) b ON a.id = b.id", reorders = false)
      sameAnswer(s"SELECT (SELECT count(*) $three WHERE d.month = 3) AS n, week FROM weeks", reorders = false)
      assert(filtered(s"$part LIMIT 3").isEmpty)
      sameAnswer(s"$part UNION ALL SELECT f.id FROM fact f", reorders = false)
      val frame = spark.table("fact")
      val once  = frame.join(spark.table("days").where("month = 3"), "day").select("id")
      assert(once.union(frame.select("id")).count() == dovetail(on = false)(once.union(frame.select("id")).count()))
    }
  }

  test("what may fail or differs from run to run is not read a second time") {
    spark.udf.register("later", (x: Long) => x + 1L)
    for (c <- Seq("later(d.month) = 4", "rand(1) < 0.1", "100 / (d.month - 3) > 200"))
      withConf("spark.sql.ansi.enabled" -> "true")(forced {
        val found = filtered(s"SELECT f.id FROM fact f JOIN (SELECT * FROM days d WHERE $c) d ON f.day = d.day")
        assert(found.isEmpty, c)
      })
  }

  test("zeros with and without a sign meet in the join that the keys come from") {
    table("signs", "SELECT CAST(id AS INT) AS day, if(id < 10, 0.0D, CAST(id AS DOUBLE)) AS ratio FROM range(400)")
    table("tags", "SELECT if(id = 0, -0.0D, CAST(id AS DOUBLE)) AS ratio, if(id = 0, 'x', 'y') AS tag FROM range(9)")
    ranges(
      "SELECT count(*) FROM fact f JOIN signs s ON f.day = s.day JOIN tags t ON s.ratio = t.ratio WHERE t.tag = 'x'",
      "fact.day"
    )
  }

  test("all reads of a table share the files that the first one found") {
    forced {
      val plan    = optimized(s"SELECT count(*) $three WHERE d.month = 3")
      val indexes = plan.collectWithSubqueries { case r: LogicalRelation => r.relation }.collect {
        case f: HadoopFsRelation if f.schema.fieldNames.contains("week") => f.location
      }
      assert(indexes.size >= 3 && indexes.forall(_.isInstanceOf[SharedFileIndex]) && indexes.distinct.size == 1)
    }
  }
}
