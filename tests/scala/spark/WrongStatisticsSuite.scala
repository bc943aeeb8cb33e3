package org.apache.spark.sql.dovetail

import dovetail.kernel.cost.ClusterFacts
import dovetail.kernel.profile.{Estimate, Source}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.scalatest.BeforeAndAfterAll

/**
 * Row counts and distinct values that are wrong by a factor of 1,000: the answers stay the same, and no broadcast that
 * ran is larger than `ClusterFacts.RiskFactor` times Spark's threshold. Sizes in bytes stay correct, because Spark
 * decides about its own broadcasts by them.
 */
class WrongStatisticsSuite extends DovetailSuite with BeforeAndAfterAll {
  private val Factor = 1000

  /** Spark's threshold in bytes, and the largest allowed broadcast: `f` and `m` are larger, `a` is between the two. */
  private val Threshold = 8192L
  private val Bound     = Threshold * ClusterFacts.RiskFactor

  private val tables = Seq("f", "m", "a", "b")

  private val queries = Seq(
    "star" ->
      ("SELECT count(*), sum(f.v), max(m.w) FROM f JOIN a ON f.k2 = a.k JOIN m ON f.k1 = m.k JOIN b ON f.k3 = b.k " +
        "WHERE b.w < 5"),
    "snowflake" ->
      "SELECT count(*), sum(f.v) FROM f JOIN m ON f.k1 = m.k JOIN a ON m.w = a.k JOIN b ON a.w = b.k WHERE b.w = 3",
    "facts with facts" ->
      ("SELECT count(*), sum(x.v) + sum(y.v) FROM f x JOIN f y ON x.id = y.id JOIN m ON y.k1 = m.k JOIN b ON x.k3 " +
        "= b.k"),
    "outer" ->
      ("SELECT count(m.k), sum(f.v) FROM b LEFT JOIN f ON f.k3 = b.k LEFT JOIN m ON f.k1 = m.k LEFT JOIN a ON f.k2 " +
        "= a.k WHERE b.w < 7"),
    "full outer" ->
      ("SELECT count(*), count(m.k), count(a.k) FROM f FULL JOIN m ON f.k1 = m.k JOIN a ON f.k2 = a.k JOIN b ON " +
        "a.w = b.k"),
    "semi and anti" -> """SELECT count(*), sum(a.w) FROM a JOIN b ON a.w = b.k
      WHERE EXISTS (SELECT 1 FROM f WHERE f.k2 = a.k AND f.v > 10)
      AND NOT EXISTS (SELECT 1 FROM m WHERE m.w = a.k AND m.k < 6000)"""
  )

  /** Name of each case, and the factor that multiplies the row count of a table. */
  private val falsified: Seq[(String, String => Double)] = Seq[(String, String => Double)](
    "too small"             -> (_ => 1.0 / Factor),
    "too large"             -> (_ => 1.0 * Factor),
    "small and large, f"    -> (t => if (t == "f") 1.0 / Factor else Factor),
    "large and small, f"    -> (t => if (t == "f") Factor else 1.0 / Factor),
    "small and large, turn" -> (t => if (tables.indexOf(t) % 2 == 0) 1.0 / Factor else Factor),
    "large and small, turn" -> (t => if (tables.indexOf(t) % 2 == 0) Factor else 1.0 / Factor)
  ) ++ Seq("f", "m").map(one => s"too small, $one alone" -> ((t: String) => if (t == one) 1.0 / Factor else 1.0))

  private val WithAdaptive = Set("too small", "small and large, f", "large and small, f")

  private lazy val truth: Map[String, CatalogStatistics] =
    tables.map(t => t -> spark.sessionState.catalog.getTableMetadata(TableIdentifier(t)).stats.get).toMap

  private lazy val expected: Map[String, Seq[String]] = dovetail(on = false)(queries.map { case (name, sql) =>
    name -> answer(sql)
  }.toMap)

  override def beforeAll(): Unit = {
    super.beforeAll()
    def table(name: String, query: String): Unit = {
      spark.sql(s"CREATE TABLE $name USING parquet AS $query")
      spark.sql(s"ANALYZE TABLE $name COMPUTE STATISTICS FOR ALL COLUMNS")
      ()
    }
    // numbers without a pattern, so that files do not become tiny by compression
    table(
      "f",
      "SELECT id, hash(id) % 6000 + 6000 AS k1, abs(hash(id, 1)) % 1000 AS k2, abs(hash(id, 2)) % 100 AS k3, " +
        "hash(id, 3) AS v FROM range(30000)"
    )
    table("m", "SELECT id AS k, abs(hash(id)) % 1000 AS w, hash(id, 4) AS x FROM range(12000)")
    table("a", "SELECT id AS k, abs(hash(id)) % 100 AS w, hash(id, 5) AS x FROM range(1000)")
    table("b", "SELECT id AS k, id % 10 AS w FROM range(100)")
    truth.size
    ()
  }

  override def afterAll(): Unit =
    try tables.foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private def falsify(by: String => Double): Unit = truth.foreach { case (t, s) =>
    def wrong(n: BigInt) = (BigDecimal(n) * by(t)).toBigInt.max(BigInt(1))
    InjectedStatistics(
      spark,
      t,
      s.rowCount.map(wrong),
      s.sizeInBytes,
      s.colStats.map { case (c, stat) => c -> stat.copy(distinctCount = stat.distinctCount.map(wrong)) }
    )
  }

  private def broadcasts(plan: SparkPlan): Seq[BroadcastExchangeExec] = plan match {
    case a: AdaptiveSparkPlanExec => broadcasts(a.executedPlan)
    case q: QueryStageExec        => broadcasts(q.plan)
    case other => other.collect { case b: BroadcastExchangeExec => b } ++ other.children.flatMap(inside)
  }

  /** The broadcasts below a stage or an adaptive plan, which `collect` does not visit. */
  private def inside(plan: SparkPlan): Seq[BroadcastExchangeExec] = plan match {
    case _: AdaptiveSparkPlanExec | _: QueryStageExec => broadcasts(plan)
    case other                                        => other.children.flatMap(inside)
  }

  /**
   * Bytes of the rows in memory: all columns are numbers, which take a word each, and the NULL bits take one. The
   * metric `dataSize` counts pages of a mebibyte instead.
   */
  private def bytes(b: BroadcastExchangeExec): Long = b.metrics("numOutputRows").value * 8L * (1 + b.output.size)

  private def largest(sql: String): (Seq[String], Long) = {
    val execution = spark.sql(sql).queryExecution
    val rows      = DovetailSuite.answer(execution)
    (rows, broadcasts(execution.executedPlan).map(bytes).foldLeft(0L)(math.max))
  }

  // adaptive execution measures inputs before it broadcasts them, so fewer cases are enough with it
  for (adaptive <- Seq("true", "false"); (how, by) <- falsified if adaptive == "false" || WithAdaptive(how))
    test(s"row counts $how (adaptive $adaptive): the same rows, and no broadcast over the bound") {
      withConf(
        "spark.sql.autoBroadcastJoinThreshold" -> Threshold.toString,
        "spark.sql.adaptive.enabled"           -> adaptive,
        DovetailConf.MinGain.key               -> "0"
      ) {
        falsify(by)
        queries.foreach { case (name, sql) =>
          val (rows, most) = largest(sql)
          assert(rows == expected(name), name)
          assert(most <= Bound, told(s"$name broadcasts $most bytes\n${physical(sql)}"))
        }
      }
    }

  // counts that the size of the files cannot confirm

  private val Few  = 5000
  private val Many = 60000

  /** Rows that do not become tiny by compression, with a text of which ANALYZE without columns knows no length. */
  private def hashed(rows: Int): DataFrame =
    spark.range(0L, rows.toLong, 1L, 1).selectExpr("id", "sha2(CAST(id AS STRING), 256) AS text")

  private def estimate(table: String): Estimate = {
    val plan       = optimized(s"SELECT * FROM $table")
    val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
    statistics.learnFrom(plan)
    statistics(plan).rows
  }

  /** Runs `body` with each of several analyzed tables, their format, and the folder to which a program adds files. */
  private def analyzed(body: (String, String, String) => Unit): Unit =
    for ((format, options) <- Seq("parquet" -> "", "parquet" -> "PARTITIONED BY (part)", "csv" -> ""))
      withTables("grown") {
        hashed(Few).selectExpr("id", "text", "1 AS part").createOrReplaceTempView("grown_source")
        spark.sql(s"CREATE TABLE grown USING $format $options AS SELECT * FROM grown_source")
        spark.catalog.dropTempView("grown_source")
        spark.sql("ANALYZE TABLE grown COMPUTE STATISTICS")
        val location = spark.sessionState.catalog.getTableMetadata(TableIdentifier("grown")).location.toString
        body(s"$format $options", format, if (options.isEmpty) location else s"$location/part=1")
      }

  test("a row count in the catalog is no bound if the table has grown, in any format and with partitions") {
    analyzed { (table, format, folder) =>
      val columns = Seq("id", "text") ++ (if (folder.endsWith("part=1")) Nil else Seq("1 AS part"))
      hashed(Many).selectExpr(columns: _*).write.mode("append").format(format).save(folder)
      spark.sql("REFRESH TABLE grown")
      for (read <- Seq("true", "false"))
        withConf(
          DovetailConf.FootersEnabled.key -> read,
          DovetailConf.FootersMaxMs.key   -> "60000",
          DovetailConf.SampleFiles.key    -> read
        )(assert(estimate("grown").upper >= (Few + Many).toDouble, s"$table, reading files: $read"))
    }
  }

  test("files of rows that compress well may have many more rows than their size shows") {
    withTables("small") {
      spark.sql("CREATE TABLE small USING parquet AS SELECT id, id % 3 AS v FROM range(20000)")
      spark.sql("ANALYZE TABLE small COMPUTE STATISTICS FOR ALL COLUMNS")
      val location = spark.sessionState.catalog.getTableMetadata(TableIdentifier("small")).location.toString
      spark.range(300000).selectExpr("0L AS id", "0L AS v").write.mode("append").parquet(location)
      spark.sql("REFRESH TABLE small")
      for (read <- Seq("true", "false"))
        withConf(DovetailConf.FootersEnabled.key -> read, DovetailConf.SampleFiles.key -> read)(
          assert(estimate("small").upper >= 320000.0, s"reading files: $read")
        )
    }
  }

  test("a row count in the catalog is certain once the rows in the files have confirmed it") {
    analyzed { (table, _, _) =>
      withConf(DovetailConf.FootersMaxMs.key -> "60000") {
        val rows = estimate("grown")
        assert(rows == Estimate.exactly(Few.toDouble, Source.Catalog), table)
      }
      withConf(DovetailConf.FootersEnabled.key -> "false", DovetailConf.SampleFiles.key -> "false") {
        val rows = estimate("grown")
        assert(rows == Estimate.guess(Few.toDouble, Source.Catalog), table)
      }
    }
  }

  test("with the true statistics Dovetail does broadcast what Spark would not, under the bound") {
    falsify(_ => 1.0)
    withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> Threshold.toString,
      "spark.sql.adaptive.enabled"           -> "false",
      DovetailConf.MinGain.key               -> "0"
    ) {
      def found         = queries.map { case (_, sql) => largest(sql)._2 }
      val (plain, ours) = (dovetail(on = false)(found), found)
      assert(ours.zip(plain).exists { case (o, p) => o > p } && ours.forall(_ <= Bound), s"$plain $ours")
    }
  }
}
