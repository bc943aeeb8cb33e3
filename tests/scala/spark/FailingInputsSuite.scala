package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, Filter}
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.dovetail.group.Preparation
import org.apache.spark.sql.dovetail.leaf.{FailingScan, SparkBroadcast}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Encoders, Row}

/**
 * What may fail when an input is read, although no expression of the plan shows it: an input of this kind is not read
 * where plain Spark does not read it ([[org.apache.spark.sql.dovetail.plan.SparedInputs]]).
 */
class FailingInputsSuite extends DovetailSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    for ((name, rows) <- Seq(("a", 20000), ("b", 50), ("c", 200), ("d", 20)))
      table(
        name,
        s"SELECT id, id % 50 AS k, id % 23 AS v, concat('s', id) AS s FROM range($rows)"
      )
  }

  /** Without adaptive execution, compiled code hears nothing of a broadcast above an empty one. */
  private def compiled[A](body: => A): A = planned(adaptive = false)(body)

  private def planned[A](adaptive: Boolean)(body: => A): A = withConf(
    "spark.sql.adaptive.enabled"     -> adaptive.toString,
    "spark.sql.codegen.wholeStage"   -> "true",
    "spark.sql.codegen.factoryMode"  -> "FALLBACK",
    "spark.sql.ansi.enabled"         -> "true",
    "spark.dovetail.reorder.minGain" -> "0"
  )(body)

  /** A condition of `b` that no row satisfies, which is not known while the query is planned. */
  private val never = "b.v > (SELECT max(id) + 1000 FROM d)"

  private val query =
    s"SELECT count(*) FROM a JOIN b ON a.k = b.k AND $never JOIN cc ON a.k = cc.k JOIN d ON cc.k = d.k"

  /** The same for an input that Spark takes for large: adaptive execution does not read it. */
  private val streamed =
    s"SELECT count(*) FROM b JOIN cc ON b.k = cc.k AND $never JOIN a ON a.k = cc.k JOIN d ON a.k = d.k"

  /** Asserts that `frame` is read only where plain Spark reads it. If it cannot fail, the order changes. */
  private def spared(frame: DataFrame, fails: Boolean, query: String = query): Unit = {
    frame.createOrReplaceTempView("cc")
    try planned(adaptive = query == streamed)(sameAnswer(query, reorders = !fails))
    finally { spark.catalog.dropTempView("cc"); () }
  }

  test("a cache that is not filled yet, by the plan that fills it") {
    def cached(sql: String)(body: DataFrame => Unit): Unit = compiled {
      val frame = spark.sql(sql).cache()
      try body(frame)
      finally { frame.unpersist(blocking = true); () }
    }
    cached("SELECT k, length(s) AS n FROM c WHERE id < 5")(spared(_, fails = false))
    cached("SELECT k, CAST(s AS INT) AS n FROM c WHERE id < 5")(spared(_, fails = true))
    // once it is filled, nothing is computed any more
    cached("SELECT k, CAST(substring(s, 2) AS INT) AS n FROM c WHERE id < 5") { frame =>
      frame.count()
      spared(frame, fails = false)
    }
    // a cache in a cache
    cached("SELECT k, CAST(s AS INT) AS n FROM c WHERE id < 5") { inner =>
      inner.createOrReplaceTempView("inner_cache")
      cached("SELECT k FROM inner_cache WHERE n IS NULL")(spared(_, fails = true))
      spark.catalog.dropTempView("inner_cache")
      ()
    }
  }

  test("an unfilled cache of an RDD's rows runs the program that makes them") {
    val rows  = spark.sparkContext.parallelize(0 until 50, 2).map(i => Row(i.toLong))
    val frame = spark.createDataFrame(rows, StructType.fromDDL("k BIGINT")).cache()
    def runs  = frame.queryExecution.withCachedData.collectLeaves().exists(FailingScan.runsProgram)
    try {
      assert(runs)
      frame.count()
      assert(!runs)
    } finally { frame.unpersist(blocking = true); () }
  }

  test("a function of a typed operation") {
    val numbers = spark.range(50).as(Encoders.scalaLong)
    spared(numbers.toDF("k"), fails = false)
    spared(numbers.map((i: Long) => 100L / (i - 7))(Encoders.scalaLong).toDF("k"), fails = true)
    spared(numbers.filter((i: Long) => 100L / (i - 7) > 1L).toDF("k"), fails = true)
    spared(
      numbers.mapPartitions((all: Iterator[Long]) => all.map(i => 100L / (i - 7)))(Encoders.scalaLong).toDF("k"),
      fails = true
    )
  }

  test("the conversion of a program's rows") {
    def frame(value: Any) = {
      val rows = spark.sparkContext.parallelize((0L until 50L).map(i => Row(i, if (i == 7L) value else "x")), 2)
      // this package lies under Spark's, so Spark does not find the caller by itself
      spark.sparkContext.setCallSite("createDataFrame at Program.scala:1")
      try spark.createDataFrame(rows, StructType.fromDDL("k BIGINT, s STRING"))
      finally spark.sparkContext.clearCallSite()
    }
    assert(
      frame(7).queryExecution.analyzed.collectLeaves().flatMap(FailingScan(_)) == Seq("the conversion of its rows")
    )
    spared(frame("y"), fails = false, streamed)
    spared(frame(7), fails = true, streamed)
  }

  test("an input of a join with a hint above the group, which the group spares") {
    def sql(value: String) =
      s"SELECT /*+ BROADCAST(x) */ count(*), sum(x.n) FROM a JOIN a b ON a.k = b.k AND $never JOIN d ON a.v = d.v " +
        s"JOIN (SELECT k, $value AS n FROM c) x ON a.k = x.k WHERE a.id = 7"
    def reasons(sql: String) = dovetail(on = true)(traced(sql)._2.groups.map(_.reason))
    compiled {
      val (safe, fails) = (sql("length(s)"), sql("CAST(s AS INT)"))
      sameAnswer(safe, reorders = false)
      assert(reasons(safe).exists(_.contains("saves ")), reasons(safe))
      sameAnswer(fails, reorders = false)
      assert(reasons(fails).exists(_.contains("reading c may fail in ")), reasons(fails))
    }
  }

  test("a predicate that a database computes: comparisons of columns and constants do not fail, others may") {
    def pushed(condition: String) = compiled {
      val filter: Expression =
        spark.sql(s"SELECT * FROM c WHERE $condition").queryExecution.optimizedPlan.collectFirst {
          case f: Filter => f.condition
        }.get
      new V2ExpressionBuilder(filter, true).build().get
    }
    for (total <- Seq("k > 2 AND (v = 3 OR NOT v <= 1)", "k IN (1, 2) AND s LIKE 'a%'", "s IS NULL AND s <=> 'a'"))
      assert(!FailingScan.computes(pushed(total)), pushed(total))
    for (fails <- Seq("k / v > 2", "k + v > 2", "CAST(s AS BIGINT) = 1", "v = 1 OR abs(k) > 1"))
      assert(FailingScan.computes(pushed(fails)), pushed(fails))
  }

  test("a common table expression that is not copied has a size, by which Spark decides on its broadcast") {
    val sql = "WITH r AS (SELECT k, rand() AS x FROM d) SELECT count(*), sum(y.n) FROM " +
      "(SELECT id, k, v, CAST(s AS INT) AS n FROM a) y JOIN r ON y.k = r.k JOIN b ON y.v = b.v " +
      "UNION ALL SELECT count(*), max(x) FROM r"
    val prepared = Preparation(spark, incoming(sql))
    assert(prepared.exists { case r: CTERelationRef => SparkBroadcast(r, 1L << 20); case _ => false }, prepared)
  }
}
