package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path, StandardCopyOption}

import dovetail.kernel.profile.{ColumnProfile, RelationProfile, Source}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.stats.{CachedSource, PlanStatistics}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.internal.SQLConf

/** Cached relations: their rows are those that Spark has cached, their columns those of the plan that was cached. */
class CachedSourceSuite extends DovetailSuite with SuiteTables {
  private val Rows = 20000

  override def beforeAll(): Unit = {
    super.beforeAll()
    table(
      "cache_sale",
      s"SELECT /*+ COALESCE(1) */ id, id % 50 AS item, id % 7 AS day, concat('note ', id) AS note FROM range($Rows)"
    )
    table(
      "cache_item",
      "SELECT /*+ COALESCE(1) */ id AS item, concat(if(id < 3, 'rare ', 'common '), id) AS name FROM range(50)"
    )
    table("cache_day", "SELECT /*+ COALESCE(1) */ id AS day, id % 2 AS odd FROM range(7)")
  }

  private def cached[A](frame: DataFrame, filled: Boolean = true)(body: DataFrame => A): A = {
    frame.cache()
    try {
      if (filled) frame.count()
      assert(frame.queryExecution.optimizedPlan.exists(_.isInstanceOf[InMemoryRelation]))
      body(frame)
    } finally { frame.unpersist(blocking = true); () }
  }

  private def statistics(frame: DataFrame): PlanStatistics = withConf(DovetailConf.FootersMaxMs.key -> "60000") {
    val plan = frame.queryExecution.optimizedPlan
    PlanStatistics.of(spark, SQLConf.get, plan, plan)
  }

  private def profile(frame: DataFrame): RelationProfile = statistics(frame)(frame.queryExecution.optimizedPlan)

  private def column(frame: DataFrame, name: String): ColumnProfile =
    profile(frame).column(frame.queryExecution.optimizedPlan.output.find(_.name == name).get.exprId.id)

  /** Whether the estimate is within a third of `rows`. */
  private def near(p: RelationProfile, rows: Double): Boolean = math.abs(p.rows.value - rows) <= rows / 3.0

  test("a filled cache has the rows that Spark counted, and columns as its files tell") {
    cached(spark.table("cache_sale")) { sale =>
      val rows = profile(sale).rows
      assert(rows.value == Rows && rows.source == Source.Exact)
      val item = column(sale, "item")
      assert(item.ndv.contains(50.0) && item.min.contains(0.0) && item.max.contains(49.0))
    }
  }

  test("predicates over a cache are tried on rows of its files, whatever its columns are called now") {
    cached(spark.sql("SELECT item AS thing, name AS title FROM cache_item")) { things =>
      val few = things.where("title LIKE 'rare%'")
      assert(near(profile(few), 3.0))
      // the query renames the columns once more, so that they have other expression IDs
      things.createOrReplaceTempView("things")
      withTables("things")(
        assert(near(profile(spark.sql("SELECT x.title FROM things x WHERE x.title LIKE 'rare%'")), 3.0))
      )
    }
  }

  test("an empty cache has the rows that its plan is estimated to make, and no more than that") {
    def grouped = spark.sql("SELECT item, count(*) AS n FROM cache_sale GROUP BY item")
    for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
      cached(grouped, filled = false) { g =>
        val rows = profile(g).rows
        assert(near(profile(g), 50.0))
        assert(rows.upper > Rows, "nobody has counted them")
        assert(profile(g).uniqueKeys.nonEmpty)
      }
      cached(grouped)(g => assert(profile(g).rows.value == 50.0 && profile(g).rows.source == Source.Exact))
    }
  }

  test("files that have changed since tell what is likely, and bound nothing") {
    withDirectory { d =>
      def write(rows: Int, to: String): Path = {
        spark.range(rows).selectExpr("id % 10 AS k", "id").coalesce(1).write.parquet(d.resolve(to).toString)
        val files = Files.list(d.resolve(to))
        try files.filter(_.toString.endsWith(".parquet")).findFirst.get
        finally files.close()
      }
      val (many, few) = (write(1000, "many"), write(10, "few"))
      cached(spark.read.parquet(d.resolve("many").toString)) { before =>
        // not by Spark, which would refresh its cache
        Files.copy(few, many, StandardCopyOption.REPLACE_EXISTING)
        val sample = statistics(before)
        assert(profile(before).rows.value == 1000.0)
        assert(column(before, "k").degree.isEmpty)
        assert(!sample.samples(before.queryExecution.optimizedPlan).exists(_.complete))
        assert(profile(before.where("k = 3")).rows.upper >= 100.0)
        assert(before.where("k = 3").count() == 100)
      }
    }
  }

  test("caches of caches of caches: what is looked at is bounded") {
    def doubled(f: DataFrame): DataFrame = {
      val next = f.join(f.toDF("k"), "k").cache()
      assert(next.queryExecution.optimizedPlan.isInstanceOf[InMemoryRelation])
      next
    }
    val levels = Iterator.iterate(spark.range(10).toDF("k"))(doubled).slice(1, 6).toVector
    try {
      val plan                       = levels.last.queryExecution.optimizedPlan
      def operators(s: CachedSource) = s.within(plan).collect { case p => p }.size
      // all levels together have 31 joins
      assert(operators(new CachedSource) > 31 * 3)
      assert(operators(new CachedSource(most = 40)) <= 40 + 1)
      assert(profile(levels.last).rows.value >= 1.0)
    } finally levels.foreach(_.unpersist())
  }

  test("joins of caches, of one with itself, and of caches of caches: ordered, with the same answers") {
    val star =
      "SELECT d.odd, count(*), max(s.note) FROM cache_sale s JOIN cache_day d ON s.day = d.day JOIN cache_item i " +
        "ON s.item = i.item " +
        "WHERE i.name LIKE 'rare%' GROUP BY d.odd"
    cached(spark.table("cache_sale"))(_ =>
      cached(spark.table("cache_item")) { _ =>
        sameAnswer(star)
        cached(spark.sql("SELECT item, note, day FROM cache_sale WHERE id % 2 = 0")) { half =>
          half.createOrReplaceTempView("half")
          withTables("half") {
            sameAnswer(star.replace("FROM cache_sale", "FROM half"))
            sameAnswer(
              "SELECT count(*) FROM half a JOIN half b ON a.note = b.note JOIN cache_item i ON a.item = i.item " +
                "JOIN cache_day d ON b.day = d.day WHERE i.name = 'rare 1'"
            )
          }
        }
      }
    )
    spark.sql("CACHE TABLE kept AS SELECT * FROM cache_item WHERE name LIKE 'rare%'")
    withTables("kept") {
      spark.catalog.clearCache()
      sameAnswer(star.replace("JOIN cache_item i", "JOIN kept i"))
    }
  }
}
