package org.apache.spark.sql.dovetail

import dovetail.kernel.cost.FilterWork
import dovetail.kernel.enumerate.Reducer
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}
import org.apache.spark.sql.dovetail.plan.{FilterAllowance, RereadInput}
import org.apache.spark.sql.internal.SQLConf

/** Inputs that may be read a second time for their keys, and how much room their filters have. */
class RereadInputSuite extends DovetailSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    table("plain", "SELECT id, id % 7 AS part FROM range(100)")
    spark.sql("CREATE TABLE parted USING parquet PARTITIONED BY (part) AS SELECT * FROM plain")
    ()
  }

  override def afterAll(): Unit =
    try { spark.sql("DROP TABLE IF EXISTS parted"); () }
    finally super.afterAll()

  /** The input of an operator that keeps it from being pushed away or cut. */
  private def again(frame: DataFrame): Boolean = RereadInput(frame.queryExecution.optimizedPlan)

  private def cached(frame: DataFrame, filled: Boolean = false): Boolean = {
    frame.persist()
    try {
      if (filled) frame.count()
      again(frame.where("id > 3"))
    } finally { frame.unpersist(); () }
  }

  test("files that stay the same between two scans: not an index that is listed at each scan, no text") {
    assert(again(spark.table("plain").where("id > 3").select("id")))
    assert(!again(spark.table("parted").where("id > 3")))
    // Spark has listed the partitions that are left
    assert(again(spark.table("parted").where("part = 3 AND id > 3")))
    // Spark may skip a file at the second scan
    for (skips <- Seq("ignoreMissingFiles", "ignoreCorruptFiles"))
      withConf(s"spark.sql.files.$skips" -> "true")(assert(!again(spark.table("plain").where("id > 3"))))
    withDirectory { d =>
      for (format <- Seq("json", "csv")) {
        spark.table("plain").write.format(format).save(d.resolve(format).toString)
        assert(!again(spark.read.schema("id LONG, part LONG").format(format).load(d.resolve(format).toString)), format)
      }
      spark.table("plain").write.orc(d.resolve("orc").toString)
      assert(again(spark.read.orc(d.resolve("orc").toString)))
    }
  }

  test("rows in the plan, but not what draws or may fail") {
    val session = spark
    import session.implicits._
    assert(again(Seq(1L -> 2L, 3L -> 4L).toDF("id", "part").where("id > 1")))
    assert(!again(spark.table("plain").where("rand(1) < 0.5")))
    withConf("spark.sql.ansi.enabled" -> "true")(assert(!again(spark.table("plain").where("100 DIV (id - 5) > 3"))))
    assert(!again(spark.sql("SELECT * FROM plain WHERE id > (SELECT avg(part) FROM plain)")))
  }

  test("a cache of a scan, but none whose lost blocks may be computed with other rows") {
    val session = spark
    import session.implicits._
    val plain = spark.table("plain")
    def next  = plain.where("part < 5").selectExpr("id", "part + 1 AS next")
    // a filled cache cannot fail any more
    withConf("spark.sql.ansi.enabled" -> "true")(assert(!cached(next) && cached(next, filled = true)))
    withConf("spark.sql.ansi.enabled" -> "false")(assert(cached(next)))
    assert(!cached(plain.limit(50)))
    assert(!cached(plain.selectExpr("id", "row_number() OVER (PARTITION BY part ORDER BY part) AS n").where("n = 1")))
    assert(!cached(plain.as[(Long, Long)].map(r => (r._1 + 1L, r._2)).toDF("id", "part")))
    assert(!cached(spark.range(100).toDF("id").repartition(3)))
    plain.persist()
    try assert(!cached(plain.where("id > 1")))
    finally { plain.unpersist(); () }
    withDirectory { d =>
      plain.write.json(d.resolve("text").toString)
      assert(!cached(spark.read.schema("id LONG, part LONG").json(d.resolve("text").toString)))
    }
  }

  private val MiB = 1024L * 1024L

  private def filter(bytes: Long) =
    Reducer(0, Vector(1), Set.empty, Vector(0 -> 1), 0.1, bytes * 8L / Reducer.BitsPerItem, FilterWork.none)

  private def allowance(plan: LogicalPlan) = new FilterAllowance(plan, 600L * MiB)

  test("filters of one query take a share of the driver's memory together, and a subquery has none") {
    val plan = spark.table("plain").queryExecution.optimizedPlan
    assert(allowance(Subquery(plan, correlated = false)).items == 0L)
    val query = allowance(plan)
    val taken = Iterator.continually(query.items).take(1000).takeWhile(_ > 0L).map { items =>
      val one = filter(items * Reducer.BitsPerItem / 8L)
      query.take(Vector(one))
      one.bits / 8L
    }.toVector
    assert(taken.head > 1L * MiB && taken.last < taken.head && taken.size < 1000)
    // four copies of all of them
    assert(taken.sum * 4L <= 60L * MiB)
  }

  test("a filter is smaller than what the driver may receive, and few threads for broadcasts have no filters") {
    val plan = spark.table("plain").queryExecution.optimizedPlan
    assert(new FilterAllowance(plan, 600L * MiB, result = MiB).items * Reducer.BitsPerItem / 8L <= MiB)
    assert(new FilterAllowance(plan, 600L * MiB, result = 0L).items == allowance(plan).items)
    val few = spark.sessionState.conf.clone()
    few.setConfString("spark.sql.broadcastExchange.maxThreadThreshold", "2")
    assert(SQLConf.withExistingConf(few)(allowance(plan).items == 0L && allowance(plan).ranges == 0))
  }
}
