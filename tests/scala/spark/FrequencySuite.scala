package org.apache.spark.sql.dovetail

import org.scalatest.BeforeAndAfterAll

/**
 * Estimates without a sample, from the frequent values, quantiles and groups that DOVETAIL ANALYZE collected, compared
 * with counts.
 */
class FrequencySuite extends DovetailSuite with BeforeAndAfterAll {
  private val settings = Seq("spark.dovetail.sample.enabled" -> "false", "spark.dovetail.store.writeBack" -> "false")

  override def beforeAll(): Unit = {
    super.beforeAll()
    // k is 3 in half of the rows; the model determines the make
    spark.sql(
      """CREATE TABLE freq_s USING parquet AS SELECT id, CAST(IF(id % 2 = 0, 3, id % 97) AS INT) k,
        |concat('w', IF(id % 4 = 0, 1, id % 50)) w,
        |CAST(IF(id % 5 = 0, 1, id % 300) AS DECIMAL(10, 2)) d, DATE'2020-01-01' + CAST(id % 30 AS INT) day,
        |IF(id % 2 = 0, CAST(id * id AS DOUBLE), 0.0D) wide,
        |concat('make', id % 10) make, concat('model', id % 100) model FROM range(2000)""".stripMargin
    )
    spark.sql(
      "CREATE TABLE freq_l USING parquet AS SELECT CAST(IF(id % 3 = 0, 3, id % 200) AS BIGINT) k, concat('w', IF(id " +
        "% 2 = 0, 1, id % 90)) w FROM range(300)"
    )
    spark.sql("CREATE TABLE freq_c (id INT, code CHAR(4)) USING parquet")
    spark.sql("INSERT INTO freq_c SELECT id, IF(id < 90, 'ab', concat('x', id)) FROM range(100)")
    withConf(settings: _*) {
      spark.sql("DOVETAIL ANALYZE TABLE freq_s GROUPS ((make, model))")
      Seq("freq_l", "freq_c").foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t"))
    }
  }

  override def afterAll(): Unit =
    try Seq("freq_s", "freq_l", "freq_c").foreach(n => spark.sql(s"DROP TABLE IF EXISTS $n"))
    finally super.afterAll()

  private def estimate(sql: String): (Double, Double) = {
    val r = spark.sql(s"""SELECT value, upper FROM dovetail_estimate("$sql")""").head()
    (r.getDouble(0), if (r.isNullAt(1)) Double.PositiveInfinity else r.getDouble(1))
  }
  private def count(sql: String): Double = spark.sql(s"SELECT count(*) FROM ($sql)").head().getLong(0).toDouble

  private def near(sql: String, tolerance: Double): Unit = near(sql, count(sql), tolerance)

  /** Checks all predicates; one query counts them all. */
  private def near(table: String, predicates: Seq[String], tolerance: Double): Unit = {
    val counts = spark.sql(s"SELECT ${predicates.map(p => s"count_if($p)").mkString(", ")} FROM $table").head()
    predicates.zipWithIndex.foreach { case (p, i) =>
      near(s"SELECT * FROM $table WHERE $p", counts.getLong(i).toDouble, tolerance)
    }
  }

  private def near(sql: String, truth: Double, tolerance: Double): Unit = {
    val (value, upper) = estimate(sql)
    assert(math.abs(value - truth) <= math.max(tolerance * truth, 1.0), s"estimated $value instead of $truth for $sql")
    assert(upper >= truth, s"at most $upper, but there are $truth: $sql")
  }

  test("equality and IN on values of every kind take their counts") {
    val equalities =
      Seq("k = 3", "k = CAST(3 AS BIGINT)", "k IN (3, 5, 7)", "k = 1000", "day = DATE'2020-01-05'", "d = 1", "d = 2.00")
    near("freq_s", equalities ++ Seq("w = 'w1'", "w IN ('w1', 'w7')", "w <> 'w1'", "w = 'nowhere'"), 0.01)
    // a column with more values than are counted individually
    near("freq_s", Seq("wide = 0"), 0.15)
  }

  test("ranges follow the quantiles") {
    near(
      "freq_s",
      Seq("id < 500", "wide > 1000000", "wide BETWEEN 1 AND 1000000", "k < 3", "day >= DATE'2020-01-25'"),
      0.15
    )
  }

  test("frequent values on both sides of a join are multiplied, across integers of two widths, and after filters") {
    near("SELECT * FROM freq_s s JOIN freq_l l ON s.k = l.k", 0.001)
    near("SELECT * FROM freq_s s JOIN freq_l l ON s.w = l.w", 0.001)
    near("SELECT * FROM freq_s s JOIN freq_l l ON s.k = l.k WHERE s.k < 10 AND l.k IN (3, 5)", 0.001)
    near("SELECT * FROM freq_s s JOIN freq_l l ON s.w = l.w WHERE s.w = 'w1'", 0.001)
    near(
      "SELECT * FROM (SELECT k AS key FROM freq_s s) x JOIN (SELECT k AS key FROM freq_l l) y ON x.key = y.key",
      0.001
    )
  }

  test("values that a cast, a pad or an operator made others are not taken for the old ones") {
    near("SELECT * FROM freq_c c WHERE code = 'ab'", 2.0)
    assert(estimate("SELECT * FROM freq_c c WHERE code = 'ab'")._1 > 0.0)
    Seq(
      "SELECT * FROM freq_s s JOIN freq_l l ON CAST(s.d AS BIGINT) = l.k",
      "SELECT * FROM freq_s s JOIN freq_l l ON s.d = CAST(l.k AS DECIMAL(10, 2))",
      "SELECT * FROM freq_s s JOIN freq_c c ON CAST(s.k AS FLOAT) = CAST(c.id AS FLOAT)",
      "SELECT * FROM (SELECT k FROM freq_s s UNION ALL SELECT k FROM freq_s s) x JOIN freq_l l ON x.k = l.k",
      "SELECT * FROM (SELECT explode(array(k, k, k)) AS k FROM freq_l l) x JOIN freq_s s ON x.k = s.k",
      "SELECT * FROM (SELECT l.k FROM freq_l l JOIN freq_l m ON l.k = m.k LIMIT 1000) x JOIN freq_s s ON x.k = s.k",
      "SELECT * FROM (SELECT k, w, count(*) FROM freq_s s GROUP BY k, w) x JOIN freq_l l ON x.k = l.k",
      "SELECT * FROM (SELECT k, w, count(*) FROM freq_s s GROUP BY CUBE (k, w)) x JOIN freq_l l ON x.k = l.k",
      "SELECT * FROM (SELECT IF(k = 3, NULL, k) AS k FROM freq_s) x LEFT JOIN (SELECT IF(k = 3, NULL, k) AS k FROM " +
        "freq_l) y ON x.k <=> y.k",
      "SELECT * FROM freq_s s LEFT JOIN freq_l l ON s.k = l.k",
      "SELECT * FROM freq_s s FULL JOIN freq_l l ON s.k = l.k AND s.w = l.w"
    ).foreach { sql =>
      val ((value, upper), truth) = (estimate(sql), count(sql))
      assert(value > 0.0 && upper >= truth, s"$value, at most $upper, but there are $truth: $sql")
    }
  }

  test("columns that were counted together: filters and groupings") {
    near("SELECT * FROM freq_s s WHERE make = 'make3' AND model = 'model33'", 0.01)
    near("SELECT make, model, count(*) FROM freq_s s GROUP BY make, model", 0.1)
  }

  test("complete samples bound joins") {
    withDirectory { d =>
      withConf(
        "spark.dovetail.store.path"      -> d.resolve("store").toString,
        "spark.dovetail.store.writeBack" -> "false"
      ) {
        Seq("freq_s", "freq_l").foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t"))
        val sql            = "SELECT * FROM freq_s s JOIN freq_l l ON s.id = l.k"
        val (value, upper) = estimate(sql)
        assert(math.round(value) == count(sql).toLong && upper == 300.0, "of each id there is one row")
      }
    }
  }

  test("after an INSERT, values beyond the range that was collected are few, and not none") {
    withTables("grows") {
      spark.sql(
        "CREATE TABLE grows USING parquet AS SELECT /*+ COALESCE(1) */ id AS k, concat('w', id % 3) w FROM range(1000)"
      )
      withConf(settings: _*)(spark.sql("DOVETAIL ANALYZE TABLE grows"))
      val beyond = Seq("k > 1500", "k = 1500", "w = 'new'").map(p => s"SELECT * FROM grows WHERE $p")
      beyond.foreach(sql => assert(estimate(sql)._1 == 0.0, sql))
      spark.sql("INSERT INTO grows SELECT /*+ COALESCE(1) */ id + 1000, 'new' FROM range(1000)")
      beyond.foreach(sql => assert(estimate(sql)._1 > 0.0, sql))
      assert(estimate(beyond.head)._1 > 100.0, "half of the bytes are new, and a third of them is taken to be there")
    }
  }
}
