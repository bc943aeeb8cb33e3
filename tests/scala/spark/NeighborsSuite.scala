package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.dovetail.log.QueryLog
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * Reordered queries together with other features of Spark: pushdown, pruning, writes, data source V2, caches, views,
 * subqueries.
 */
class NeighborsSuite extends StarSuite {
  private val from = "FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1 AND f.v > 10"
  private val star = s"SELECT f.v, a.w, b.s $from"

  // pushdown and pruning

  /** Columns and filters that each scan asks for, without the order of the joins. */
  private def scans(plan: SparkPlan): Seq[String] = plan.collectLeaves().flatMap {
    case s: FileSourceScanExec =>
      Some(
        s"${s.tableIdentifier.map(_.table)} ${s.requiredSchema.fieldNames.sorted.toSeq} " +
          s"${s.metadata.get("PushedFilters").map(_.split(", ").sorted.toSeq)}"
      )
    case s: BatchScanExec => Some(
        s"${s.scan.readSchema().fieldNames.sorted.toSeq} " +
          "PushedFilters: \\[[^\\]]*\\]".r.findFirstIn(s.scan.description()).map(_.split("[\\[,\\]] ?").sorted.toSeq)
      )
    case _ => None
  }.sorted

  private def samePushdown(sql: String): Unit = withConf("spark.sql.adaptive.enabled" -> "false") {
    assert(reordered(sql))
    val (plain, ours) = (dovetail(on = false)(scans(physical(sql))), scans(physical(sql)))
    assert(plain.nonEmpty && ours == plain)
  }

  test("columns are pruned and filters pushed down as without Dovetail") {
    Seq(
      star,
      s"SELECT count(*) $from",
      s"SELECT max(b.s) $from GROUP BY a.w",
      s"SELECT f.v $from AND EXISTS (SELECT 1 FROM a a2 WHERE a2.w = b.w AND a2.s > 'a1')"
    ).foreach(samePushdown)
  }

  test("columns that only a join needs go no further than that join") {
    val widest = optimized(s"SELECT count(*) $from").collect { case j: Join => j.children.map(_.output.size).max }.max
    assert(widest <= 3, "three keys at most")
  }

  test("dynamic partition pruning is still planned") {
    val sql =
      "SELECT p.v, a.w, b.s, c.s FROM p JOIN a ON p.k1 = a.k JOIN b ON p.k2 = b.k JOIN c ON p.k3 = c.k WHERE c.w = 1 " +
        "AND c.s <> 'c7'"
    def pruned: Boolean = physical(sql).treeString.contains("dynamicpruning")
    assert(reordered(sql))
    assert(dovetail(on = false)(pruned) && pruned)
    sameAnswer(sql)
  }

  test("partitions pruned by a constant are gone before the group is sized") {
    val sql   = "SELECT count(*) FROM a JOIN p ON p.k1 = a.k JOIN b ON p.k2 = b.k WHERE p.k3 = 3"
    val trace = traced(sql)._2
    val rows  = trace.groups.head.relations.find(_.name == "p").flatMap(_.rows).get
    assert(rows.value < 5000.0 / 2, "p has 20 partitions of 250 rows")
    sameAnswer(sql, reorders = false)
  }

  test("data source V2") {
    val tables = Seq("f", "a", "b", "c")
    withDirectory { directory =>
      withTables(tables.map("v2_" + _): _*) {
        withConf("spark.sql.sources.useV1SourceList" -> "") {
          tables.foreach { t =>
            spark.table(t).write.parquet(directory.resolve(t).toString)
            spark.read.parquet(directory.resolve(t).toString).createOrReplaceTempView(s"v2_$t")
          }
          val v2 = tables.foldLeft(star)((sql, t) => sql.replaceFirst(s"(FROM|JOIN) $t ", s"$$1 v2_$t $t "))
          samePushdown(v2)
          withConf(
            "spark.sql.adaptive.enabled" -> "false"
          )(assert(physical(v2).collectLeaves().forall(_.isInstanceOf[BatchScanExec])))
          sameAnswer(v2)
          assert(answer(v2) == answer(star))
        }
      }
    }
  }

  // writes

  private def sameTable(write: String => Unit): Unit = withTables("plain", "ours") {
    dovetail(on = false)(write("plain"))
    write("ours")
    assert(answer("SELECT * FROM plain").nonEmpty && answer("SELECT * FROM ours") == answer("SELECT * FROM plain"))
  }

  test("CREATE TABLE AS SELECT, INSERT, INSERT OVERWRITE of a partition, with joins") {
    sameTable(t => spark.sql(s"CREATE TABLE $t USING parquet AS $star"))
    sameTable { t =>
      spark.sql(s"CREATE TABLE $t (v INT, s STRING, w INT) USING parquet PARTITIONED BY (w)")
      spark.sql(s"INSERT INTO $t SELECT f.v, b.s, a.w $from")
      spark.sql(s"INSERT OVERWRITE $t PARTITION (w = 1) SELECT f.v + 1, b.s $from AND a.w = 1")
      spark.sql(s"INSERT INTO $t SELECT f.v, b.s, a.w $from DISTRIBUTE BY w SORT BY v")
      ()
    }
    sameTable(t => spark.sql(star).write.format("json").partitionBy("w").saveAsTable(t))
  }

  test("a connector builds one write for a statement, with a new order and without") {
    for (query <- Seq(star, s"SELECT /*+ DOVETAIL_OFF */ f.v, a.w, b.s $from")) {
      CountedWrites.built.set(0)
      spark.sql(query).write.format(classOf[CountedWrites].getName).mode("append").save()
      assert(CountedWrites.built.get == 1, query)
    }
  }

  test("what is written is planned with the order that is explained") {
    withTables("sink") {
      spark.sql("CREATE TABLE sink (v INT, w INT, s STRING) USING parquet")
      val report = spark.sql(
        s"SELECT * FROM dovetail_explain('${s"INSERT INTO sink $star".replace("'", "\\'")}')"
      ).head().getString(0)
      assert(report.contains("reordered"))
      assert(spark.table("sink").count() == 0, "explaining an INSERT inserted")
      val expected = dovetail(on = false)(answer(star))
      spark.sql(s"INSERT INTO sink $star")
      assert(answer("SELECT * FROM sink") == expected)
    }
  }

  // caches and views

  test("cached relations, exact row counts") {
    spark.sql("CACHE TABLE small AS SELECT * FROM c WHERE w = 1")
    try {
      val sql   = "SELECT f.v, a.w, b.s FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN small ON f.k3 = small.k"
      val group = traced(sql)._2.groups.head
      val rows  = group.relations.find(_.name == "small").flatMap(_.rows).get
      assert(rows.value == 2.0 && rows.source.name == "exact")
      sameAnswer(sql)
    } finally { spark.sql("UNCACHE TABLE small"); withTables("small")(()) }
  }

  test("a cached join is used as it is, and what is joined with it is reordered") {
    val joined = spark.sql("SELECT f.k1, f.k3, b.s FROM f JOIN b ON f.k2 = b.k")
    joined.createOrReplaceTempView("joined")
    joined.cache()
    try sameAnswer("SELECT j.s, a.w, c.s FROM joined j JOIN a ON j.k1 = a.k JOIN c ON j.k3 = c.k WHERE c.w = 1")
    finally { joined.unpersist(); withTables("joined")(()) }
  }

  test("views") {
    withTables("late", "wide") {
      spark.sql("CREATE VIEW wide AS SELECT f.v, f.k3, a.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k")
      spark.sql(
        "CREATE TEMPORARY VIEW late AS SELECT wide.v, wide.w, c.s FROM wide JOIN c ON wide.k3 = c.k WHERE c.w = 1"
      )
      sameAnswer("SELECT * FROM late")
      sameAnswer("SELECT x.v FROM late x JOIN late y ON x.v = y.v JOIN wide z ON z.w = y.w AND z.v = x.v")
    }
  }

  // subqueries, aggregates

  test("joins inside of subqueries of every kind") {
    Seq(
      s"SELECT a.w, (SELECT max(f.v) $from) FROM a",
      "SELECT a.w, (SELECT count(*) FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1 AND f.k1 = a.k) " +
        "FROM a WHERE a.w < 5",
      "SELECT a.w FROM a WHERE EXISTS (SELECT 1 FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1 AND " +
        "f.k1 = a.k)",
      "SELECT a.w FROM a WHERE a.k NOT IN (SELECT f.k1 FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1)",
      "SELECT a.w, s.n FROM a, LATERAL (SELECT count(*) AS n FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE " +
        "c.w = 1 AND f.k1 = a.k) s",
      "SELECT a.w, s.v FROM a, LATERAL (SELECT f.v FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1 " +
        "AND f.k1 = a.k) s",
      "SELECT a.w FROM a WHERE a.w IN (SELECT f.v % 10 FROM f JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = " +
        "1) OR a.k = 3"
    ).foreach(sameAnswer(_))
  }

  test("grouping, DISTINCT, windows, rollup, pivot, ORDER BY ... LIMIT over joins") {
    Seq(
      s"SELECT a.w, count(DISTINCT f.v), sum(f.v) $from GROUP BY a.w HAVING count(*) > 3",
      s"SELECT DISTINCT a.w, b.w $from",
      s"SELECT f.v, rank() OVER (PARTITION BY a.w ORDER BY f.v) $from",
      s"SELECT a.w, b.w, sum(f.v) $from GROUP BY ROLLUP (a.w, b.w)",
      s"SELECT * FROM (SELECT a.w, b.w AS x, f.v $from) PIVOT (sum(v) FOR x IN (1, 2, 3))",
      s"SELECT f.v, a.s, b.s $from ORDER BY 1, 2, 3 LIMIT 7",
      s"$star UNION ALL $star",
      s"SELECT v FROM ($star) EXCEPT SELECT k FROM a"
    ).foreach(sameAnswer(_))
  }

  test("DataFrames: dropDuplicates, chained joins, self joins, USING") {
    def rows(on: Boolean): Seq[String] = dovetail(on) {
      val (f, a, b, c) = (spark.table("f"), spark.table("a"), spark.table("b"), spark.table("c"))
      val joined       = f.join(
        a.withColumnRenamed("k", "k1"),
        "k1"
      ).join(
        b.withColumnRenamed("k", "k2").select("k2", "s"),
        "k2"
      ).join(c.withColumnRenamed("k", "k3").filter("w = 1").select("k3"), "k3")
      if (on) assert(PlanText(joined.queryExecution.optimizedPlan) != dovetail(on =
        false
      )(PlanText(joined.select("*").queryExecution.optimizedPlan)))
      DovetailSuite.sorted(joined.select("k1", "k2", "v", "w").dropDuplicates("k1", "k2", "v", "w").collect()) ++
        DovetailSuite.sorted(joined.as("l").join(joined.as("r"), "v").selectExpr("v", "l.k1", "r.k2").collect())
    }
    assert(rows(on = true) == rows(on = false))
  }

  test("generators, explode in between") {
    sameAnswer(
      "SELECT e, b.s FROM (SELECT f.k2, f.k3, f.k1, explode(array(f.v, f.v + 1)) e FROM f) x JOIN a ON x.k1 = a.k " +
        "JOIN b ON x.k2 = b.k JOIN c ON x.k3 = c.k WHERE c.w = 1"
    )
  }

  test("recursive common table expressions, where Spark has them") {
    assume(spark.version >= "4.1")
    val sql =
      """WITH RECURSIVE r(k, n) AS (
                |  SELECT a.k, 0 FROM f JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE c.w = 1 AND a.k < 5 AND f.v < 20
                |  UNION ALL SELECT a.k, r.n + 1 FROM r JOIN a ON r.k + 1 = a.k JOIN b ON b.k = a.k JOIN c ON c.k = b.w
                |    WHERE r.n < 3 AND c.w = 1)
                |SELECT k, n FROM r""".stripMargin
    sameAnswer(sql, reorders = false)
    // what is known of a step when the query is planned is nothing
    val groups = withoutIdempotenceCheck(traced(sql)._2.groups)
    assert(groups.exists(_.reason.contains("plans each step of a recursive query by itself")), groups)
    def logged = QueryLog(spark).all.lastOption.fold(0L)(_.id)
    val before = logged
    spark.sql(sql).collect()
    // each of the steps would be logged twice
    assert(logged - before <= 2L, "the steps are no queries of the user")
  }

  test("hints that name no strategy of a join leave it free") {
    val sql = s"SELECT /*+ REPARTITION(3) */ f.v $from"
    sameAnswer(sql)
    sameAnswer(s"SELECT /*+ COALESCE(1) */ f.v, a.s $from")
  }

  test("a user's broadcast hint reaches the physical plan") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "false") {
      val sql                = s"SELECT /*+ BROADCAST(b) */ f.v $from"
      def joins: Seq[String] = physical(sql).collect { case p if p.nodeName.endsWith("Join") => p.nodeName }.sorted
      assert(joins.count(_ == "BroadcastHashJoin") == 1 && joins == dovetail(on = false)(joins))
      sameAnswer(sql, reorders = false)
    }
  }

  test("another session makes the same plan") {
    val other             = spark.newSession()
    val plan: LogicalPlan = other.sql(star).queryExecution.optimizedPlan
    assert(PlanText(plan) == PlanText(optimized(star)))
  }

  test("the scans of connectors are built once, whether the plan changes or not") {
    def connector(rows: Int) = spark.read.format(classOf[ReportingSource].getName)
      .options(Map("rows" -> rows.toString, "distinct" -> "200", "min" -> "0", "max" -> "199")).load()
    Seq("ca" -> 1000, "cb" -> 100000, "cc" -> 10).foreach { case (name, n) =>
      connector(n).createOrReplaceTempView(name)
    }
    val sql = "SELECT count(*) FROM ca JOIN cb ON ca.k = cb.k JOIN cc ON cb.v = cc.v WHERE cc.k < 7"
    def built(text: String): Int = {
      val before = ReportingSource.scans.get
      answer(text)
      ReportingSource.scans.get - before
    }
    try {
      val expected = dovetail(on = false)(built(sql))
      assert(expected == 3)
      // to tell the sizes of a single join, Spark would build two more scans, without the query's filters
      val two = "SELECT count(*) FROM ca JOIN cb ON ca.k = cb.k WHERE ca.v < 7"
      withoutIdempotenceCheck(for (on <- Seq(false, true)) assert(dovetail(on)(built(two)) == 2, on))
      for (text <- Seq(sql, sql.replace("SELECT", "SELECT /*+ DOVETAIL_OFF */"), sql.replace("count(*)", "rand(3)")))
        withoutIdempotenceCheck(assert(dovetail(on = true)(built(text)) == expected, text))
    } finally Seq("ca", "cb", "cc").foreach(spark.catalog.dropTempView)
  }
}
