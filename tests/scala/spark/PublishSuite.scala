package org.apache.spark.sql.dovetail

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Statistics}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.leaf.PublishedRelation
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.scalatest.BeforeAndAfterAll

/**
 * The statistics that Dovetail publishes to Spark, for files without statistics in the catalog, compared with the data
 * in the files.
 */
class PublishSuite extends DovetailSuite with BeforeAndAfterAll {
  private val Rows = 20000

  private val data =
    "SELECT CAST(id AS INT) id, CAST(id % 10 AS INT) ten, IF(id % 4 = 0, NULL, id) q, concat('word ', id " +
      s"% 50) w, DATE'2020-01-01' + CAST(id % 100 AS INT) d, array(id) a FROM range($Rows)"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(s"CREATE TABLE bare USING parquet AS $data")
    spark.sql(s"CREATE TABLE bareorc USING orc AS SELECT id, ten, q, w, d FROM ($data)")
    spark.sql(s"CREATE TABLE parts USING parquet PARTITIONED BY (ten) AS SELECT id, w, ten FROM ($data)")
    spark.sql("CREATE VIEW seen AS SELECT id, w FROM bare WHERE ten < 5")
    Seq("one" -> 100, "two" -> 1000).foreach { case (name, n) =>
      spark.sql(s"CREATE TABLE $name USING parquet AS SELECT CAST(id AS INT) k, CAST(id % 7 AS INT) v FROM range($n)")
    }
  }

  override def afterAll(): Unit =
    try {
      spark.sql("DROP VIEW IF EXISTS seen")
      Seq("bare", "bareorc", "parts", "one", "two").foreach(t => spark.sql(s"DROP TABLE IF EXISTS $t"))
    } finally super.afterAll()

  private val cbo = Seq("spark.sql.cbo.enabled" -> "true", "spark.sql.cbo.joinReorder.enabled" -> "true")

  private def publishing[A](on: Boolean, more: (String, String)*)(body: => A): A =
    withConf((Seq(DovetailConf.StatsPublish.key -> on.toString, DovetailConf.FootersMaxMs.key -> "60000") ++ more): _*)(
      body
    )

  private def leaf(plan: LogicalPlan): LogicalRelation =
    plan.collectLeaves().collectFirst { case r: LogicalRelation => r }.get
  private def ofLeaf(sql: String): Statistics = leaf(optimized(sql)).stats
  private def costs(sql: String): String      = spark.sql(s"EXPLAIN COST $sql").head().getString(0)
  private def path(table: String): String     = {
    val name = spark.sessionState.sqlParser.parseTableIdentifier(table)
    s"parquet.`${spark.sessionState.catalog.getTableMetadata(name).location}`"
  }

  test("EXPLAIN COST of tables, paths and views that nobody has analyzed: a size before, rows after") {
    val sources = Seq("bare", "bareorc", "seen", path("bare"), "(SELECT * FROM bare WHERE id > 5)")
    sources.foreach { source =>
      val sql = s"SELECT * FROM $source"
      assert(!publishing(on = false)(costs(sql)).contains("rowCount"), sql)
      assert(publishing(on = true)(costs(sql)).contains("rowCount=2.00E+4"), publishing(on = true)(costs(sql)))
    }
  }

  test("rows, distinct values, NULLs, bounds and widths are those of the data, in the form that Spark keeps them in") {
    publishing(on = true) {
      val relation             = leaf(optimized("SELECT * FROM bare"))
      val stats                = relation.stats
      def column(name: String) = stats.attributeStats.get(relation.output.find(_.name == name).get)
      val (id, q, d, w)        = (column("id").get, column("q").get, column("d").get, column("w").get)
      assert(stats.rowCount.contains(BigInt(Rows)))
      assert(id.min.contains(0) && id.max.contains(Rows - 1) && id.nullCount.contains(BigInt(0)))
      assert(q.min.contains(1L) && q.max.contains(Rows - 1L) && q.nullCount.contains(BigInt(Rows / 4)))
      assert(d.min.contains(18262) && d.max.contains(18361) && d.distinctCount.contains(BigInt(100)))
      assert(w.min.isEmpty && w.distinctCount.contains(BigInt(50)) && w.avgLen.exists(n => n >= 6 && n <= 8), w)
      assert(column("a").isEmpty, "Spark has no statistics of arrays")
    }
  }

  test("of a partitioned table, what is left of it") {
    publishing(on = true) {
      assert(ofLeaf("SELECT * FROM parts").rowCount.contains(BigInt(Rows)))
      assert(ofLeaf("SELECT * FROM parts WHERE ten = 3").rowCount.contains(BigInt(Rows / 10)))
      val joined =
        "SELECT count(*) FROM parts p JOIN one ON p.id = one.k JOIN two ON p.id = two.k WHERE p.ten IN (1, 2)"
      assert(optimized(joined).collectLeaves().map(_.stats.rowCount.get.toInt).sorted == Seq(100, 1000, Rows / 5))
      sameAnswer(joined, reorders = false)
    }
  }

  test("what the catalog has stays as Spark reads it") {
    withTables("known") {
      spark.sql("CREATE TABLE known USING parquet AS SELECT id FROM range(50)")
      spark.sql("ANALYZE TABLE known COMPUTE STATISTICS FOR ALL COLUMNS")
      publishing(on = true)(assert(!leaf(optimized("SELECT * FROM known")).isInstanceOf[PublishedRelation]))
    }
  }

  test("Spark's CBO finds rows and columns: operators have rows, and its own order changes") {
    val sql = "SELECT /*+ DOVETAIL_OFF */ count(*) FROM bare JOIN two ON bare.id = two.k JOIN one ON bare.id = one.k " +
      "WHERE one.v = 3"
    def first(plan: LogicalPlan) = plan.collect { case j: Join => j }.last.collectLeaves().map {
      case r: LogicalRelation => r.catalogTable.get.identifier.table
      case other              => other.nodeName
    }.toSet
    assert(publishing(on = false, cbo: _*)(first(optimized(sql))) == Set("bare", "two"))
    publishing(on = true, cbo: _*) {
      assert(first(optimized(sql)) == Set("bare", "one") || first(optimized(sql)) == Set("one", "two"))
      assert(optimized(sql).collect { case j: Join => j }.forall(_.stats.rowCount.exists(_ <= Rows)))
      sameAnswer(sql, reorders = false)
    }
  }

  test("what is planned and run keeps Spark's own sizes: no broadcast by an estimate, no estimate taken for a fact") {
    val sql      = "SELECT x.id, y.w FROM bare x JOIN bare y ON x.ten = y.ten AND x.q = y.q WHERE y.id < 20 LIMIT 7"
    val settings = cbo ++ Seq(
      "spark.sql.autoBroadcastJoinThreshold" -> "60000",
      DovetailConf.BroadcastEnabled.key      -> "false"
    )
    def joins(plan: SparkPlan) = plan.collect { case j: BaseJoinExec => j.nodeName }
    Seq("true", "false").foreach { adaptive =>
      val all    = settings :+ ("spark.sql.adaptive.enabled" -> adaptive)
      val before = publishing(on = false, all: _*)(joins(initial(sql)))
      publishing(on = true, all: _*) {
        val side = optimized(sql).collectFirst { case j: Join => j.right }.get
        assert(side.stats.sizeInBytes < 60000 && side.stats.rowCount.exists(_ < 100), "the estimate is small")
        assert(before == Seq("SortMergeJoin") && joins(initial(sql)) == before)
        val planned = initial(sql).logicalLink.get
        assert(planned.exists(_.isInstanceOf[PublishedRelation]), "it is a clone of the optimized plan")
        assert(planned.collect { case p if !p.maxRows.exists(_ <= 7) => p.stats.rowCount }.flatten.isEmpty, planned)
        assert(answer(sql).size == 7)
      }
    }
  }

  private def initial(sql: String): SparkPlan = physical(sql) match {
    case a: AdaptiveSparkPlanExec => a.initialPlan
    case plan                     => plan
  }

  test("the size of rows that take less than their file, and never more than Spark's own") {
    withDirectory { dir =>
      val text = dir.resolve("text").toString
      spark.sql(s"SELECT CAST(id AS INT) i, CAST(id AS INT) j FROM range($Rows)").selectExpr(
        "i AS a_column_with_a_name_that_takes_many_bytes",
        "j AS another_column_with_a_name_that_takes_many_bytes"
      ).write.json(text)
      withTables("texts") {
        spark.sql(
          "CREATE TABLE texts (a_column_with_a_name_that_takes_many_bytes INT, " +
            s"another_column_with_a_name_that_takes_many_bytes INT) USING json LOCATION '$text'"
        )
        val sql = "SELECT * FROM texts"
        val own = ofLeaf(sql)
        publishing(on = true)(assert(ofLeaf(sql) == own, "nobody has counted its rows"))
        withConf(DovetailConf.StoreWriteBack.key -> "false")(spark.sql("DOVETAIL ANALYZE TABLE texts").collect())
        publishing(on = true) {
          assert(ofLeaf(sql).rowCount.contains(BigInt(Rows)))
          assert(ofLeaf(sql).sizeInBytes <= own.sizeInBytes && ofLeaf(sql).sizeInBytes >= 2 * 8 * Rows)
        }
      }
    }
    Seq("bare", "bareorc").foreach { t =>
      val own = ofLeaf(s"SELECT * FROM $t").sizeInBytes
      publishing(on = true)(assert(ofLeaf(s"SELECT * FROM $t").sizeInBytes <= own))
    }
  }

  test("filters on every type, with statistics of footers and collected ones, do not fail Spark's estimator") {
    val cases      = TypesSuite.cases(spark.version)
    val collated   = if (spark.version >= "4.0") Seq("lc STRING COLLATE UTF8_LCASE" -> "concat('L', id % 9)") else Nil
    val columns    = cases.map(c => s"${c.name} ${c.sqlType}" -> c.value) ++ collated
    val predicates = cases.map(_.predicate) ++ collated.map(_ => "lc < 'l5' AND lc IN ('L1', 'l2')") ++
      cases.filter(_.joins).flatMap(c =>
        Seq(s"${c.name} = ${c.name}2", s"${c.name} IN (SELECT ${c.name} FROM typed WHERE id < 9)")
      ) ++ cases.filter(_.joins).map(c => s"${c.name} = (SELECT max(${c.name}) FROM typed WHERE id < 30)").filterNot(
        p =>
          p.startsWith("ma") || p.startsWith("va")
      ) ++ Seq(
        "de IN (1, 2.5) AND de > 1 AND de < 2.5",
        "do = 1.5D OR fl IN (1.0F, 2.0F)",
        "it > 5 AND it < 3",
        "it < it2",
        "ts BETWEEN TIMESTAMP'2020-01-01 03:00:00' AND TIMESTAMP'2020-01-01 09:00:00' AND ts = ts2",
        "st IN ('s1', 's2') AND st = 's1'"
      )
    withTables("typed") {
      spark.sql(
        s"CREATE TABLE typed (id INT, ${columns.map(_._1).mkString(", ")}, " +
          s"${cases.map(c => s"${c.name}2 ${c.sqlType}").mkString(", ")}) USING parquet"
      )
      spark.sql(
        s"INSERT INTO typed SELECT CAST(id AS INT), " +
          s"${columns.map(c => s"IF(id % 7 = 6, NULL, ${c._2})").mkString(", ")}, " +
          s"${cases.map(_.value).mkString(", ")} FROM range(60)"
      )
      // Spark's estimator runs, and may fail, only when it is asked
      def size(predicate: String) = optimized(s"SELECT id FROM typed WHERE $predicate").stats.sizeInBytes
      val valid                   = predicates.filter(p => scala.util.Try(size(p)).isSuccess)
      assert(valid.size > predicates.size - 4, predicates.diff(valid))
      def all() = publishing(on = true, (cbo :+ ("spark.sql.statistics.histogram.enabled" -> "true")): _*) {
        assert(ofLeaf("SELECT * FROM typed").attributeStats.size > 10)
        valid.foreach(p => assert(size(p) > 0, p))
      }
      all()
      withConf(DovetailConf.StoreWriteBack.key -> "false")(spark.sql("DOVETAIL ANALYZE TABLE typed").collect())
      all()
    }
  }

  test("a relation with our statistics is the relation that it stands for") {
    val plain     = leaf(publishing(on = false)(optimized("SELECT * FROM bare")))
    val published = leaf(publishing(on = true)(optimized("SELECT * FROM bare")))
    assert(published.isInstanceOf[PublishedRelation] && !plain.isInstanceOf[PublishedRelation])
    assert(published.sameResult(plain) && plain.sameResult(published))
    assert(published.canonicalized == plain.canonicalized && !published.canonicalized.isInstanceOf[PublishedRelation])
    assert(published == published.clone() && published != plain && plain != published)
    assert(published.clone().stats == plain.stats, "Spark plans a clone")
    val renamed = published.newInstance()
    assert(renamed.stats.attributeStats.size == published.stats.attributeStats.size)
    assert(renamed.stats.attributeStats.keys.forall(renamed.outputSet.contains))
    assert(published.toJSON.nonEmpty && published.simpleString(100).startsWith("Relation"))
  }

  test("cached data is found, and exchanges are reused") {
    val twice =
      "SELECT count(*) FROM (SELECT w, count(*) n FROM bare GROUP BY w) x JOIN (SELECT w, count(*) n FROM bare " +
        "GROUP BY w) y ON x.w = y.w"
    withConf("spark.sql.adaptive.enabled" -> "false", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      def reused(on: Boolean) =
        publishing(on)(physical(twice).collect { case r: ReusedExchangeExec => r }.size)
      assert(reused(on = false) > 0 && reused(on = true) == reused(on = false))
    }
    publishing(on = true) {
      val cached = spark.sql("SELECT id, w FROM bare WHERE ten = 4").cache()
      try {
        val again = optimized("SELECT id, w FROM bare WHERE ten = 4")
        assert(again.collectFirst { case r: InMemoryRelation => r }.isDefined)
        withConf(cbo: _*) {
          val unfilled = spark.table("bare").where("ten = 4").cache()
          try assert(optimized("SELECT * FROM bare WHERE ten = 4").stats.rowCount.isEmpty)
          finally { unfilled.unpersist(blocking = true); () }
        }
        assert(cached.count() == Rows / 10)
      } finally { cached.unpersist(blocking = true); () }
    }
  }

  test("what is written is the same, and off means nothing is published") {
    withTables("copied", "copiedplain") {
      def query = "SELECT p.id, p.w, p.ten FROM parts p JOIN one ON p.id = one.k WHERE one.v > 2"
      publishing(on = true)(spark.sql(s"CREATE TABLE copied USING parquet PARTITIONED BY (ten) AS $query"))
      publishing(on = true)(spark.sql(s"INSERT INTO copied $query"))
      dovetail(on = false) {
        spark.sql(s"CREATE TABLE copiedplain USING parquet PARTITIONED BY (ten) AS $query")
        spark.sql(s"INSERT INTO copiedplain $query")
      }
      assert(answer("SELECT * FROM copied") == answer("SELECT * FROM copiedplain"))
    }
    val sql = "SELECT count(*) FROM bare JOIN one ON bare.id = one.k JOIN two ON bare.id = two.k WHERE two.v = 1"
    def published(plan: LogicalPlan): Boolean = plan.collectLeaves().exists(_.isInstanceOf[PublishedRelation])
    assert(publishing(on = true)(published(optimized(sql))))
    assert(!publishing(on = false)(published(optimized(sql))))
    assert(!publishing(on = true)(dovetail(on = false)(published(optimized(sql)))))
  }

  test("values of private columns are not published") {
    publishing(on = true, DovetailConf.PrivateColumns.key -> "bare.id") {
      val relation = leaf(optimized("SELECT id, ten FROM bare"))
      assert(relation.stats.attributeStats.keys.map(_.name).toSet.contains("ten"))
      assert(!relation.stats.attributeStats.keys.map(_.name).toSet.contains("id"))
    }
  }

  test("generated queries over files that nobody has analyzed: the same rows, with Spark's CBO and without") {
    val random   = new Random(20262L)
    val failures = mutable.ArrayBuffer.empty[String]
    withTables(RandomTables.names: _*) {
      RandomTables.create(spark, random)
      RandomTables.names.foreach { t =>
        spark.sql(s"CREATE TABLE ${t}_files USING parquet AS SELECT * FROM $t")
        spark.sql(s"DROP TABLE $t")
        spark.sql(s"ALTER TABLE ${t}_files RENAME TO $t")
      }
      var answered = 0
      (0 until 24).foreach { i =>
        val sql      = new RandomQueries(new Random(20262L + i)).query()
        val settings = (if (i % 2 == 0) cbo else Nil) ++ Seq(
          "spark.sql.autoBroadcastJoinThreshold" -> (if (i % 3 == 0) "-1" else "10485760"),
          "spark.sql.adaptive.enabled"           -> (i % 4 == 0).toString
        )
        scala.util.Try(dovetail(on = false)(withConf(settings: _*)(answer(sql)))).foreach { expected =>
          answered += 1
          val found = scala.util.Try(publishing(on = true, settings: _*)(answer(sql)))
          if (!found.toOption.contains(expected)) failures += s"$sql\n$settings\n$expected\n$found"
        }
      }
      assert(answered > 18 && failures.isEmpty, failures.take(3).mkString("\n\n"))
    }
  }
}
