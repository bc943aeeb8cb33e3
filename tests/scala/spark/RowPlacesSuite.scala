package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.Tail
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.functions._
import org.apache.spark.sql.{DataFrame, Encoders, Observation}

/**
 * Operators whose results depend on the place of their input rows keep the joins below them as written: files, row
 * numbers, samples. So do inputs that collect metrics, and orders whose first rows a LIMIT gets for less.
 */
class RowPlacesSuite extends StarSuite {
  private val joined =
    "SELECT f.v, f.k1, f.k2 FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def reasons(sql: String): Seq[String] = traced(sql)._2.groups.map(_.reason)

  test("row numbers, random numbers and samples of joined rows: the joins stay as written, and explain says why") {
    assert(reordered(joined))
    Seq(
      s"SELECT v, monotonically_increasing_id() FROM ($joined)"          -> "monotonically_increasing_id()",
      s"SELECT v, spark_partition_id() FROM ($joined)"                   -> "spark_partition_id()",
      s"SELECT v, rand(5) FROM ($joined)"                                -> "rand()",
      s"SELECT count(*) FROM ($joined) WHERE rand(3) < 0.5"              -> "rand()",
      s"SELECT * FROM ($joined) TABLESAMPLE (50 PERCENT) REPEATABLE (7)" -> "a sample of joined rows",
      s"SELECT k1, count(*), uuid() FROM ($joined) GROUP BY k1"          -> "uuid()"
    ).foreach { case (sql, why) =>
      assert(!reordered(sql) && reasons(sql).exists(_.contains(why)), s"$sql: ${reasons(sql)}")
    }
    sameAnswer(s"SELECT v, monotonically_increasing_id() FROM ($joined)", reorders = false)
    sameAnswer(s"SELECT * FROM ($joined) TABLESAMPLE (50 PERCENT) REPEATABLE (7)", reorders = false)
  }

  test("a column that doubles with each projection is not written out, to find out whether a LIMIT may stop") {
    val grown = (1 to 60).foldLeft(spark.sql(s"SELECT v, CAST(k1 AS STRING) AS name FROM ($joined)"))((frame, i) =>
      frame.withColumn("name", when(col("name") === s"n$i", s"m$i").otherwise(col("name")))
    )
    // a second thread would go on with it
    val plan = grown.groupBy("name").count().limit(5).queryExecution.optimizedPlan
    assert(plan.collectLeaves().size >= 4)
  }

  test("inputs with such expressions, and other branches of the query, do not keep a group from being reordered") {
    val numbered = joined.replace("FROM f JOIN", "FROM (SELECT *, monotonically_increasing_id() AS n FROM f) f JOIN")
    assert(reordered(numbered))
    assert(reordered(s"SELECT v, rand(5) FROM f UNION ALL SELECT v, 1.0 FROM ($joined)"))
    assert(reordered(joined.replace("FROM f JOIN", "FROM f TABLESAMPLE (90 PERCENT) REPEATABLE (3) JOIN")))
  }

  test("the file that is being read: the input from files stays streamed") {
    withDirectory { d =>
      val path = d.resolve("facts").toString
      spark.range(100000).selectExpr("id", "CAST(id % 5000 AS INT) AS k1", "id * 5 % 500000 AS k2")
        .repartition(3).write.parquet(path)
      def files(): Set[String] = {
        val few    = spark.sql("SELECT * FROM VALUES (1), (2), (3) AS t(k)")
        val many   = spark.range(500000).withColumnRenamed("id", "m")
        val facts  = spark.read.parquet(path)
        val joined = facts.join(few, col("k1") === col("k")).join(many, col("k2") === col("m"))
        joined.select(input_file_name()).collect().map(_.getString(0)).toSet
      }
      withConf("spark.dovetail.reorder.minGain" -> "0") {
        val expected = dovetail(on = false)(files())
        assert(expected.size == 3 && dovetail(on = true)(files()) == expected)
      }
    }
  }

  test("the parts of a random split are disjoint and complete, whatever is learned between them") {
    def numbers(part: DataFrame) = part.collect().map(_.getLong(0)).toVector
    withConf("spark.dovetail.history.enabled" -> "true", "spark.dovetail.reorder.minGain" -> "0") {
      val numbered = joined.replace("SELECT f.v, f.k1, f.k2", "SELECT hash(f.t) + f.v * 10000000000 AS id")
      val parts    = spark.sql(numbered).randomSplit(Array(0.5, 0.5), seed = 11).toVector.map(numbers)
      assert(parts.flatten.sorted == numbers(spark.sql(numbered)).sorted && parts.forall(_.nonEmpty))
      assert(Trace.collecting(
        spark.sql(numbered).randomSplit(Array(0.5, 0.5), seed = 11).head.queryExecution.optimizedPlan
      )._2.groups.forall(_.status != "reordered"))
    }
  }

  test("an observed input is read as Spark reads it: its metrics arrive") {
    withConf("spark.dovetail.reorder.minGain" -> "0", "spark.dovetail.sample.enabled" -> "false") {
      // b and c have no pair with w = 11, so an order that joins them first would never read f
      def rows(): Long = {
        val seen     = Observation("seen")
        val observed = spark.table("f").observe(seen, count(lit(1)).as("n"))
        val b        = spark.table("b").withColumnRenamed("w", "bw")
        val c        = spark.table("c").where("w > 8").withColumnRenamed("k", "ck")
        observed.join(b, col("k2") === col("k")).join(c, col("ck") === col("bw") + 100).select("v").collect()
        seen.get("n").asInstanceOf[Long]
      }
      assert(dovetail(on = false)(rows()) == 5000 && dovetail(on = true)(rows()) == 5000)
    }
  }

  test("joins below a join with an observed input stay as written, but not those whose rows are observed") {
    val counted                  = count(lit(1)).as("n")
    def groups(frame: DataFrame) = Trace.collecting(frame.queryExecution.optimizedPlan)._2.groups
    def keys                     = spark.table("a").select(col("k").as("ak"))
    val on                       = col("k1") === col("ak")
    // a hinted join is no part of a group, and neither is one whose condition may throw
    val throws = udf((i: Int, j: Int) => i == j).apply(col("k1"), col("ak"))
    for (condition <- Seq(on, on && throws)) {
      assert(groups(spark.sql(joined).join(broadcast(keys), condition)).exists(_.status == "reordered"))
      val beside = groups(spark.sql(joined).join(broadcast(keys.observe(Observation(), counted)), condition))
      assert(beside.map(_.reason).distinct == Seq("the metrics of an observed input need all of its rows"), beside)
    }
    val below = spark.sql(joined).observe(Observation(), counted).join(broadcast(keys), on)
    assert(groups(below).exists(_.status == "reordered"), groups(below))
  }

  test("a sample of a table with buckets: its partitions depend on the joins above, so these stay as written") {
    withTables("bucketed") {
      spark.sql("CREATE TABLE bucketed USING parquet CLUSTERED BY (k1) INTO 3 BUCKETS AS SELECT * FROM f")
      val over  = joined.replace("FROM f JOIN", "FROM bucketed f JOIN")
      val drawn = over.replace("bucketed f", "(SELECT * FROM bucketed WHERE rand(3) < 0.9) f")
      val part  = over.replace("bucketed f", "bucketed TABLESAMPLE (90 PERCENT) REPEATABLE (3) f")
      assert(reordered(over))
      for (sql <- Seq(drawn, part)) {
        assert(!reordered(sql) && reasons(sql).exists(_.contains("reads a table by its buckets")), reasons(sql))
        withConf("spark.sql.sources.bucketing.enabled" -> "false")(assert(reordered(sql), reasons(sql)))
      }
    }
  }

  test("LIMIT: an order whose first rows cost more than those of the written order is not taken") {
    withDirectory { d =>
      val path = d.resolve("facts").toString
      spark.range(100000).selectExpr("id", "CAST(id % 500 AS INT) AS k1", "id * 5 % 30000 AS k2")
        .repartition(4).write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView("facts")
      try
        withConf("spark.dovetail.reorder.minGain" -> "0") {
          val all = "SELECT facts.id FROM facts JOIN (VALUES (1), (2), (3)) t(k) ON facts.k1 = t.k " +
            "JOIN range(30000) many ON facts.k2 = many.id"
          // the other way: the joined facts are broadcast, and the range is streamed
          def taken(sql: String) = reasons(sql).exists(_.contains("with other broadcasts saves"))
          assert(taken(all), reasons(all))
          Seq(
            s"$all LIMIT 2",
            s"$all LIMIT 2 OFFSET 3",
            s"SELECT id & 1 FROM ($all) LIMIT 2",
            s"($all) UNION ALL ($all) LIMIT 3",
            // a join with a hint is in no group, and streams the other rows
            s"SELECT /*+ BROADCAST(few) */ * FROM ($all) q JOIN (VALUES (1), (2)) few(n) ON q.id = few.n LIMIT 2"
          ).foreach {
            sql =>
              assert(!taken(sql) && reasons(sql).exists(_.contains("the query needs only")), reasons(sql))
          }
          // all rows are needed
          Seq(
            s"$all ORDER BY facts.id LIMIT 2",
            s"SELECT count(*) FROM ($all) LIMIT 2",
            s"SELECT /*+ MERGE(few) */ * FROM ($all) q JOIN (VALUES (1), (2)) few(n) ON q.id = few.n LIMIT 2",
            s"SELECT /*+ BROADCAST(q) */ * FROM ($all) q JOIN range(9) few ON q.id = few.id LIMIT 2",
            s"$all LIMIT 100000000"
          ).foreach(sql => assert(taken(sql), sql))
        }
      finally { spark.catalog.dropTempView("facts"); () }
    }
    // this order streams the fact table, too
    assert(reordered(s"$joined LIMIT 5"))
  }

  test("LIMIT, semi joins: where an expression may fail on rows after the first ones, these come as in plain Spark") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val why = "a LIMIT ends the query before all rows are read"
      for (
        sql <- Seq(s"SELECT 100 / (v - 3) FROM ($joined) LIMIT 5", s"SELECT v FROM ($joined) WHERE 9 DIV v > 1 LIMIT 5")
      )
        assert(!reordered(sql) && reasons(sql).exists(_.contains(why)), s"$sql: ${reasons(sql)}")
      // operators that pass on one row after the other: coalesce, observe, functions on objects
      val divided = spark.sql(s"SELECT 100 / (v - 3) AS n FROM ($joined)")
      val objects = spark.sql(s"SELECT CAST(v AS BIGINT) AS n FROM ($joined)").as(Encoders.scalaLong)
      for (
        frame <- Seq(
          spark.sql(s"SELECT /*+ COALESCE(1) */ 100 / (v - 3) FROM ($joined) LIMIT 5"),
          divided.coalesce(1).limit(5),
          divided.observe(Observation("rows below a limit"), count(lit(1))).limit(5),
          divided.sortWithinPartitions("n").limit(5),
          objects.map((n: Long) => 100 / (n - 3))(Encoders.scalaLong).toDF("n").limit(5),
          objects.filter((n: Long) => 100 / (n - 3) > 1).toDF("n").limit(5)
        )
      ) {
        val told = Trace.collecting(frame.queryExecution.optimizedPlan)._2.groups.map(_.reason)
        assert(told.exists(_.contains(why)), s"$told: ${frame.queryExecution.optimizedPlan}")
      }
      // the rows are partitioned by k1 already, so they are grouped as the LIMIT asks for groups
      for (
        sql <- Seq(
          s"SELECT k1, sum(100 / (v - 3)) FROM ($joined) GROUP BY k1 LIMIT 5",
          s"SELECT DISTINCT k1, 100 / (v - 3) FROM ($joined) LIMIT 5",
          s"SELECT k1, sum(v) OVER (PARTITION BY k1 ORDER BY n) FROM (SELECT *, 100 / (v - 3) AS n FROM ($joined)) " +
            "LIMIT 5",
          s"SELECT 100 / (count(*) - 3) FROM ($joined) GROUP BY v LIMIT 5"
        )
      ) assert(!reordered(sql) && reasons(sql).exists(_.contains(why)), s"$sql: ${reasons(sql)}")
      val last = Tail(Literal(5), divided.queryExecution.analyzed)
      val told = Trace.collecting(spark.sessionState.executePlan(last).optimizedPlan)._2.groups.map(_.reason)
      assert(told.exists(_.contains(why)), told)
      // Spark removes the sort, because it is below a join
      for (rows <- Seq(s"SELECT k1, 100 / (v - 3) AS n FROM ($joined) ORDER BY v")) {
        val sql = s"SELECT x.n FROM (SELECT k1, n FROM ($rows) WHERE n > 1) x JOIN a ON x.k1 = a.k LIMIT 5"
        assert(!reordered(sql) && reasons(sql).exists(_.contains(why)), s"$sql: ${reasons(sql)}")
      }
      // a sort, a grouping by another column, and expressions that cannot fail
      for (
        sql <- Seq(
          s"SELECT 100 / (v + 3) FROM ($joined) ORDER BY v LIMIT 5",
          s"SELECT v, sum(100 / (k1 - 3)) FROM ($joined) GROUP BY v LIMIT 5",
          s"SELECT max(100 / (k1 - 3)) FROM ($joined) LIMIT 5",
          s"SELECT v FROM ($joined) LIMIT 1000000"
        )
      ) assert(reordered(sql), sql)
      def semi(condition: String) = s"SELECT a.k FROM a LEFT SEMI JOIN ($joined) j ON a.k = j.k1 AND $condition"
      assert(reordered(semi("a.k <> j.v")))
      assert(!reordered(semi("a.k / (j.v - 3) > 1")))
    }
  }

  test("an equality with a subquery keeps its join in its place, because a broadcast cannot have it as its key") {
    withTables("x", "y", "z", "t") {
      spark.sql("CREATE TABLE x USING parquet AS SELECT 1 AS k, CAST(id AS INT) AS j FROM range(50)")
      spark.sql("CREATE TABLE y USING parquet AS SELECT CASE WHEN id % 2 = 0 THEN 1 END AS k, " +
        "concat(sha2(CAST(id AS STRING), 512), sha2(CAST(id + 100 AS STRING), 512)) AS p FROM range(90)")
      spark.sql("CREATE TABLE z USING parquet AS SELECT CAST(id % 10000 AS INT) AS j, CAST(id % 97 AS INT) AS w " +
        "FROM range(50000)")
      spark.sql("CREATE TABLE t USING parquet AS SELECT CAST(id AS INT) AS m FROM range(2)")
      def query(key: String, where: String = "") = "SELECT count(*), max(y.p), sum(z.w) FROM x " +
        s"JOIN y ON x.k = $key JOIN z ON x.j = z.j $where"
      withConf("spark.dovetail.reorder.minGain" -> "0") {
        val key = "coalesce(y.k, (SELECT max(m) FROM t))"
        sameAnswer(query(key), reorders = false)
        assert(!reordered(query(key)))
        // a subquery elsewhere does not matter
        sameAnswer(query("coalesce(y.k, 1)", "WHERE z.w > (SELECT max(m) FROM t)"))
      }
    }
  }
}
