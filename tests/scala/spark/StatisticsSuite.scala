package org.apache.spark.sql.dovetail

import java.util.concurrent.{CountDownLatch, TimeUnit}

import dovetail.kernel.profile.{Assumptions, Estimate, RelationProfile, Source}
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.{And, EqualTo, Literal, Substring}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, GlobalLimit, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.stats.{PlanStatistics, ScanStatistics}
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.scalatest.BeforeAndAfterAll

/**
 * Sizes of plans on analyzed, uniform data. Each expected value is the formula and, if the data allow it, also the true
 * count.
 *
 * `u` has 1000 rows: id 0 to 999, ten = id % 10, hundred = id % 100, half = NULL in every second row, s one of 50
 * words, d 100 days. `w` has 200 rows: id 0 to 199, five = id % 5.
 */
class StatisticsSuite extends DovetailSuite with BeforeAndAfterAll {
  private val Rows = 1000.0

  override def beforeAll(): Unit = {
    super.beforeAll()
    val u =
      "SELECT CAST(id AS INT) id, CAST(id % 10 AS INT) ten, CAST(id % 100 AS INT) hundred, IF(id % 2 = 0, CAST(id AS " +
        "INT), NULL) half, concat('s', id % 50) s, date_add(DATE'2020-01-01', CAST(id % 100 AS INT)) d FROM range(1000)"
    spark.sql(s"CREATE TABLE u USING parquet AS $u")
    spark.sql("CREATE TABLE w USING parquet AS SELECT CAST(id AS INT) id, CAST(id % 5 AS INT) five FROM range(200)")
    // as many rows as u; every second value of `skew` is 7
    spark.sql(
      "CREATE TABLE h USING parquet AS SELECT CAST(id AS INT) id, CAST(IF(id % 2 = 0, 7, id) AS INT) skew FROM " +
        "range(1000)"
    )
    spark.sql(
      "CREATE TABLE spans USING parquet AS SELECT CAST(id AS INT) id, CAST(id + 9 AS INT) last FROM range(1000)"
    )
    Seq("u", "w", "spans").foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS FOR ALL COLUMNS"))
    withConf(
      "spark.sql.statistics.histogram.enabled" -> "true",
      "spark.sql.statistics.histogram.numBins" -> "20"
    )(spark.sql("ANALYZE TABLE h COMPUTE STATISTICS FOR ALL COLUMNS"))
    ()
  }

  override def afterAll(): Unit =
    try Seq("u", "w", "h", "spans").foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private def profile(plan: LogicalPlan): RelationProfile = {
    val statistics = new PlanStatistics(
      spark.sessionState.conf,
      DovetailConf.HistogramEnabled.get(spark.sessionState.conf),
      TableStatisticsSource.none
    )
    statistics.learnFrom(plan)
    statistics(plan)
  }

  private def rows(sql: String): Double  = profile(optimized(sql)).rows.value
  private def count(sql: String): Double = spark.sql(s"SELECT count(*) FROM ($sql)").head().getLong(0).toDouble

  /** Largest accepted error. Spark counts distinct values by HyperLogLog, with a standard error of 5 %. */
  private val NdvError = 0.1

  private def close(found: Double, expected: Double, sql: String, tolerance: Double = NdvError): Unit =
    assert(
      math.abs(found - expected) <= math.max(tolerance * expected, 1.0),
      s"estimated $found instead of $expected for $sql"
    )

  /** Asserts that the estimate is `expected`, and the count too, if `exact`. */
  private def estimates(sql: String, expected: Double, exact: Boolean = true, tolerance: Double = NdvError): Unit = {
    close(rows(sql), expected, sql, tolerance)
    if (exact) close(count(sql), expected, s"$sql (counted)", tolerance)
  }

  private def where(predicate: String, expected: Double, exact: Boolean = true, tolerance: Double = NdvError): Unit =
    estimates(s"SELECT * FROM u WHERE $predicate", expected, exact, tolerance)

  // filters

  test("equality: rows / ndv within the range, none outside of it") {
    where("ten = 3", Rows / 10)
    where("id = 17", Rows / 1000)
    where("d = DATE'2020-01-05'", Rows / 100)
    where("s = 's7'", Rows / 50)
    where("ten = 99", 0.0)
    where("half = 4", 500.0 / 500)
    where("ten <=> 3", Rows / 10)
  }

  test("ranges: the share of [min, max]") {
    where("id < 250", Rows * 250 / 999)
    where("id >= 250 AND id < 500", Rows * 250 / 999)
    where("id BETWEEN 100 AND 299", Rows * 199 / 999)
    where("hundred > 89", Rows * 10 / 99)
    where("id < 0", 0.0)
    where("id >= 0", Rows)
    where("d < DATE'2020-01-11'", Rows * 10 / 99)
    where("200 > id", Rows * 200 / 999)
    where("CAST(id AS BIGINT) < 100L", Rows * 100 / 999)
    where("half < 100", 500.0 * 100 / 998)
  }

  test("IN, and equalities joined by OR: as many values as are in the range") {
    where("ten IN (1, 2, 3)", Rows * 3 / 10)
    where("ten = 1 OR ten = 2", Rows * 2 / 10)
    where("ten IN (1, 2, 77)", Rows * 2 / 10)
    where("s IN ('s1', 's2')", Rows * 2 / 50)
    where("id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", 12.0)
    where("ten IN (1, NULL)", Rows / 10)
  }

  test("NULLs: IS NULL counts them, comparisons lose them, NOT does not find them") {
    where("half IS NULL", Rows / 2)
    where("half IS NOT NULL", Rows / 2)
    where("NOT (half < 500)", Rows / 2 * 499 / 998)
    where("half <> 4", 500.0 * 499 / 500)
    where("half IS NULL OR ten = 3", Rows * (0.5 + 0.1 - 0.5 * 0.1))
    where("half IS NULL AND half = 3", 0.0)
  }

  test("NOT: what is left of the non-null rows") {
    where("NOT (ten = 3)", Rows * 9 / 10)
    where("ten NOT IN (1, 2, 3)", Rows * 7 / 10)
    where("NOT (id < 250)", Rows * 749 / 999)
  }

  test("AND of two columns: between independence and the more selective one; OR: inclusion and exclusion") {
    val both = rows("SELECT * FROM u WHERE ten = 3 AND hundred < 50")
    close(both, Rows * Assumptions.conjunction(Seq(0.1, 50.0 / 99)), "back-off")
    assert(both >= Rows * 0.1 * 0.5 * 0.9 && both <= Rows * 0.1)
    where("ten = 3 OR id < 500", Rows * (0.1 + 500.0 / 999 - 0.1 * 500 / 999))
    where("(ten = 3 OR ten = 4) AND id < 500", Rows * Assumptions.conjunction(Seq(0.2, 500.0 / 999)), exact = false)
  }

  test("predicates that nobody can look into have their defaults") {
    where("s LIKE '%1%'", Rows * Assumptions.Pattern, exact = false)
    where("s LIKE 's1%'", Rows * Assumptions.Prefix, exact = false)
    where("s RLIKE '1$'", Rows * Assumptions.Pattern, exact = false)
    where("substr(s, 2, 1) = '1'", Rows * Assumptions.Equality, exact = false)
    where("hash(s) % 7 > id % 3", Rows * Assumptions.Range, exact = false)
    where("length(s) + ten > hundred", Rows * Assumptions.Range, exact = false)
    where("isnan(CAST(ten AS DOUBLE))", Rows * Assumptions.Opaque, exact = false)
  }

  test("two columns compared") {
    where("id = hundred", Rows / 1000, exact = false)
    where("hundred < id", Rows * (1 - 99.0 / 2 / 999), exact = false)
    where("id < ten - 20", Rows * Assumptions.Range, exact = false)
  }

  test("nested filters on two expressions that are no column do not share statistics") {
    val table                            = optimized("SELECT * FROM u")
    val s                                = table.output.find(_.name == "s").get
    def first(start: Int, value: String) = EqualTo(Substring(s, Literal(start), Literal(1)), Literal(value))
    close(
      profile(Filter(first(1, "s"), Filter(first(2, "1"), table))).rows.value,
      Rows * Assumptions.Equality * Assumptions.Equality,
      "nested"
    )
    close(
      profile(Filter(And(first(1, "s"), first(2, "1")), table)).rows.value,
      Rows * Assumptions.conjunction(Seq.fill(2)(Assumptions.Equality)),
      "conjunction"
    )
  }

  test("columns after a filter: range, distinct values, nulls") {
    val p                    = optimized("SELECT id, ten, half FROM u WHERE id < 100 AND half > 10")
    def column(name: String) = profile(p).column(p.output.find(_.name == name).get.exprId.id)
    assert(column("id").max.exists(_ <= 100.0) && column("half").nulls.contains(0.0))
    assert(column("id").ndv.exists(_ <= rows("SELECT id FROM u WHERE id < 100 AND half > 10") + 1.0))
    assert(column("ten").ndv.exists(n => n > 8.0 && n <= 11.0))
  }

  test("histograms see what min and max do not") {
    def skewed(predicate: String) = s"SELECT * FROM h WHERE $predicate"
    estimates(skewed("skew = 7"), 500.0)
    estimates(skewed("skew < 100"), 550.0)
    estimates(skewed("skew > 800"), 100.0)
    estimates(skewed("skew = 501"), 1.0)
    withConf(DovetailConf.HistogramEnabled.key -> "false") {
      assert(rows(skewed("skew = 7")) < 10.0)
      close(rows(skewed("skew < 100")), Rows * 93 / 992, "without the histogram")
    }
  }

  test("partitions that are pruned are counted once, with statistics and without") {
    withTables("p") {
      spark.sql(
        "CREATE TABLE p USING parquet PARTITIONED BY (part) AS SELECT id, ten, CAST(id % 20 AS INT) part FROM u"
      )
      val sql =
        "SELECT x.id, w.five FROM p x JOIN w ON x.id = w.id JOIN u ON u.id = x.id WHERE x.part = 3 AND x.ten < 8"
      def size: Double = traced(sql)._2.groups.head.relations.find(_.name == "x").flatMap(_.rows).get.value
      val guess        = size
      assert(guess < Rows && guess > 2.0, s"one of twenty partitions, by its size: $guess")
      spark.sql("ANALYZE TABLE p COMPUTE STATISTICS FOR ALL COLUMNS")
      close(size, Rows / 20 * 8 / 9, sql, tolerance = 0.3)
      assert(traced(sql)._2.groups.head.relations.find(_.name == "x").flatMap(_.rows).get.source == Source.Catalog)
    }
  }

  test("Spark prunes no partitions by a subquery, so the filter still counts") {
    withTables("p") {
      spark.sql(
        "CREATE TABLE p USING parquet PARTITIONED BY (part) AS SELECT id, ten, CAST(id % 20 AS INT) part FROM u"
      )
      def size(where: String): Double = {
        val sql = s"SELECT x.id FROM p x JOIN w ON x.id = w.id JOIN u ON u.id = x.id WHERE $where"
        traced(sql)._2.groups.head.relations.find(_.name == "x").flatMap(_.rows).get.value
      }
      val last = "x.part = (SELECT max(part) FROM p)"
      assert(size(last) <= Rows / 20 * 1.5, "one of twenty partitions")
      assert(size(s"$last AND x.ten = 3") <= Rows / 200 * 1.5, "a tenth of it")
    }
  }

  // joins

  test("inner join: |L| |R| / max(ndv)") {
    estimates("SELECT * FROM u JOIN w ON u.id = w.id", Rows * 200 / 1000)
    // only the part of the larger range that the smaller range covers has partners
    estimates("SELECT * FROM u JOIN w ON u.ten = w.five", (Rows * 4 / 9) * 200 / 5, tolerance = 0.15)
    estimates("SELECT * FROM u x JOIN u y ON x.hundred = y.hundred", Rows * Rows / 100)
    estimates("SELECT * FROM u JOIN w ON u.half = w.id", 500.0 * 200 / 500, exact = false)
    // filtered rows are assumed to lie in the common range, up to the number of rows that the range holds
    estimates(
      "SELECT * FROM u JOIN w ON u.id = w.id WHERE u.ten = 3",
      math.min(Rows / 10, Rows * 199 / 999) * 200 / 200,
      exact = false
    )
    estimates("SELECT * FROM u CROSS JOIN w", Rows * 200)
  }

  test("a <=> b: NULLs meet NULLs") {
    val sql = "SELECT count(*) FROM u a JOIN u b ON a.half <=> b.half"
    estimates("SELECT * FROM u a JOIN u b ON a.half <=> b.half", 500.0 * 500 + 500)
    val join = traced(s"$sql JOIN w ON w.id = b.id")._2.groups.head.before.get.joins.find(_.relations.size == 2).get
    close(join.rows.value, 500.0 * 500 + 500, sql)
    val padded = traced("SELECT count(*) FROM u a LEFT JOIN u b ON a.half <=> b.half JOIN w ON w.id = a.id")
    val outer  = padded._2.groups.head.before.get.joins.find(_.relations.size == 2).get
    close(outer.rows.value, 500.0 * 500 + 500, sql)
  }

  test("a value of one table among columns of another one: as equalities joined by OR") {
    val either = rows("SELECT * FROM u JOIN w ON u.id = w.id OR u.id = w.five")
    assert(either < Rows && rows("SELECT * FROM u JOIN w ON u.id IN (w.id, w.five)") == either)
    assert(rows("SELECT * FROM u JOIN w ON u.id IN (w.id, 7)") < Rows)
  }

  test("comparisons of columns of two tables: by their ranges, where these are known") {
    val smaller = (0 until 200).sum.toDouble
    estimates("SELECT * FROM u JOIN w ON u.id < w.id", smaller)
    estimates("SELECT * FROM u JOIN w ON u.id >= w.id", Rows * 200 - smaller)
    // ranges may be out of date: a comparison that they rule out still keeps some rows
    estimates("SELECT * FROM u JOIN w ON u.id < w.id WHERE u.id > 500", 499 * 200 * 0.001, exact = false)
    // a value in an interval, and intervals that overlap: the two comparisons exclude each other's complement
    Seq("u.id >= w.id AND u.id <= w.last", "w.last >= u.id AND w.id <= u.id").foreach { between =>
      val found = rows(s"SELECT * FROM u JOIN spans w ON $between")
      assert(
        found > 1000.0 && found < 40000.0,
        s"$between: $found of ${count(s"SELECT * FROM u JOIN spans w ON $between")}"
      )
    }
    val overlap = rows("SELECT * FROM spans a JOIN spans b ON a.id <= b.last AND b.id <= a.last")
    assert(overlap > 1000.0 && overlap < 80000.0, overlap)
    // texts have no range
    estimates("SELECT * FROM u JOIN u v ON u.s < v.s", Rows * Rows * Assumptions.JoinInequality, exact = false)
  }

  test(
    "many short intervals: a value lies in one of those that are side by side; ends that are computed have a range"
  ) {
    withTables("addresses", "visits") {
      // not analyzed: ranges in a catalog may be out of date
      spark.sql(
        "CREATE TABLE addresses USING orc AS SELECT id * 100 AS first, id * 100 + 99 AS last FROM range(20000)"
      )
      val start = "timestamp_seconds(1600000000 + id * 7884)"
      spark.sql(
        s"CREATE TABLE visits USING orc AS SELECT pmod(hash(id), 2000000L) AS ip, $start AS at, CAST($start AS DATE) " +
          "AS day, id % 100 AS user, CAST(id AS INT) AS number FROM range(20000)"
      )
      def near(sql: String, truth: Double) = {
        val found = rows(sql)
        assert(found > truth / 2.0 && found < truth * 2.0, s"$found instead of $truth: $sql")
      }
      near("SELECT * FROM visits v JOIN addresses a ON v.ip BETWEEN a.first AND a.last", 20000.0)
      near("SELECT * FROM visits v JOIN addresses a ON v.ip >= a.first AND v.ip < a.first + 100", 20000.0)
      // the table spans five years, and a pair of visits by one user is less than seven days apart
      val pairs = 20000.0 * 20000.0 / 100
      for (
        (from, to, share) <- Seq(
          ("a.at", "a.at + INTERVAL 7 DAYS", 7.0 / 1825),
          ("a.at - INTERVAL 1 WEEK", "a.at", 7.0 / 1825),
          ("a.at - INTERVAL 1 MONTH", "a.at + INTERVAL 1 MONTH", 60.0 / 1825),
          ("a.day", "date_add(a.day, 7)", 8.0 / 1825),
          ("date_sub(a.day, 7)", "a.day", 8.0 / 1825),
          ("a.number", "2000 + CAST(a.number AS BIGINT)", 0.1)
        )
      ) {
        val value = if (from.contains("day")) "day" else if (from.contains("number")) "number" else "at"
        near(
          s"SELECT * FROM visits a JOIN visits b ON a.user = b.user AND b.$value BETWEEN $from AND $to",
          pairs * share
        )
      }
      // no shift: a product may turn the order around, and a sum of two columns has no range
      val other = rows("SELECT * FROM visits a JOIN visits b ON b.number BETWEEN a.number AND a.number * 2 + a.user")
      assert(other > 20000.0 * 20000.0 / 20)
      // without files to look at, ranges may have grown
      spark.sql("ANALYZE TABLE addresses COMPUTE STATISTICS FOR ALL COLUMNS")
      near("SELECT * FROM visits v JOIN addresses a ON v.ip BETWEEN a.first AND a.last", 20000.0 * 20000.0 * 0.001)
    }
  }

  test("outer joins: at least the rows of the outer side") {
    estimates("SELECT * FROM u LEFT JOIN w ON u.id = w.id", Rows)
    estimates("SELECT * FROM w LEFT JOIN u ON u.id = w.id", 200.0)
    estimates("SELECT * FROM u RIGHT JOIN w ON u.id = w.id", 200.0)
    estimates("SELECT * FROM u LEFT JOIN w ON u.ten = w.five", (Rows * 4 / 9) * 200 / 5, exact = false)
    estimates("SELECT * FROM u FULL JOIN w ON u.id = w.id", Rows)
  }

  test("the padded side of an outer join has NULLs") {
    // w has partners for 200 of the 1000 rows of u
    Seq(
      "SELECT w.id AS padded FROM u LEFT JOIN w ON u.id = w.id"   -> 0.8,
      "SELECT w.id AS padded FROM w RIGHT JOIN u ON u.id = w.id"  -> 0.8,
      "SELECT w.id AS padded FROM u FULL JOIN w ON u.id = w.id"   -> 0.8,
      "SELECT u.id AS padded FROM u FULL JOIN w ON u.id = w.id"   -> 0.0,
      "SELECT u.half AS padded FROM w LEFT JOIN u ON u.id = w.id" -> 0.5
    ).foreach { case (sql, share) =>
      val plan  = optimized(sql)
      val nulls = profile(plan).column(plan.output.head.exprId.id).nulls.getOrElse(0.0)
      assert(math.abs(nulls - share) < 0.05, s"$sql: $nulls instead of $share")
      close(
        count(s"$sql WHERE padded IS NULL".replace("padded IS", sql.split(' ')(1) + " IS")),
        share * count(sql),
        sql
      )
    }
  }

  test("semi joins keep the share of keys that the right side has, anti joins the rest") {
    estimates("SELECT * FROM u WHERE id IN (SELECT id FROM w)", Rows * 200 / 1000)
    estimates("SELECT * FROM u LEFT SEMI JOIN w ON u.id = w.id AND w.five = 1", Rows * 40 / 1000)
    estimates("SELECT * FROM u LEFT ANTI JOIN w ON u.id = w.id", Rows * 800 / 1000)
    estimates("SELECT * FROM u WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.id = u.id)", Rows * 800 / 1000)
    estimates("SELECT * FROM w LEFT SEMI JOIN u ON u.id = w.id", 200.0)
    estimates("SELECT * FROM w LEFT ANTI JOIN u ON u.id = w.id", 200.0 * Assumptions.AntiJoinFloor, exact = false)
    estimates(
      "SELECT hundred, count(*) FROM u LEFT SEMI JOIN (SELECT * FROM w WHERE id < 20) w ON hundred = w.id GROUP BY " +
        "hundred",
      20.0
    )
  }

  // other operators

  test("grouping: as many groups as keys, no more than rows") {
    estimates("SELECT ten, count(*) FROM u GROUP BY ten", 10.0)
    estimates("SELECT half, count(*) FROM u GROUP BY half", 501.0)
    estimates("SELECT count(*) FROM u", 1.0)
    estimates("SELECT DISTINCT hundred FROM u", 100.0)
    val two = rows("SELECT ten, s FROM u GROUP BY ten, s")
    assert(two >= 50.0 * 0.9 && two <= 500.0, s"$two: between the larger and the product; 50 in truth")
    close(
      rows("SELECT ten + 1, count(*) FROM u GROUP BY ten + 1"),
      10.0,
      "an expression has no more values than its column"
    )
    estimates("SELECT hundred, count(*) FROM u WHERE hundred < 20 GROUP BY hundred", 20.0)
  }

  test("grouping by columns of one input of a join: no more groups than this input has rows") {
    // each row of w meets ten rows of u, and some of them fifty
    estimates("SELECT w.id, w.five, count(*) FROM w JOIN u ON w.id % 100 = u.hundred GROUP BY w.id, w.five", 200.0)
    estimates(
      "SELECT w.id, w.five, count(*) FROM w JOIN u ON w.id % 100 = u.hundred WHERE w.five < 2 GROUP BY w.id, w.five",
      80.0,
      tolerance = 0.5
    )
    // two reads of one table are two inputs
    val both = rows("SELECT x.id, y.id FROM w x JOIN w y ON x.five = y.five GROUP BY x.id, y.id")
    assert(both > 200.0 * 2, both)
    // references to one common table expression have the columns of one plan
    val twice = incoming(
      "WITH c AS (SELECT id, five, rand() r FROM w) SELECT x.id, y.id AS other FROM c x JOIN c y ON x.five = y.five " +
        "GROUP BY x.id, y.id"
    )
    assert(profile(twice).rows.value > 200.0 * 2)
  }

  test("equal columns of an inner join have no more values than the one with fewer") {
    estimates("SELECT ten, count(*) FROM u JOIN w ON u.ten = w.five GROUP BY ten", 5.0)
    estimates("SELECT five, count(*) FROM u JOIN w ON u.ten = w.five GROUP BY five", 5.0)
  }

  test("an expression has no more values than its function can have, and no more than it chooses from") {
    def grouped(e: String) = s"SELECT $e, count(*) FROM u GROUP BY $e"
    estimates(grouped("id % 7"), 7.0)
    estimates(grouped("pmod(id + 3, 7)"), 7.0)
    estimates(grouped("-(id % 7) + 1"), 7.0)
    estimates(grouped("year(d)"), 1.0)
    estimates(grouped("trunc(d, 'MM')"), 4.0)
    estimates(grouped("date_trunc('MONTH', d)"), 4.0)
    estimates(grouped("month(d)"), 12.0, exact = false)
    estimates(grouped("id > 500 AND id < 700"), 2.0)
    estimates(grouped("CASE WHEN id < 10 THEN 'few' WHEN id < 100 THEN 'some' END"), 3.0)
    estimates(grouped("CASE WHEN id < 10 THEN ten ELSE -1 END"), 11.0)
    estimates(grouped("coalesce(half, 1)"), 501.0)
    estimates("SELECT u.id FROM u JOIN w ON u.id % 5 = w.five", Rows * 200 / 5)
    estimates("SELECT u.id FROM u JOIN w ON u.id % 5 = w.id % 10", Rows * 200 / 10)
    estimates("SELECT u.id FROM (SELECT id, id % 5 AS r FROM u) u JOIN w ON r = w.five", Rows * 200 / 5)
  }

  test("limits, unions, samples, expansion, explosion, windows") {
    estimates("SELECT * FROM u LIMIT 30", 30.0)
    estimates("SELECT * FROM w LIMIT 3000", 200.0)
    estimates("SELECT id FROM u UNION ALL SELECT id FROM w", Rows + 200)
    estimates("SELECT id FROM u UNION SELECT id FROM w", Rows)
    estimates("SELECT * FROM u TABLESAMPLE (20 PERCENT)", Rows * 0.2, tolerance = 0.25)
    estimates(
      "SELECT ten, five, n FROM (SELECT ten, five, count(*) n FROM u JOIN w ON u.id = w.id GROUP BY ROLLUP (ten, " +
        "five))",
      Assumptions.jointNdv(Seq(11.0, 6.0, 3.0)),
      exact = false
    )
    estimates("SELECT id, e FROM u LATERAL VIEW explode(split(s, 's')) AS e", Rows * Assumptions.GeneratorRows, false)
    estimates("SELECT id, row_number() OVER (PARTITION BY ten ORDER BY id) FROM u", Rows)
    estimates("SELECT * FROM u ORDER BY id", Rows)
    estimates("SELECT id + 1, upper(s) FROM u", Rows)
    estimates("SELECT id FROM u EXCEPT SELECT id FROM w", Rows * 0.8)
    estimates("SELECT id FROM u WHERE id NOT IN (SELECT id FROM w) UNION ALL SELECT id FROM w", Rows * 0.8 + 200)
    // at most as many users as rows, although nobody knows their distinct values
    estimates("SELECT * FROM u WHERE id IN (SELECT max(id) FROM u GROUP BY ten) UNION ALL SELECT * FROM u", Rows + 10)
    estimates("SELECT id FROM u INTERSECT SELECT id FROM w", 200.0)
  }

  test("a union has the values of all its branches, as far as their ranges do not overlap, and those of constants") {
    def halves(column: String) =
      s"(SELECT $column FROM u WHERE id < 500 UNION ALL SELECT $column FROM u WHERE id >= 500)"
    estimates(s"SELECT id, count(*) FROM ${halves("id")} GROUP BY id", Rows)
    estimates(s"SELECT * FROM ${halves("id")} a JOIN ${halves("id AS b")} ON a.id = b", Rows, tolerance = 0.2)
    val tagged = "(SELECT 'web' AS way, ten, 1 AS n FROM u UNION ALL SELECT 'shop' AS way, ten, 2 AS n FROM u)"
    estimates(s"SELECT way, count(*) FROM $tagged GROUP BY way", 2.0)
    val pairs = rows(s"SELECT way, ten, count(*) FROM $tagged GROUP BY way, ten")
    assert(pairs >= 10.0 && pairs <= 20.0, pairs)
    estimates(s"SELECT way, n, count(*) FROM $tagged GROUP BY way, n", 2.0, tolerance = 0.5)
    // a branch of NULLs adds no value
    val column = optimized("SELECT ten FROM u UNION ALL SELECT CAST(NULL AS INT) FROM w")
    val ten    = profile(column).column(column.output.head.exprId.id)
    assert(ten.ndv.contains(10.0) && ten.min.contains(0.0) && ten.nulls.exists(n => math.abs(n - 1.0 / 6) < 1e-9))
  }

  test("the first rows of each group: as many as groups, and one per group is a key") {
    def first(where: String, number: String = "row_number()", more: String = "") =
      s"SELECT ten, hundred, s FROM (SELECT *, $number OVER (PARTITION BY hundred ORDER BY id) rn$more FROM u) " +
        s"WHERE $where"
    estimates(first("rn = 1"), 100.0)
    estimates(first("1 = rn"), 100.0)
    estimates(first("rn <= 3"), 300.0)
    estimates(first("3 > rn"), 200.0)
    estimates(first("rn = 4"), 100.0)
    estimates(first("rn BETWEEN 1 AND 2"), 200.0)
    estimates(first("rn <= 50"), Rows)
    estimates(first("rn = 1", "rank()"), 100.0)
    estimates(first("rn <= 2", "dense_rank()"), 200.0)
    estimates(first("rn = 1", more = ", count(*) OVER (PARTITION BY ten) n"), 100.0)
    estimates(first("rn = 1 AND s = 's7'"), 2.0)
    // the row with the largest or smallest value of its group
    def last(column: String, end: String, where: String = "e = ") =
      s"SELECT * FROM (SELECT *, $end OVER (PARTITION BY hundred) e FROM u) WHERE $where$column"
    estimates(last("id", "max(id)"), 100.0)
    estimates(last("id", "min(id)"), 100.0)
    assert(rows(last("id", "max(ten)")) < 50.0, "another column")
    // rows with the newest value of a column are many; a row number beside it decides
    estimates("SELECT * FROM (SELECT *, max(ten) OVER () e FROM u) WHERE e = ten", 100.0)
    estimates(
      "SELECT * FROM (SELECT *, max(ten) OVER () e, row_number() OVER (PARTITION BY hundred ORDER BY id) rn FROM u) " +
        "WHERE e = ten AND rn = 1",
      10.0,
      tolerance = 0.5
    )
    estimates("SELECT * FROM (SELECT id, row_number() OVER (ORDER BY ten, id) rn FROM u) WHERE rn <= 7", 7.0)
    estimates("SELECT * FROM (SELECT id, lag(ten) OVER (ORDER BY id) x FROM u) WHERE x = 1", Rows / 10, exact = false)

    // the grouping columns under another name
    val latest = "SELECT h, ten FROM (SELECT hundred h, ten, row_number() OVER (PARTITION BY hundred ORDER BY id) rn " +
      "FROM u) WHERE rn = 1"
    val plan = optimized(latest)
    assert(profile(plan).uniqueKeys.contains(Set(plan.output.head.exprId.id)))
    val ranked = optimized(latest.replace("row_number", "rank"))
    assert(!profile(ranked).uniqueKeys.contains(Set(ranked.output.head.exprId.id)), "a rank has ties")
    val joined = profile(optimized(s"SELECT u.id, l.ten FROM u JOIN ($latest) l ON u.hundred = l.h")).rows
    close(joined.value, Rows, "each row has one latest row")
    assert(joined.upper <= Rows, s"bounds $joined")
  }

  test("HAVING: counts, sums, averages and ends of groups, from the size of a group and the values of the column") {
    // 100 groups of ten rows; the sizes of groups are not known, so they vary in the estimate
    def having(p: String) = s"SELECT hundred FROM u GROUP BY hundred HAVING $p"
    estimates(having("count(*) >= 1"), 100.0)
    estimates(having("count(*) > 1000"), 0.0)
    estimates(having("count(*) > 10"), 100.0 * math.pow(0.9, 10.0), exact = false)
    estimates(having("count(half) >= 0"), 100.0)
    estimates(having("max(id) >= 900"), 100.0 * (1.0 - 0.9 / (0.9 + 0.1 * math.sqrt(10.0))), exact = false)
    estimates(having("min(id) >= 500"), 100.0 * 0.5 / (math.sqrt(10.0) - (math.sqrt(10.0) - 1.0) * 0.5), exact = false)
    // two keys that nobody counted together say little about the number of groups
    estimates(
      "SELECT ten, s FROM u GROUP BY ten, s HAVING count(*) > 5",
      rows("SELECT ten, s FROM u GROUP BY ten, s") *
        Assumptions.Range,
      exact = false
    )
    estimates(having("sum(id) > 0"), 100.0)
    estimates(having("sum(id) > 400000"), 0.0)
    estimates(having("avg(CAST(id AS BIGINT)) BETWEEN 100 AND 900"), 100.0, tolerance = 0.2)
    // nothing is known about an expression, a DISTINCT or a FILTER
    Seq("sum(id * 2) > 5", "count(DISTINCT id) > 5", "count(*) FILTER (WHERE id > 7) > 5").foreach { p =>
      estimates(having(p), 100.0 * Assumptions.Range, exact = false)
    }
  }

  test("an aggregate is unique on its keys: what is joined with it does not grow") {
    val sql   = "SELECT u.id, g.n FROM u JOIN (SELECT five, count(*) n FROM w GROUP BY five) g ON u.ten = g.five"
    val found = profile(optimized(sql)).rows
    close(found.value, Rows * 4 / 9, sql)
    assert(count(sql) == Rows / 2)
    assert(found.upper <= Rows, s"bounds $found")
  }

  test("renamed and cast columns keep their statistics") {
    estimates(
      "SELECT * FROM (SELECT id AS x, CAST(ten AS BIGINT) AS y FROM u) WHERE x < 100 AND y = 3",
      Rows * Assumptions.conjunction(Seq(100.0 / 999, 0.1)),
      exact = false
    )
    estimates(
      "SELECT * FROM (SELECT CAST(ten AS BIGINT) AS y FROM u) v JOIN (SELECT CAST(five AS BIGINT) AS z FROM w) ON " +
        "y = z",
      (Rows * 4 / 9) * 200 / 5,
      tolerance = 0.15
    )
  }

  test("common table expressions that stay references have the size of their body") {
    val sql =
      "WITH c AS (SELECT id, rand() AS r FROM u WHERE ten = 3) SELECT x.id FROM c x JOIN u ON x.id = u.id UNION ALL " +
        "SELECT y.id FROM c y JOIN u ON y.id = u.id"
    close(profile(incoming(sql)).rows.value, 100.0 + 100.0, sql)
    close(count(sql), 200.0, sql)
  }

  // sources

  private def source(sql: String): Source = profile(optimized(sql)).rows.source

  test("every number says where it comes from, the weakest input decides") {
    assert(source("SELECT * FROM u WHERE id < 5") == Source.Catalog)
    assert(source("SELECT * FROM VALUES (1), (2) AS v(x)") == Source.Exact)
    assert(source("SELECT * FROM range(10)") == Source.Exact && rows("SELECT * FROM range(10)") == 10.0)
    assert(source("SELECT * FROM u JOIN range(10) r ON u.id = r.id") == Source.Catalog)
    withTables("bare", "unsized", "kept") {
      spark.sql("CREATE TABLE bare USING parquet AS SELECT * FROM w")
      assert(source("SELECT * FROM bare") == Source.Footer)
      withConf(DovetailConf.FootersEnabled.key -> "false") {
        assert(source("SELECT * FROM bare") == Source.Size)
        assert(source("SELECT * FROM bare JOIN u ON bare.id = u.id") == Source.Size)
      }
      MemorySource.create(spark, "unsized", "id INT", Nil)
      assert(source("SELECT * FROM unsized") == Source.Assumed && rows("SELECT * FROM unsized") == Assumptions.Rows)
      spark.sql("CACHE TABLE kept AS SELECT * FROM u WHERE ten < 3")
      assert(source("SELECT * FROM kept") == Source.Exact && rows("SELECT * FROM kept") == 300.0)
      spark.sql("UNCACHE TABLE kept")
    }
    withDirectory { directory =>
      spark.table("u").write.parquet(directory.resolve("u").toString)
      val path = s"parquet.`${directory.resolve("u")}`"
      assert(source(s"SELECT * FROM $path") == Source.Footer)
      withConf("spark.sql.sources.useV1SourceList" -> "", DovetailConf.FootersEnabled.key -> "false") {
        val files = spark.read.parquet(directory.resolve("u").toString).queryExecution.optimizedPlan
        assert(files.collectLeaves().forall(_.isInstanceOf[DataSourceV2ScanRelation]) && profile(
          files
        ).rows.source == Source.Size)
      }
    }
  }

  test("what a data source of version 2 reports, and what it does not") {
    def reporting(options: (String, String)*) = {
      val reader = spark.read.format(classOf[ReportingSource].getName).options(options.toMap)
      profile(reader.load().where("k < 50").queryExecution.optimizedPlan).rows
    }
    val known = reporting("rows" -> "1000", "distinct" -> "200", "min" -> "0", "max" -> "199")
    assert(known.source == Source.Connector && math.abs(known.value - 1000.0 * 50 / 199) < 1.0, known)
    assert(reporting("rows" -> "1000").value == 1000.0 * Assumptions.Range)
    assert(known.upper == Estimate.Ceiling, "a source may report an estimate")
    val size = reporting("bytes" -> "160000")
    assert(size.source == Source.Size)
    val (negative, lines) = LogCapture("dovetail")(reporting("rows" -> "-4"))
    assert(negative.source == Source.Size && lines.size == 1 && lines.head.contains("-4 rows"), lines)
  }

  test("a data source of version 2 that does not tell its rows is asked once where Spark has asked it") {
    assume(ScanStatistics.asksRows(spark.sessionState.conf))
    val plan   = spark.read.format(classOf[ReportingSource].getName).load().queryExecution.optimizedPlan
    val before = ReportingSource.asked.get
    profile(plan)
    assert(ReportingSource.asked.get - before <= 1)
  }

  test("a data source of version 2 whose statistics Spark does not wait for does not hold up planning") {
    assume(!ScanStatistics.asksRows(spark.sessionState.conf))
    val end = new CountDownLatch(1)
    ReportingSource.beforeRows = () => { end.await(60L, TimeUnit.SECONDS); () }
    try
      withConf(DovetailConf.PlanningMaxMs.key -> "1000") {
        val reader = spark.read.format(classOf[ReportingSource].getName).option("rows", "1000").load()
        val found  = QueryPlanningTracker.withTracker(new QueryPlanningTracker)(
          PlanningTime.ofQuery(spark.sessionState.conf)(profile(reader.queryExecution.optimizedPlan).rows)
        )
        assert(end.getCount == 1L && found.source == Source.Size, found)
      }
    finally { ReportingSource.beforeRows = () => (); end.countDown() }
  }

  test("Spark's estimate for the plan of a checkpoint or of an unfilled cache is no bound") {
    withConf("spark.sql.cbo.enabled" -> "true") {
      val pairs = spark.sql("SELECT x.id, y.s FROM h x JOIN u y ON x.skew = y.id").localCheckpoint()
      val rows  = profile(pairs.queryExecution.optimizedPlan).rows
      assert(rows.upper == Estimate.Ceiling && rows.lower == 0.0, rows)
      val cached = spark.sql("SELECT x.id FROM h x JOIN u y ON x.skew = y.hundred").cache()
      try assert(profile(cached.queryExecution.optimizedPlan).rows.upper == Estimate.Ceiling)
      finally { cached.unpersist(blocking = true); () }
    }
  }

  test("a checkpoint of a join does not have the product of the sizes") {
    val joined = "SELECT x.id, y.s FROM h x JOIN u y ON x.skew = y.id JOIN w ON w.id = x.id"
    val stored = profile(spark.sql(joined).localCheckpoint().queryExecution.optimizedPlan).rows
    assert(stored.value <= Assumptions.Rows, stored)
  }

  test("a column is no key of the rows that a LIMIT leaves") {
    val plan  = optimized("SELECT x.id FROM (SELECT * FROM u LIMIT 100) x JOIN h ON x.hundred = h.id % 100")
    val child = plan.collectFirst { case l: GlobalLimit => l }.get
    assert(profile(child).baseRows == Rows)
  }

  test("user code that may make any number of rows has no bounds") {
    val many = spark.range(
      10
    ).mapPartitions((ids: Iterator[java.lang.Long]) => ids.flatMap(i => Iterator.fill(50)(i)))(Encoders.LONG)
    val rows = profile(many.queryExecution.optimizedPlan).rows
    assert(rows.value == 10.0 && rows.lower == 0.0 && rows.upper >= many.count().toDouble)
    assert(profile(
      spark.range(10).map((i: java.lang.Long) => i)(Encoders.LONG).queryExecution.optimizedPlan
    ).rows.upper == 10.0)
  }

  test("numbers that are known are exact, numbers that are guessed have bounds that hold them") {
    val table = profile(optimized("SELECT * FROM u")).rows
    assert(table.lower == Rows && table.upper == Rows)
    Seq(
      "SELECT * FROM u WHERE ten = 3",
      "SELECT * FROM u JOIN w ON u.ten = w.five",
      "SELECT ten FROM u GROUP BY ten",
      "SELECT * FROM u WHERE id IN (SELECT id FROM w)",
      "SELECT * FROM u LEFT JOIN w ON u.ten = w.five",
      "SELECT id FROM u UNION ALL SELECT id FROM w",
      "SELECT * FROM u FULL JOIN w ON u.ten = w.five + 7",
      "SELECT * FROM (SELECT DISTINCT id + 500 AS x FROM u) a LEFT JOIN w ON a.x = w.id + 699",
      "SELECT id, e FROM u LATERAL VIEW explode(sequence(1, 9)) AS e"
    ).foreach { sql =>
      val e = profile(optimized(sql)).rows
      val n = count(sql)
      assert(e.lower <= n && n <= e.upper, s"$sql: $n rows, outside of $e")
    }
  }
}
