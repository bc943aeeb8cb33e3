package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, ScalarSubquery}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.plan.SubplanMerging
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}

/**
 * Bloom filters on inputs: legal ones do not change the answer, and illegal ones are not made. Spark runs every rule of
 * this session twice, and fails if the second run changes a plan.
 */
class ReducerSuite extends DovetailSuite with SuiteTables {
  override def beforeAll(): Unit = {
    super.beforeAll()
    // NULL keys, repeated keys, and keys without a partner
    val columns =
      "concat('c', id % 700) AS code, CAST(id % 700 AS DOUBLE) AS ratio, CAST(id % 700 AS DECIMAL(9, 2)) AS " +
        "price, id % 400 AS day"
    table("sold", s"SELECT id, if(id % 31 = 0, NULL, id % 700) AS item, $columns FROM range(6000)")
    table("returned", s"SELECT id, if(id % 7 = 0, NULL, id % 900) AS item, $columns FROM range(300)")
    table("day", "SELECT id AS day, id DIV 7 AS week, id % 12 AS month FROM range(365)")
    table("nothing", "SELECT id AS item, id AS day FROM range(10) WHERE id < 0")
  }

  private def forced[A](body: => A): A =
    withConf(
      DovetailConf.ReducersAlways.key        -> "true",
      DovetailConf.ReducersRanges.key        -> "false",
      "spark.sql.autoBroadcastJoinThreshold" -> "100"
    )(body)

  /** Tables that have a Bloom filter, with the column that the filter tests. */
  private def filters(sql: String): Seq[String] = optimized(sql).collect { case f: Filter =>
    f.condition.collect { case b: BloomFilterMightContain =>
      s"${tableOf(f)}.${b.right.references.map(_.name).mkString}"
    }
  }.flatten

  private def tableOf(plan: LogicalPlan): String =
    plan.collect { case r: LogicalRelation => r.catalogTable.fold("?")(_.identifier.table) }.mkString("+")

  private def locationOf(r: LogicalRelation): FileIndex = r.relation.asInstanceOf[HadoopFsRelation].location

  private def reduces(sql: String, expected: String*): Unit = forced {
    assert(dovetail(on = false)(filters(sql)).isEmpty)
    assert(filters(sql).sorted == expected.sorted, told(s"$sql: ${traced(sql)._2.groups.map(_.reason)}"))
    sameAnswer(sql, reorders = false)
  }

  private val three = "FROM sold s JOIN returned r ON s.item = r.item JOIN day d ON r.day = d.day"

  test("no filter beside a plugin whose Bloom filters are not those of Spark") {
    val sql = s"SELECT count(*) $three WHERE d.month = 3"
    withConf("spark.sql.legacy.setCommandRejectsSparkCoreConfs" -> "false") {
      forced {
        withConf("spark.plugins" -> "a.b.Plugin")(assert(filters(sql).nonEmpty))
        withConf("spark.plugins" -> "a.b.Plugin, org.apache.gluten.GlutenPlugin")(assert(filters(sql).isEmpty))
      }
    }
  }

  test("no filter on a computed key that may fail: Spark would push it to rows that no join has kept") {
    withTables("texts", "numbers") {
      spark.sql("CREATE TABLE texts USING parquet AS SELECT id, IF(id = 7, 'x', CAST(id AS STRING)) s FROM range(6000)")
      spark.sql("CREATE TABLE numbers USING parquet AS SELECT id FROM range(6000) WHERE id <> 7")
      val sql = "SELECT count(*) FROM sold s JOIN day d ON s.day = d.day WHERE d.month = 3 AND s.item IN " +
        "(SELECT CAST(t.s AS INT) FROM texts t JOIN numbers n ON t.id = n.id)"
      withConf("spark.sql.ansi.enabled" -> "true") {
        forced(sameAnswer(sql, reorders = false))
        assert(!forced(filters(sql)).contains("texts.s"))
      }
    }
  }

  test("inner joins: both sides of a key, and pushed down to the scan") {
    reduces(
      s"SELECT count(*), sum(s.id), sum(r.id) $three WHERE d.month = 3",
      "sold.item",
      "returned.item",
      "returned.day",
      "day.day"
    )
    forced(assert(optimized(s"SELECT s.id $three WHERE d.month = 3").collect { case f: Filter =>
      f.condition.exists(_.isInstanceOf[BloomFilterMightContain]) && f.child.isInstanceOf[LogicalRelation]
    }.count(identity) == 3))
  }

  test("an empty source of keys, and a join of all NULLs") {
    reduces(
      "SELECT s.id FROM sold s JOIN nothing n ON s.item = n.item JOIN day d ON s.day = d.day",
      "sold.item",
      "sold.day",
      "nothing.item",
      "day.day"
    )
    forced(sameAnswer(
      "SELECT count(*) FROM sold s JOIN (SELECT * FROM returned WHERE item IS NULL) r ON s.item = r.item JOIN day " +
        "d ON " +
        "s.day = d.day",
      reorders = false
    ))
  }

  test("texts and decimals are keys, floating point numbers are not, nor are two types, nor expressions") {
    def on(c: String) = s"SELECT count(*) FROM sold s JOIN returned r ON $c JOIN day d ON s.day = d.day"
    reduces(on("s.code = r.code"), "sold.code", "returned.code", "sold.day", "day.day")
    reduces(on("s.price = r.price"), "sold.price", "returned.price", "sold.day", "day.day")
    reduces(on("s.ratio = r.ratio"), "sold.day", "day.day")
    reduces(on("s.price = r.item"), "sold.day", "day.day")
    // an input with a sum that may overflow is not read twice; the footers show that the other sum cannot
    def half(side: String) = s"shiftright(xxhash64($side.code), 1)"
    withConf("spark.sql.ansi.enabled" -> "true") {
      reduces(on(s"s.item + ${half("s")} = r.item + ${half("r")}"), "sold.day")
      reduces(on("s.item + 1 = r.item - 1"), "sold.day", "day.day")
    }
  }

  test("the right side of an outer, anti or semi join is reduced by its left side, and reduces nothing") {
    for (kind <- Seq("LEFT", "LEFT ANTI", "LEFT SEMI")) reduces(
      s"SELECT s.id FROM sold s JOIN day d ON s.day = d.day $kind JOIN returned r ON s.item = r.item AND r.id > 20",
      "sold.day",
      "day.day",
      "returned.item"
    )
    reduces(
      "SELECT s.id, r.id AS back FROM returned r RIGHT JOIN sold s ON r.item = s.item AND s.id > 9",
      "returned.item"
    )
    reduces(
      "SELECT s.id, r.id, d.week FROM sold s FULL JOIN returned r ON s.item = r.item FULL JOIN day d ON s.day = d.day"
    )
    reduces(
      "SELECT d.week, s.id FROM day d LEFT JOIN (SELECT s.id, s.day, r.id AS back FROM sold s JOIN returned r ON " +
        "s.item = r.item) s ON d.day = s.day LEFT JOIN nothing n ON n.day = d.day",
      "sold.day",
      "nothing.day"
    )
    reduces(
      "SELECT s.id, s.item IN (SELECT item FROM returned) OR s.id < 9 FROM sold s JOIN day d ON s.day = d.day",
      "sold.day",
      "day.day",
      "returned.item"
    )
  }

  test("where a NULL of the right side makes a difference, it is not reduced") {
    reduces(
      "SELECT s.id FROM sold s JOIN day d ON s.day = d.day WHERE NOT EXISTS (SELECT 1 FROM returned r WHERE " +
        "r.item = s.item) AND s.item NOT IN (SELECT item FROM nothing)",
      "sold.day",
      "day.day",
      "returned.item"
    )
    reduces(
      "SELECT count(*) FROM sold s JOIN day d ON s.day = d.day WHERE s.item NOT IN (SELECT item FROM returned)",
      "sold.day",
      "day.day"
    )
    reduces("SELECT s.id, r.id AS back FROM sold s LEFT JOIN returned r ON s.item <=> r.item")
    reduces("SELECT s.id, r.id AS back FROM sold s LEFT JOIN returned r ON s.item = r.item OR s.day = r.day")
  }

  test("what may fail or differs from run to run is not read a second time; what only may fail can be reduced") {
    spark.udf.register("plus", (x: Long) => x + 1L)
    for (c <- Seq("100 / (r.id + 1) > 0.5 AND CAST(r.code AS INT) IS NULL", "plus(r.id) > 3", "rand(1) < 0.5"))
      withConf("spark.sql.ansi.enabled" -> "true")(forced {
        val sql =
          s"SELECT s.id FROM sold s JOIN (SELECT * FROM returned r WHERE $c) r ON s.item = r.item JOIN day d ON " +
            "s.day = d.day"
        val found = filters(sql)
        assert(!found.contains("sold.item"), s"$c: $found")
        assert(found.contains("returned.item") == !c.startsWith("rand"), s"$c: $found")
      })
  }

  test("malformed records of a text file are no keys: which ones are malformed depends on the columns that are read") {
    withDirectory { d =>
      val lines = spark.range(200).selectExpr(
        "concat('{\"k\":', id, ',\"amount\":', if(id % 9 = 0, '\"n/a\"', CAST(id AS STRING)), '}') AS value"
      )
      lines.write.text(d.resolve("lines").toString)
      spark.read.schema("k LONG, amount INT, _corrupt_record STRING").json(d.resolve("lines").toString)
        .createOrReplaceTempView("lines")
      withTables("lines")(forced {
        val sql = "SELECT s.id, r.amount FROM sold s JOIN lines r ON s.item = r.k JOIN day d ON s.day = d.day " +
          "WHERE r._corrupt_record IS NOT NULL"
        assert(dovetail(on = false)(answer(sql)).size > 50 && !filters(sql).contains("sold.item"))
        sameAnswer(sql, reorders = false)
      })
    }
  }

  test("zeros with and without a sign meet in the joins that the keys of a filter come from") {
    table("one", "SELECT id AS item, if(id < 10, 0.0D, CAST(id AS DOUBLE)) AS ratio FROM range(700)")
    table(
      "two",
      "SELECT CAST('-0.0' AS DOUBLE) AS ratio, 'x' AS tag UNION ALL SELECT CAST(id + 5000 AS DOUBLE), 'y' FROM " +
        "range(50)"
    )
    withConf(DovetailConf.ReducersAlways.key -> "true") {
      val sql = "SELECT count(*) FROM sold s JOIN one ON s.item = one.item JOIN two ON one.ratio = two.ratio " +
        "WHERE two.tag = 'x'"
      assert(filters(sql).contains("sold.item"))
      assert(dovetail(on = false)(spark.sql(sql).head().getLong(0)) > 10L)
      sameAnswer(sql, reorders = false)
    }
  }

  test("an INSERT between two reads of a table: both see the files that the first one found") {
    withTables("growing") {
      spark.sql("CREATE TABLE growing USING parquet AS SELECT id AS item, id AS day FROM range(20)")
      def insert() = spark.sql("INSERT INTO growing SELECT id AS item, id AS day FROM range(20, 25)")
      val sql = "SELECT count(*) FROM sold s JOIN growing r ON s.item = r.item JOIN day d ON r.day = d.day WHERE " +
        "d.month < 9"
      // a second run of the rule would look at the files of the first one's plan
      def lists: Seq[FileIndex] = forced(withoutIdempotenceCheck(traced(sql))._1.optimizedPlan.collectWithSubqueries {
        case r: LogicalRelation if tableOf(r) == "growing" => locationOf(r)
      })
      def files(index: FileIndex) = index.listFiles(Nil, Nil).flatMap(_.files.map(_.getPath)).toSet
      val reads                   = lists
      assert(reads.size > 1 && reads.forall(_ == reads.head))
      val before = files(spark.table("growing").queryExecution.analyzed.collectFirst {
        case r: LogicalRelation => locationOf(r)
      }.get)
      insert()
      // planned before the INSERT, read after it
      val first = files(reads.head)
      assert(first.size > before.size)
      insert()
      assert(reads.map(files).toSet == Set(first))
      assert(reads.head.sizeInBytes > 0 && files(lists.last).size > first.size)
      forced(sameAnswer(sql, reorders = false))
      // without a second read, the table is the one of Spark
      assert(lists.map(_.getClass).toSet != dovetail(on = false)(lists).map(_.getClass).toSet)
    }
  }

  test("a grouping or a window that a query has twice, and Spark computes once, has no filter") {
    for (
      rows <- Seq(
        "SELECT item, count(*) AS n FROM sold GROUP BY item",
        "SELECT item, rank() OVER (PARTITION BY item ORDER BY id) AS n FROM sold"
      )
    ) {
      def over(table: String) =
        s"WITH x AS ($rows), z AS (SELECT item, id AS n FROM returned) SELECT count(*), sum(x.n + y.n) FROM x " +
          s"JOIN returned r ON x.item = r.item JOIN day d ON r.day = d.day JOIN $table y ON d.week = y.item"
      def once(sql: String) = forced(filters(sql)).filter(_.startsWith("sold."))
      assert(once(over("z")).nonEmpty, told(optimized(over("z"))))
      assert(once(over("x")).isEmpty, told(forced(optimized(over("x")))))
      forced(sameAnswer(over("x"), reorders = false))
    }
  }

  test("a subquery has no filters: they would wait for threads that subqueries hold") {
    val inner = s"SELECT max(s.id) $three WHERE d.month = 3"
    reduces(inner, "sold.item", "returned.item", "returned.day", "day.day")
    forced {
      val sql = s"SELECT * FROM day WHERE day < ($inner)"
      assert(!optimized(sql).expressions.exists(_.exists {
        case s: ScalarSubquery => s.plan.exists(_.expressions.exists(_.exists(_.isInstanceOf[BloomFilterMightContain])))
        case _                 => false
      }))
      sameAnswer(sql, reorders = false)
    }
  }

  test("scalar subqueries that Spark may compute together leave the filters of the query") {
    val sql = s"SELECT count(*), sum(s.id) $three WHERE d.month = 3 AND s.price >= (SELECT min(price) FROM sold) AND " +
      "r.price >= (SELECT min(price) FROM returned)"
    forced(assert(filters(sql).nonEmpty))
    forced(sameAnswer(sql, reorders = false))
    // two figures over joins, which Spark computes in one pass if their plans are the same
    val figures = s"SELECT * FROM (SELECT count(*) c $three WHERE d.month = 3) CROSS JOIN " +
      s"(SELECT max(s.id) m $three WHERE d.month = 3)"
    forced(assert(filters(figures).isEmpty == SubplanMerging.exists))
    forced(sameAnswer(figures, reorders = false))
  }

  test("a plan that fills a cache has no filters: subqueries may read the cache while it is filled") {
    val sql = s"SELECT s.id, r.item $three WHERE d.month = 3"
    forced {
      assert(filters(sql).nonEmpty)
      spark.sql(s"CACHE LAZY TABLE kept AS $sql")
      try {
        val filled = optimized("SELECT * FROM kept").collectLeaves().collect { case r: InMemoryRelation =>
          r.cacheBuilder.cachedPlan
        }
        assert(filled.size == 1 && !filled.head.toString.contains("might_contain"), filled)
        sameAnswer("SELECT count(*), sum(id) FROM kept", reorders = false)
      } finally Seq("UNCACHE TABLE kept", "DROP VIEW kept").foreach(spark.sql(_))
    }
  }

  test("an input that runs a program is read as a whole, whatever is left of the others") {
    val session = spark
    import session.implicits._
    spark.sparkContext.parallelize(0 until 300).map(i => (i.toLong, i % 400L)).toDF("item", "day")
      .createOrReplaceTempView("made")
    withTables("made")(forced {
      val sql = "SELECT count(*) FROM sold s JOIN made m ON s.item = m.item JOIN day d ON m.day = d.day"
      assert(filters(sql).isEmpty)
    })
  }

  test("a key of two columns of two tables, and a third table that only restricts them") {
    table("item", "SELECT id AS item, id % 9 AS kind FROM range(800)")
    val sql =
      "SELECT count(*), sum(s.id), sum(r.id) FROM sold s JOIN returned r ON s.item = r.item JOIN day d ON r.day = " +
        "d.day JOIN day e ON d.week = e.week AND s.day = e.day JOIN item i ON r.id = i.item WHERE d.month = 3 AND " +
        "i.kind = 2"
    withConf(DovetailConf.ReducersAlways.key -> "true") {
      val scans = optimized(sql).collect { case f: Filter =>
        f.condition.collect { case b: BloomFilterMightContain =>
          (tableOf(f), b.right.references.size, b.bloomFilterExpression)
        }
      }.flatten
      val (_, _, filter) = scans.find { case (table, columns, _) => table == "sold" && columns == 2 }.get
      val tests = filter.collectFirst { case s: ScalarSubquery => s.plan }.get.collect { case j: Join => j.joinType }
      // from the top down: rows are tested before they are multiplied
      assert(tests.last == LeftSemi && tests.contains(Inner), tests)
      sameAnswer(sql, reorders = false)
    }
  }

  test("Spark's own filters: one per key, whoever makes it") {
    val sparks = Seq(
      "spark.sql.optimizer.runtime.bloomFilter.enabled"                          -> "true",
      "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold" -> "1",
      "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold"            -> "100MB"
    )
    val sql = s"SELECT count(*), sum(s.id) $three WHERE r.id < 40 AND d.month = 3"
    withConf(sparks: _*)(forced {
      assert(dovetail(on = false)(filters(sql)).nonEmpty)
      val found = filters(sql)
      assert(found.nonEmpty && found == found.distinct, found)
      sameAnswer(sql, reorders = false)
    })
  }

  test("Spark's own filters read small inputs again: these have no filters, for which the subqueries would wait") {
    // Dovetail makes no filter on the binary key, and Spark does
    def raw(table: String) = s"(SELECT *, CAST(code AS BINARY) AS raw FROM $table)"
    val sql                = s"SELECT count(*), sum(s.id) FROM ${raw("sold")} s JOIN ${raw("returned")} r " +
      "ON s.raw = r.raw JOIN day d ON r.day = d.day WHERE r.id < 40"
    def subqueries(plan: LogicalPlan) =
      plan.collect { case p => p.expressions.flatMap(_.collect { case s: ScalarSubquery => s.plan }) }.flatten
    def under(limit: String)(body: => Unit) = withConf(
      "spark.sql.optimizer.runtime.bloomFilter.enabled"                          -> "true",
      "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold" -> "1",
      "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold"            -> limit
    )(forced(body))
    under("100MB") {
      val plan = optimized(sql)
      assert(subqueries(plan).nonEmpty && subqueries(plan).forall(subqueries(_).isEmpty), told(plan))
      sameAnswer(sql, reorders = false)
    }
    under("1")(assert(filters(sql).contains("returned.day")))
  }

  test("explain tells what is reduced by what, and what a run kept") {
    val sql = s"SELECT count(*), sum(s.id) $three WHERE d.month = 3"
    forced {
      val reducers = traced(sql)._2.groups.flatMap(_.after).flatMap(_.reducers)
      assert(reducers.map(_.input).toSet == Set("s", "r", "d"), reducers)
      val text = spark.sql(s"SELECT * FROM dovetail_explain('$sql', 'text', 'actual')").collect().map(_.getString(0))
        .mkString("\n")
      assert(text.contains("s reduced by r"), text)
      assert("keeps about [<\\d.]+ %; it kept [<\\d.]+ %".r.findFirstIn(text.replaceAll("\\s+", " ")).isDefined, text)
    }
  }

  test("filters are chosen by price: none for tables that are small, one for a table that is said to be large") {
    val sql = s"SELECT count(*), sum(s.id), sum(r.id) $three WHERE d.month = 3"
    val on  = DovetailConf.Reducers.key -> "true"
    withConf(on)(assert(filters(sql).isEmpty))
    withTables("large")(withConf(
      on,
      "spark.sql.autoBroadcastJoinThreshold" -> "1000",
      "spark.sql.cbo.enabled"                -> "true",
      // the files say otherwise
      DovetailConf.FootersEnabled.key -> "false",
      DovetailConf.SampleFiles.key    -> "false"
    ) {
      spark.sql("CREATE TABLE large USING parquet AS SELECT * FROM sold")
      val many           = BigInt(2000000000L)
      def key(ndv: Long) = InjectedStatistics.column(Some(BigInt(ndv)), Some(BigInt(0)), Some("0"), Some(ndv.toString))
      InjectedStatistics(spark, "large", Some(many), many * 50, Map("item" -> key(1000000), "day" -> key(400)))
      InjectedStatistics(spark, "returned", Some(1000000), 50000000, Map("item" -> key(1000000), "day" -> key(400)))
      InjectedStatistics(spark, "day", Some(365), 8000, Map("day" -> key(365), "month" -> key(12)))
      val large = sql.replace("sold", "large")
      assert(filters(large).contains("large.item"), told(traced(large)._2.groups.map(g => g.reason -> g.after)))
      sameAnswer(large)
      withConf(DovetailConf.Reducers.key -> "false")(assert(filters(large).isEmpty))
    })
  }
}
