package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource

/** Estimates on columns that a query makes: elements of arrays, first values of groups, computed keys, versions. */
class DerivedColumnsSuite extends DovetailSuite {

  private def rows(sql: String): Double = {
    val plan       = optimized(sql)
    val statistics = new PlanStatistics(
      spark.sessionState.conf,
      DovetailConf.HistogramEnabled.get(spark.sessionState.conf),
      TableStatisticsSource.none
    )
    statistics.readAhead(plan)
    statistics(plan).rows.value
  }

  private def count(sql: String): Double = spark.sql(s"SELECT count(*) FROM ($sql)").head().getLong(0).toDouble

  /** Asserts that the estimate is the true number of rows within a factor. */
  private def near(factor: Double)(sql: String): Unit = {
    val (found, truth) = (rows(sql), count(sql))
    assert(found >= truth / factor && found <= truth * factor, s"$found instead of $truth: $sql")
  }

  private def make(name: String, columns: String, n: Int): Unit = {
    spark.sql(s"CREATE TABLE $name USING parquet AS SELECT $columns FROM range($n)"); ()
  }

  private def analyzed(names: String*): Unit =
    names.foreach(n => spark.sql(s"ANALYZE TABLE $n COMPUTE STATISTICS FOR ALL COLUMNS"))

  test("generators over constants: as many rows as elements, with their values") {
    withTables("facts") {
      make("facts", "id, date_add(DATE'2020-01-01', CAST(id % 1827 AS INT)) AS day, id % 16 AS salt", 20000)
      analyzed("facts")
      val spine = "SELECT explode(sequence(DATE'2020-01-01', DATE'2024-12-31', INTERVAL 1 DAY)) AS d"
      near(1.01)(spine)
      near(1.2)(s"SELECT * FROM ($spine) JOIN facts ON d = day")
      near(1.2)(s"SELECT * FROM ($spine) LEFT JOIN facts ON d = day WHERE d < DATE'2021-01-01'")
      near(1.01)("SELECT id, e FROM facts LATERAL VIEW explode(array(1, 2, 3, 4, 5, 6, 7)) AS e")
      near(1.01)("SELECT id, p FROM facts LATERAL VIEW posexplode(array(1, 2, 3)) AS p, e")
      near(1.01)("SELECT id, k FROM facts LATERAL VIEW explode(map('a', id, 'b', 1L)) AS k, v")
      near(1.01)("SELECT id, x FROM facts LATERAL VIEW stack(3, 'a', 'b', 'c') AS x")
      near(1.01)("SELECT id, e FROM facts LATERAL VIEW OUTER explode(CAST(NULL AS ARRAY<INT>)) AS e")
      assert(rows("SELECT id, e FROM facts LATERAL VIEW explode(CAST(NULL AS ARRAY<INT>)) AS e") == 0.0)
      val ends = "explode(array(CAST('-Infinity' AS DOUBLE), 0D, 10D, CAST('Infinity' AS DOUBLE))) AS e"
      assert(rows(s"SELECT f.id, e FROM facts f JOIN (SELECT $ends) ON e <= f.id") >= 1.0)
    }
  }

  test("dropDuplicates by some columns: the others keep their values and their range") {
    withTables("orders", "countries") {
      make("orders", "id, id % 50 AS country, date_add(DATE'2020-01-01', CAST(id % 1000 AS INT)) AS day", 20000)
      make("countries", "id AS country, concat('c', id) AS name", 50)
      analyzed("orders", "countries")
      def unique(function: String) =
        s"(SELECT id, $function(country) AS country, $function(day) AS day FROM orders GROUP BY id)"
      for (function <- Seq("first", "last", "any_value", "max", "min")) {
        near(1.2)(s"SELECT country, count(*) FROM ${unique(function)} GROUP BY country")
        near(1.5)(s"SELECT * FROM ${unique(function)} WHERE day = DATE'2020-03-01'")
        near(1.2)(s"SELECT * FROM ${unique(function)} JOIN countries USING (country)")
      }
      near(1.2)(
        "SELECT country, count(*) FROM (SELECT max_by(country, day) country FROM orders GROUP BY id) GROUP BY 1"
      )
      // a FILTER leaves some groups without a value
      val even = "(SELECT id, max(day) FILTER (WHERE id % 2 = 0) AS day FROM orders GROUP BY id)"
      assert(rows(s"SELECT * FROM $even WHERE day IS NULL") >= 200.0)
    }
  }

  test("computed keys: no more values than rows, and the domain before predicates") {
    withTables("pairs", "keys", "users", "clients") {
      make("pairs", "id, id % 4000 AS a, id % 300 AS b", 12000)
      make("keys", "id % 4000 AS a, id % 300 AS b", 12000)
      make("users", "id, concat('u', id) AS mail, id % 50 AS part", 10000)
      make("clients", "id, concat('u', id) AS mail, id % 50 AS part", 10000)
      analyzed("pairs", "keys", "users", "clients")
      near(2.0)("SELECT * FROM pairs p JOIN keys k ON xxhash64(p.a, p.b) = xxhash64(k.a, k.b)")
      near(2.0)("SELECT * FROM pairs p JOIN keys k ON concat_ws('-', p.a, p.b) = concat_ws('-', k.a, k.b)")
      // the parts of two tables are independent of each other as far as anybody knows
      val found = rows(
        "SELECT * FROM users u JOIN clients c ON lower(u.mail) = lower(c.mail) WHERE u.part = 1 AND c.part = 1"
      )
      assert(found > 1.0 && found < 40.0, found)
    }
  }

  test("versions of a row: each point in time has one, also if the last one is open, and whatever the ranges say") {
    withTables("facts", "versions", "open") {
      val day = "date_add(DATE'2015-01-01', CAST"
      make("facts", s"id, id % 500 AS k, $day(pmod(hash(id), 3650) AS INT)) AS ts", 20000)
      // ten versions of 500 keys, side by side over ten years
      def version(end: String) = s"id % 500 AS k, $day(id DIV 500 * 365 AS INT)) AS from_day, $end AS to_day"
      val next                 = s"$day((id DIV 500 + 1) * 365 AS INT))"
      make("versions", version(next), 5000)
      make("open", version(s"IF(id DIV 500 = 9, DATE'9999-12-31', $next)"), 5000)
      def at(table: String) =
        s"SELECT * FROM facts f JOIN $table v ON f.k = v.k AND f.ts >= v.from_day AND f.ts < v.to_day"
      for (table <- Seq("versions", "open")) near(4.0)(at(table))
      analyzed("facts", "versions", "open")
      for (table <- Seq("versions", "open")) near(4.0)(at(table))
    }
  }

  test("one date far away does not move all others: comparisons of two tables know where the values lie") {
    withTables("shops", "visits") {
      val day = "date_add(DATE'2020-01-01', CAST(pmod(hash(id), 1000) AS INT))"
      make("shops", s"id % 40 AS cust, IF(id = 17, DATE'9999-12-31', $day) AS ts", 4000)
      make("visits", s"id % 40 AS cust, $day AS ts", 4000)
      val sql = "SELECT * FROM shops o JOIN visits v ON o.cust = v.cust AND o.ts < v.ts"
      near(2.0)(sql)
      withConf(
        "spark.sql.statistics.histogram.enabled" -> "true"
      )(analyzed("shops", "visits"))
      near(2.0)(sql)
    }
  }

  test("two comparisons of columns of the same range are no interval") {
    withTables("reviews") {
      make("reviews", "id % 20 AS product, pmod(hash(id), 100) AS food, pmod(hash(id, 7), 100) AS service", 2000)
      analyzed("reviews")
      near(3.0)(
        "SELECT * FROM reviews a JOIN reviews b ON a.product = b.product AND a.food >= b.food " +
          "AND a.service <= b.service"
      )
    }
  }

  test("semi and anti joins by several keys: at most as many rows have a partner as there are partners") {
    withTables("candidates", "bought") {
      make("candidates", "id DIV 200 AS user, id % 200 AS item", 40000)
      make("bought", "id * 20 DIV 200 AS user, id * 20 % 200 AS item", 2000)
      spark.sql("DOVETAIL ANALYZE TABLE candidates")
      spark.sql("DOVETAIL ANALYZE TABLE bought")
      def joined(kind: String) =
        s"SELECT * FROM candidates c LEFT $kind JOIN bought b ON c.user = b.user AND c.item = b.item"
      for (kind <- Seq("SEMI", "ANTI")) near(1.6)(joined(kind))
    }
  }
}
