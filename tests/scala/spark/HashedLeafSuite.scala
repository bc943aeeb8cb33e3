package org.apache.spark.sql.dovetail

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.dovetail.leaf.HashedLeaf
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/** Inputs that are partitioned before any join: bucketed tables, groupings, windows, `repartition`, cached results. */
class HashedLeafSuite extends DovetailSuite with ExchangeCounts {
  override def beforeAll(): Unit = {
    super.beforeAll()
    table("ledger", "SELECT id AS k, id % 900 AS b, id AS v FROM range(30000)", "CLUSTERED BY (k) INTO 4 BUCKETS")
    table("receipt", "SELECT id AS k, id % 7 AS w FROM range(30000)", "CLUSTERED BY (k) INTO 4 BUCKETS")
    table("branch", "SELECT id AS b, id % 3 AS town FROM range(900)")
    tables.foreach(t => spark.sql(s"DOVETAIL ANALYZE TABLE $t").collect())
  }

  private def hashed(sql: String): Seq[String] =
    HashedLeaf(dovetail(on = false)(spark.sql(sql).queryExecution.optimizedPlan)).map(_.name)

  test("columns by whose hash an input is partitioned, as its output has them") {
    val cases = Seq(
      "SELECT * FROM ledger"                                                -> Seq("k"),
      "SELECT k AS key, v FROM ledger WHERE v > 7"                          -> Seq("key"),
      "SELECT v FROM ledger"                                                -> Nil,
      "SELECT k + 1 AS k FROM ledger"                                       -> Nil,
      "SELECT * FROM branch"                                                -> Nil,
      "SELECT b AS place, count(*) AS n FROM ledger GROUP BY b"             -> Seq("place"),
      "SELECT count(*) AS n FROM ledger GROUP BY b"                         -> Nil,
      "SELECT b, v, count(*) AS n FROM ledger GROUP BY b, v"                -> Nil,
      "SELECT b % 5 AS five, count(*) AS n FROM ledger GROUP BY b % 5"      -> Seq("five"),
      "SELECT DISTINCT b FROM ledger"                                       -> Seq("b"),
      "SELECT b, row_number() OVER (PARTITION BY b ORDER BY v) FROM ledger" -> Seq("b"),
      "SELECT /*+ REPARTITION(b, v) */ * FROM ledger"                       -> Seq("b", "v"),
      "SELECT /*+ REPARTITION_BY_RANGE(b) */ * FROM ledger"                 -> Nil,
      "SELECT * FROM ledger LIMIT 9"                                        -> Nil
    )
    for ((sql, columns) <- cases) assert(hashed(sql) == columns, sql)
    withConf("spark.sql.sources.bucketing.enabled" -> "false")(assert(hashed("SELECT * FROM ledger") == Nil))
  }

  test("a cached result, as Spark's scan of the cache sees it: adaptive execution may have coalesced its partitions") {
    val query = "SELECT b, sum(v) AS s FROM ledger GROUP BY b"
    for (adaptive <- Seq("false", "true"); coalesces <- Seq("false", "true"))
      withConf(
        "spark.sql.adaptive.enabled"                             -> adaptive,
        "spark.sql.adaptive.coalescePartitions.enabled"          -> coalesces,
        "spark.sql.adaptive.coalescePartitions.parallelismFirst" -> "false"
      ) {
        val cached = spark.sql(query).cache()
        try {
          cached.count()
          val hashes = dovetail(on = false)(spark.sql(query).queryExecution.sparkPlan).collectFirst {
            case s: InMemoryTableScanExec => s.outputPartitioning.isInstanceOf[HashPartitioning]
          }.get
          assert(hashes || adaptive == "true")
          assert(hashed(query) == (if (hashes) Seq("b") else Nil), s"adaptive: $adaptive, coalesces: $coalesces")
        } finally { cached.unpersist(blocking = true); () }
      }
  }

  test("a cached result keeps the partitions that the user asked for, also under adaptive execution") {
    val query = "SELECT /*+ REPARTITION(8, b) */ * FROM ledger"
    withConf("spark.sql.adaptive.enabled" -> "true") {
      val cached = spark.sql(query).cache()
      try {
        cached.count()
        assert(hashed(query) == Seq("b"))
      } finally { cached.unpersist(); () }
    }
  }

  /** Costs of the exchanges of a query's joins in the order that is taken. */
  private def costs(sql: String): Seq[Double] = {
    val report = spark.sql("SELECT * FROM dovetail_explain(\"" + sql + "\", 'json')").head().getString(0)
    val group  = new ObjectMapper().readTree(report).at("/groups/0")
    val joins  = Seq("/after/joins", "/before/joins").map(group.at(_)).find(_.size > 0).get
    (0 until joins.size).map(joins.get(_).at("/cost/exchange").asDouble)
  }

  test("bucketed tables are joined by their buckets before their rows are exchanged for another join") {
    withConf(sortMerge: _*) {
      // as written, ledger is exchanged twice
      val sql = "SELECT count(*), sum(v) FROM ledger JOIN branch ON ledger.b = branch.b " +
        "JOIN receipt ON ledger.k = receipt.k"
      assert(dovetail(on = false)(exchanges(sql)) == 4, "both tables by branch, their join by key, and the sums")
      assert(exchanges(sql) == 3, "the join of the buckets is exchanged, branch, and the sums")
      assert(costs(sql).head == 0.0, told(costs(sql)))
      sameAnswer(sql)
    }
  }

  test("tables that connectors have partitioned are joined without an exchange, but only with one another") {
    def reader(partitioned: Boolean) = spark.read.format(classOf[ReportingSource].getName)
      .options(Map("rows" -> "1000000", "bytes" -> "50000000", "distinct" -> "1000000", "max" -> "999999"))
      .option("partitioned", partitioned.toString)
    val views = Map("one" -> true, "two" -> true, "other" -> false)
    views.foreach { case (name, partitioned) => reader(partitioned).load().createOrReplaceTempView(name) }
    val on = "spark.sql.sources.v2.bucketing.enabled" -> "true"
    try {
      withConf(on)(assert(Seq("one", "other").map(t => hashed(s"SELECT * FROM $t")) == Seq(Seq("k"), Nil)))
      withConf(on)(assert(hashed("SELECT v, k AS key FROM one WHERE v > 7") == Seq("key")))
      withConf(on._1 -> "false")(assert(hashed("SELECT * FROM one") == Nil))
      val pair = "SELECT count(*) FROM one JOIN two ON one.k = two.k JOIN other ON one.v = other.v"
      withConf(sortMerge :+ on: _*) {
        assert(costs(pair).contains(0.0), told(costs(pair)))
        val third = costs(pair.replace("one.v = other.v", "one.k = other.k"))
        assert(third.nonEmpty && third.forall(_ > 0.0), third)
      }
    } finally views.keys.foreach(spark.catalog.dropTempView)
  }

  test("a grouping is joined by its key without another exchange; a key that is computed from it needs one") {
    withConf(sortMerge: _*) {
      val grouped = "(SELECT k, max(b) AS v FROM ledger GROUP BY k)"
      val sql     = s"SELECT count(*) FROM receipt JOIN $grouped g ON receipt.k = g.k JOIN branch ON g.v = branch.b"
      assert(costs(sql).head == 0.0, told(costs(sql)))
      sameAnswer(sql, reorders = false)
      val computed = sql.replace("receipt.k = g.k", "receipt.k = g.k & 65535")
      assert(costs(computed).forall(_ > 0.0), told(costs(computed)))
      sameAnswer(computed, reorders = false)
    }
  }
}
