package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, LessThanOrEqual}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.dovetail.base.{DovetailConf, KeyRangeFilter}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/**
 * Key ranges of a table that a query reads several times: each copy gets its own range, copies that Spark computes once
 * stay equal, and a copy that may be equal to one without a range gets none.
 */
class RangeCopiesSuite extends DovetailSuite with SuiteTables with AdaptiveSparkPlanHelper {
  override def beforeAll(): Unit = {
    super.beforeAll()
    // 400 days of 100 rows in their order, in many row groups
    spark.sql(
      "CREATE TABLE fact USING parquet OPTIONS ('parquet.block.size'='65536', 'parquet.block.size.row.check.min'='100') " +
        "AS SELECT id, CAST(id DIV 100 AS INT) AS day, id % 50 AS item, sha2(CAST(id AS STRING), 256) AS noise " +
        "FROM range(0, 40000, 1, 1)"
    )
    table("days", "SELECT CAST(id AS INT) AS day, id DIV 7 AS week, id DIV 30 AS month FROM range(400)")
    spark.sql(
      "CREATE TABLE parted USING parquet OPTIONS ('parquet.block.size'='65536', 'parquet.block.size.row.check.min'='100') " +
        "PARTITIONED BY (kind) AS SELECT id, day, item, noise, item % 4 AS kind FROM fact"
    )
    table("kinds", "SELECT id AS kind, concat('k', id) AS label FROM range(4)")
    table("weeks", "SELECT id AS week, id % 10 AS kind FROM range(60)")
  }

  override def afterAll(): Unit =
    try Seq("fact", "parted").foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  /** Runs `body` with all legal ranges, and with exchanges of the large table, with adaptive execution or without. */
  private def forced[A](adaptive: Boolean)(body: => A): A = withConf(
    DovetailConf.ReducersAlways.key        -> "true",
    DovetailConf.Reducers.key              -> "false",
    "spark.sql.autoBroadcastJoinThreshold" -> "100000",
    "spark.sql.adaptive.enabled"           -> adaptive.toString
  )(body)

  private def inBoth(body: => Unit): Unit = for (adaptive <- Seq(true, false)) forced(adaptive)(body)

  /** Number of scans of the large table with a range of days. */
  private def ranges(sql: String): Int = optimized(sql).collect {
    case f: Filter if f.exists {
          case r: LogicalRelation => isFact(r.catalogTable.map(_.identifier.table)); case _ => false
        } =>
      f.condition.collect { case e: LessThanOrEqual if KeyRangeFilter(e) => e }.size
  }.sum

  private def isFact(table: Option[String]): Boolean = table.exists(Set("fact", "parted"))

  /** The plan of a query after it has run. */
  private def ran(sql: String): SparkPlan = {
    val frame = spark.sql(sql)
    frame.collect()
    frame.queryExecution.executedPlan
  }

  private def scans(plan: SparkPlan): Seq[FileSourceScanExec] = collect(plan) {
    case s: FileSourceScanExec if isFact(s.tableIdentifier.map(_.table)) => s
  }

  private def rowsRead(plan: SparkPlan): Long = scans(plan).map(_.metrics("numOutputRows").value).sum

  private def reused(plan: SparkPlan): Int = collect(plan) { case r: ReusedExchangeExec => r }.size

  private def check(sql: String, expected: Int): Unit = {
    assert(ranges(sql) == expected, s"$sql: ${traced(sql)._2.groups.map(_.reason)}")
    sameAnswer(sql, reorders = false)
  }

  private def sums(where: String) =
    s"SELECT d.month, f.item, sum(f.id) AS total FROM fact f JOIN days d ON f.day = d.day $where GROUP BY d.month, f.item"

  test("two copies, each with its own days: both scans skip row groups") {
    val sql = s"WITH m AS (${sums("")}) SELECT count(*), sum(a.total), sum(b.total) FROM m a JOIN m b " +
      "ON a.item = b.item WHERE a.month = 3 AND b.month = 9"
    inBoth {
      check(sql, 2)
      assert(dovetail(on = false)(rowsRead(ran(sql))) == 80000L)
      assert(rowsRead(ran(sql)) < 16000L)
      withConf(DovetailConf.ReducersRanges.key -> "false")(assert(ranges(sql) == 0))
    }
  }

  test("equal copies get equal ranges, and Spark computes them once, also below a join that may fail") {
    for (key <- Seq("b.item", "b.item + 1")) {
      val sql =
        s"WITH m AS (${sums("WHERE d.month = 3")}) SELECT count(*), sum(a.total), sum(b.total) FROM m a JOIN m b " +
          s"ON a.item = $key"
      inBoth {
        check(sql, 2)
        val plain = withConf(DovetailConf.ReducersRanges.key -> "false")(ran(sql))
        val plan  = ran(sql)
        assert(reused(plain) > 0 && reused(plan) == reused(plain), plan)
        assert(scans(plan).size == 1 && rowsRead(plan) < 8000L, plan)
      }
    }
  }

  test("many equal copies count once against the limit of ranges") {
    val sql = Seq.fill(25)(s"SELECT sum(total) FROM (${sums("WHERE d.month = 3")})").mkString(" UNION ALL ")
    inBoth {
      check(sql, 25)
      assert(scans(ran(sql)).size == 1)
    }
  }

  test("a source that is broadcast together with its neighbor, after they are joined, gives no range to copies") {
    def part(weeks: String) = "SELECT f.item, sum(f.id) AS total FROM fact f JOIN days d ON f.day = d.day " +
      s"JOIN weeks w ON d.week = w.week WHERE w.week BETWEEN $weeks GROUP BY f.item"
    inBoth(check(
      s"SELECT count(*), sum(a.total + b.total) FROM (${part("10 AND 11")}) a JOIN (${part("20 AND 22")}) b " +
        "ON a.item = b.item",
      0
    ))
  }

  test("a copy whose source is joined only after an exchange gets no range") {
    // the days are joined with one of the two copies
    val sql = "SELECT count(*), sum(f.item + g.item) FROM fact f JOIN fact g ON f.id = g.id AND f.day = g.day " +
      "JOIN days d ON f.day = d.day WHERE d.month = 3"
    inBoth(check(sql, 1))
  }

  test("a copy that may be equal to one below a LIMIT, in a subquery, or in a place that Dovetail leaves alone") {
    // Spark adds no further predicates to one of the copies
    def part(month: Int) = "SELECT f.id, f.item FROM fact f JOIN days d ON f.day = d.day " +
      s"WHERE d.month = $month AND f.id >= 0 AND f.item >= 0"
    def joined(b: String)    = s"SELECT count(*) FROM (${part(3)}) a JOIN ($b) b ON a.id = b.id AND a.item = b.item"
    def limited(month: Int)  = joined(s"${part(month)} LIMIT 20000")
    def sampled(month: Int)  = joined(s"SELECT * FROM (${part(month)}) WHERE rand(3) < 0.9")
    def subquery(month: Int) =
      s"SELECT sum(a.id), sum(b.id), (SELECT max(id) + max(item) FROM (${part(month)})) AS m " +
        s"FROM (${part(3)}) a JOIN (${part(4)}) b ON a.item = b.item"
    inBoth {
      check(sampled(3), 0)
      check(sampled(5), 1)
      check(limited(3), 0)
      check(limited(5), 1)
      // the other copy keeps its range
      check(subquery(3), 1)
      check(subquery(5), 2)
    }
  }

  test("copies whose partitions are pruned by another table: both kinds of pruning, and the same broadcasts") {
    def part(month: Int) = "SELECT f.item, sum(f.id) AS total FROM parted f JOIN days d ON f.day = d.day " +
      s"JOIN kinds k ON f.kind = k.kind WHERE d.month = $month AND k.label = 'k1' GROUP BY f.item"
    def pruned(plan: SparkPlan) = scans(plan).map(_.partitionFilters.count(_.exists(_.isInstanceOf[DynamicPruning])))
    for (other <- Seq(3, 5)) inBoth {
      val sql =
        s"SELECT count(*), sum(a.total + b.total) FROM (${part(3)}) a JOIN (${part(other)}) b ON a.item = b.item"
      check(sql, 2)
      val plain = withConf(DovetailConf.ReducersRanges.key -> "false")(ran(sql))
      val plan  = ran(sql)
      assert(pruned(plan) == pruned(plain) && pruned(plan).forall(_ == 1), plan)
      assert(reused(plan) == reused(plain) && scans(plan).size == (if (other == 3) 1 else 2), plan)
    }
  }
}
