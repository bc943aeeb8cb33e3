package org.apache.spark.sql.dovetail

import scala.util.Random

import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.expressions.{InSet, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.predicates.ExpressionBytes
import org.apache.spark.sql.dovetail.sample.PlanSamples
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.{
  SampledRows,
  TableSample,
  TableStatistics,
  TableStatisticsSource,
  UnreadFiles
}
import org.apache.spark.sql.functions.udf
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.BeforeAndAfterAll

/**
 * Estimates from samples, compared with counts. The sample of `t` (5000 rows) has 1000 rows; the sample of `small` (200
 * rows) has all of them.
 *
 * In `t` the model determines the make, although formulas assume that the two columns are independent. `k` joins
 * `small`, whose rows of one country match most rows of `t`.
 */
class SampleSuite extends DovetailSuite with BeforeAndAfterAll {
  private val Drawn = 1000

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(
      """CREATE TABLE t USING parquet AS SELECT id, concat('make', id % 10) make,
        |concat('model', id % 10, '-', id % 100) model,
        |CAST(IF(id % 4 = 0, id % 200, id % 20) AS INT) k, IF(id % 7 = 0, NULL, CAST(id AS STRING)) text,
        |date_add(DATE'2020-01-01', CAST(id % 366 AS INT)) d
        |FROM range(5000)""".stripMargin
    )
    spark.sql(
      "CREATE TABLE small USING parquet AS SELECT CAST(id AS INT) k, IF(id < 20, 'here', concat('there', id % 9)) " +
        "country FROM range(200)"
    )
    spark.udf.register("odd", udf((s: String) => s != null && s.last.toInt % 2 == 1))
    ()
  }

  override def afterAll(): Unit =
    try Seq("t", "small").foreach(n => spark.sql(s"DROP TABLE IF EXISTS $n"))
    finally super.afterAll()

  test("a sample that has only the beginnings of long texts says nothing of what is behind them") {
    withTables("docs") {
      spark.sql("CREATE TABLE docs USING parquet AS SELECT id, concat(repeat('x', 3000), id) AS body FROM range(300)")
      withDirectory { d =>
        withConf("spark.dovetail.store.path" -> d.resolve("store").toString) {
          spark.sql("DOVETAIL ANALYZE TABLE docs")
          for (p <- Seq("length(body) > 2000", "body LIKE '%1'", "substring(body, 3001) < '3'")) {
            val sql  = s"SELECT count(*) FROM t JOIN docs ON t.id = docs.id JOIN small ON t.k = small.k WHERE $p"
            val rows = traced(sql)._2.groups.head.relations.find(_.label.contains("docs")).get.rows.get
            assert(rows.upper >= 300.0 && rows.value > 1.0, s"$p: $rows")
          }
        }
      }
    }
  }

  test("a few long texts do not hide the others: predicates on them are estimated, without bounds") {
    withTables("notes") {
      spark.sql(
        "CREATE TABLE notes USING parquet AS SELECT id, IF(id % 500 = 0, repeat('long ', 600), concat('genre ', id " +
          "% 9)) " +
          "AS info FROM range(30000)"
      )
      withDirectory { d =>
        withConf("spark.dovetail.store.path" -> d.resolve("store").toString) {
          spark.sql("DOVETAIL ANALYZE TABLE notes")
          for (p <- Seq("info = 'genre 3'", "info LIKE '%genre 4%'")) {
            val sql  = s"SELECT count(*) FROM t JOIN notes ON t.id = notes.id JOIN small ON t.k = small.k WHERE $p"
            val rows = traced(sql)._2.groups.head.relations.find(_.label.contains("notes")).get.rows.get
            assert(rows.value > 2800.0 && rows.value < 3900.0 && rows.upper >= 30000.0, s"$p: $rows")
          }
        }
      }
    }
  }

  /** Samples drawn by hand, as the store would hold them. */
  private def known(fresh: Boolean = true): TableStatisticsSource = drawn(fresh, Seq("t" -> Drawn, "small" -> 200))

  private def drawn(fresh: Boolean, of: Seq[(String, Int)]): TableStatisticsSource = new TableStatisticsSource {
    private val tables = of.map { case (name, drawn) =>
      val plan   = spark.table(name)
      val rows   = plan.queryExecution.toRdd.map(_.copy()).collect()
      val sample = TableSample(
        plan.schema,
        SampledRows(plan.schema, new Random(1).shuffle(rows.toVector).take(drawn)),
        rows.length.toLong
      )
      name -> TableStatistics(
        rows.length.toLong,
        0L,
        Vector.empty,
        Vector.empty,
        Some(sample),
        0L,
        if (fresh) None else Some(UnreadFiles(1, 0.5))
      )
    }.toMap
    def find(leaf: LeafNode): Option[TableStatistics] = tables.get(LeafNames.name(leaf))
  }

  private lazy val fresh                                                                 = known()
  private def profile(plan: LogicalPlan, tables: TableStatisticsSource): RelationProfile =
    new PlanStatistics(spark.sessionState.conf, true, tables)(plan)
  private def rows(sql: String, tables: TableStatisticsSource = fresh): Double =
    profile(optimized(sql), tables).rows.value
  private def count(sql: String): Double = spark.sql(s"SELECT count(*) FROM ($sql)").head().getLong(0).toDouble

  /** Asserts that the estimate is within the sampling error of 1000 rows: about three standard deviations. */
  private def near(sql: String, tolerance: Double = 0.35): Unit = {
    val (found, truth) = (rows(sql), count(sql))
    assert(math.abs(found - truth) <= math.max(tolerance * truth, 10.0), s"estimated $found instead of $truth for $sql")
  }

  test("predicates of every kind are tried on the sample") {
    val predicates = Seq(
      "text LIKE '%7%'",
      "odd(text)",
      "make = 'make3' AND model LIKE 'model3-%'",
      "CASE WHEN k < 10 THEN d ELSE DATE'2020-02-01' END > DATE'2020-06-01'",
      "substr(model, 6, 1) IN ('1', '2') OR text IS NULL",
      "month(d) = 2 AND NOT (k BETWEEN 3 AND 15)",
      "CAST(text AS BIGINT) % 5 = 1"
    )
    withConf("spark.dovetail.sample.userFunctions" -> "true")(predicates.foreach(p =>
      near(s"SELECT * FROM t WHERE $p")
    ))
  }

  test("keys of several columns: how many there are together is seen in a sample of a part") {
    withTables("hours", "events") {
      // a row per place, day and hour: any two columns together are far from a key, all three together are a key
      spark.sql(
        "CREATE TABLE hours USING parquet AS SELECT p.id place, d.id day, h.id hour, (p.id * 7 + d.id * 3 + h.id) % " +
          "50 w FROM range(5) p, range(60) d, range(24) h"
      )
      spark.sql(
        "CREATE TABLE events USING parquet AS SELECT id, id % 5 place, (id DIV 5) % 60 day, (id * 31) % 24 hour FROM " +
          "range(20000)"
      )
      val tables                               = drawn(fresh = true, Seq("hours" -> 3000, "events" -> 2000))
      def near(sql: String, tolerance: Double) = {
        val (found, truth) = (rows(sql, tables), count(sql))
        assert(found <= tolerance * truth && truth <= tolerance * found, s"estimated $found instead of $truth for $sql")
      }
      val keys = Seq("place", "day", "hour").map(c => s"e.$c = h.$c")
      (1 to 3).foreach(n =>
        near(s"SELECT * FROM events e, hours h WHERE ${keys.take(n).mkString(" AND ")} AND h.w < 10", 1.5)
      )
      near(s"SELECT * FROM events e, hours h WHERE ${keys.mkString(" AND ")} AND h.w = 10", 2.0)
      near(s"SELECT * FROM events e LEFT JOIN hours h ON ${keys.mkString(" AND ")}", 1.5)
    }
  }

  test("an OR of conditions on two tables: which alternatives go together is seen in the samples") {
    // in `t`, three of four rows have a k below 20, and half of these have a k below 10; in `small`, a tenth are `here`
    val frequent = "(t.k < 10 AND s.country = 'here') OR (t.k >= 100 AND s.country = 'there1')"
    near(s"SELECT * FROM t CROSS JOIN small s WHERE $frequent", 0.15)
    // alternatives that exclude each other, and conditions that formulas cannot estimate
    val makes = Seq(0, 1, 2).map(m => s"(substr(t.make, 5) = '$m' AND s.k % 3 = $m)").mkString(" OR ")
    near(s"SELECT * FROM t CROSS JOIN small s WHERE $makes", 0.15)
    // an alternative that all rows of one table satisfy
    near(s"SELECT * FROM t CROSS JOIN small s WHERE (t.k < 10 AND s.country = 'here') OR s.country LIKE '%7'", 0.15)
    // a condition that reads both tables counts beside the conditions on one table
    near("SELECT * FROM t CROSS JOIN small s WHERE (t.k < 10 AND s.country = 'here' AND t.k = s.k) OR t.k > 190", 0.3)
  }

  test("a table that is drawn whole: counts, with bounds that are the count") {
    val estimate =
      profile(optimized("SELECT k + 1 AS k1 FROM small WHERE country LIKE 'there%' AND k % 2 = 0"), fresh).rows
    assert(estimate.value == 90.0 && estimate.lower == 90.0 && estimate.upper == 90.0)
    assert(rows("SELECT * FROM small WHERE country = 'nowhere'") == 0.0)
  }

  test("predicates on projected expressions, and on the output of a filter") {
    near("SELECT * FROM (SELECT upper(make) m, k FROM t WHERE k < 15) WHERE m = 'MAKE3'")
    near("SELECT * FROM (SELECT model, length(text) n FROM t) WHERE n = 3 AND model LIKE '%-1%'")
  }

  test("what no row of the sample shows is rare, and not impossible") {
    val found = rows("SELECT * FROM t WHERE text = '4711'")
    assert(found > 0.0 && found < 20.0)
  }

  test("what cannot be run on a sample is left to the formulas: subqueries, chance, values that do not cast") {
    assert(rows("SELECT * FROM t WHERE rand() < 0.5 AND make = 'make3'") < 500.0)
    withConf("spark.sql.ansi.enabled" -> "true") {
      val found = rows("SELECT * FROM t WHERE CAST(model AS INT) = 3 AND k < 10")
      assert(found > 0.0 && found < 2500.0)
    }
    val scalar = optimized("SELECT * FROM t WHERE k = (SELECT max(k) FROM small)")
    assert(new PlanSamples(fresh)(scalar.collectFirst { case f: Filter => f }.get).exists(_.untried.nonEmpty))
  }

  test("a table that has changed since is not taken for what was drawn") {
    val estimate = profile(optimized("SELECT * FROM small WHERE country = 'here'"), known(fresh = false)).rows
    assert(estimate.lower == 0.0 && estimate.upper > 20.0 && math.abs(estimate.value - 20.0) < 5.0)
  }

  test("joins: filters meet the keys they belong to, and a table meets itself") {
    near("SELECT t.id FROM t JOIN small ON t.k = small.k WHERE small.country = 'here'")
    near("SELECT t.id FROM t JOIN small ON t.k = small.k WHERE small.country = 'there3'", 0.6)
    near("SELECT a.id FROM t a JOIN t b ON a.k = b.k WHERE a.make = 'make3' AND b.model LIKE 'model3%'", 0.5)
    near("SELECT a.id FROM t a JOIN t b ON a.make = b.make AND a.k = b.k")
  }

  test("predicates that are kept weigh what their lists of values take") {
    val numbers = InSet(Literal(1), (1 to 5000).toSet[Any])
    val texts   = InSet(Literal("a"), (1 to 5000).map(i => UTF8String.fromString("t" * 100 + i)).toSet[Any])
    assert(ExpressionBytes(numbers) > 200000L && ExpressionBytes(texts) > 700000L)
    val table = optimized("SELECT k FROM t")
    BoundedCache.clearAll()
    (1 to 26).foreach { i =>
      profile(Filter(InSet(table.output.head, (1 to 20000).map(_ * 50 + i).toSet[Any]), table), known())
    }
    val kept = BoundedCache.clearAll()
    assert(kept > 0 && kept < 22, s"$kept: of lists of 20,000 numbers, 13 or so are kept in 16 MiB")
  }

  test("a predicate on the same rows is run once") {
    val calls = spark.sparkContext.longAccumulator
    spark.udf.register("counted", udf((s: String) => { calls.add(1L); s == "make1" }))
    val planned = optimized("SELECT * FROM t WHERE counted(make)")
    profile(planned, fresh)
    assert(calls.value == 0L)
    withConf("spark.dovetail.sample.userFunctions" -> "true")((1 to 3).foreach(_ => profile(planned, fresh)))
    assert(calls.value == Drawn)
  }

  test("a computed join key is run once on the same rows") {
    val calls = spark.sparkContext.longAccumulator
    spark.udf.register("keyed", udf((s: String) => { calls.add(1L); s.length }))
    val planned = optimized("SELECT t.id FROM t JOIN small ON keyed(t.make) = small.k")
    withConf("spark.dovetail.sample.userFunctions" -> "true") {
      profile(planned, fresh)
      val once = calls.value
      assert(once > 0L)
      (1 to 3).foreach(_ => profile(planned, fresh))
      assert(calls.value == once)
    }
  }
}
