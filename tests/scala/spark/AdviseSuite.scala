package org.apache.spark.sql.dovetail

import org.apache.spark.sql.Row
import org.scalatest.BeforeAndAfterAll

/**
 * dovetail_advise, and dovetail_stats of collected statistics: what is known, how old it is, and which statement helps.
 */
class AdviseSuite extends DovetailSuite with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sql(
      "CREATE TABLE sold USING parquet AS SELECT id % 100 AS item, id AS ticket, id % 7 AS shop, concat('c', id % 3) " +
        "AS kind FROM range(3000)"
    )
    spark.sql(
      "CREATE TABLE returned USING parquet AS SELECT id % 100 AS item, id AS ticket, array(1) AS list FROM range(300)"
    )
    spark.sql("CREATE TABLE items USING parquet AS SELECT id AS item, concat('name', id) AS name FROM range(100)")
    ()
  }

  override def afterAll(): Unit =
    try Seq("sold", "returned", "items").foreach(n => spark.sql(s"DROP TABLE IF EXISTS $n"))
    finally super.afterAll()

  private def withStore[A](body: => A): A = withDirectory { d =>
    withConf(
      "spark.dovetail.store.path"      -> d.resolve("store").toString,
      "spark.dovetail.store.writeBack" -> "false"
    )(body)
  }

  private def advice(sql: String): Map[String, Row] =
    spark.sql(s"""SELECT * FROM dovetail_advise("$sql")""").collect().map(r =>
      r.getString(0).split('.').last -> r
    ).toMap

  private def statement(r: Row): String        = r.getAs[String]("statement")
  private def state(r: Row): String            = r.getAs[String]("state")
  private def columns(r: Row): Seq[String]     = r.getAs[collection.Seq[String]]("columns").toSeq
  private def groups(r: Row): Seq[Seq[String]] =
    r.getAs[collection.Seq[collection.Seq[String]]]("groups").toSeq.map(_.toSeq)
  private def stats(of: String): Seq[Row] = spark.sql(s"SELECT * FROM dovetail_stats('$of')").collect().toSeq

  private val query =
    "SELECT i.name, count(*) FROM sold s JOIN returned r ON s.item = r.item AND s.ticket = r.ticket JOIN items i ON " +
      "i.item = s.item " +
      "WHERE s.shop = 3 AND s.kind = 'c1' AND i.name LIKE '%1%' GROUP BY i.name"

  test("join keys and filtered columns are advised, keys of two columns as groups") {
    withStore {
      val found = advice(query)
      assert(found.keySet == Set("sold", "returned", "items"))
      assert(columns(found("sold")) == Seq("item", "ticket", "shop", "kind") && columns(found("items")) == Seq(
        "item",
        "name"
      ))
      assert(groups(found("sold")) == Seq(
        Seq("shop", "kind"),
        Seq("item", "ticket")
      ) && groups(found("returned")) == Seq(Seq("item", "ticket")))
      assert(found.values.forall(r =>
        state(r) == "unknown" && r.getAs[Double]("cost_share") > 0.0 && r.getAs[Double]("cost_share") <= 1.0
      ))
      assert(found("sold").getAs[Double]("rows") == 3000.0 && found("sold").getAs[String]("source") == "footer")
      assert(statement(found("returned")).endsWith("default.returned COLUMNS (item, ticket) GROUPS ((item, ticket))"))
    }
  }

  test("what was analyzed is not advised again until it changes or a query asks for more") {
    withStore {
      advice(query).values.foreach(r => spark.sql(statement(r)))
      assert(advice(query).values.forall(r => state(r) == "fresh" && r.isNullAt(7)))
      val more = advice(
        "SELECT 1 FROM items a JOIN items b ON a.name = b.name AND a.item = b.item JOIN sold s ON s.item = a.item"
      )
      assert(state(more("items")) == "incomplete" && more(
        "items"
      ).getAs[String]("reason").contains("(item, name)") && state(more("sold")) == "fresh")
      spark.sql("INSERT INTO returned VALUES (1, 1, array(1)), (2, 2, array(2))")
      val later = advice(query)
      assert(state(later("returned")) == "stale" && state(later("sold")) == "fresh")
      assert(later("returned").getAs[String]("reason").contains("of its files were added or changed"))
      spark.sql(statement(later("returned")))
      assert(state(advice(query)("returned")) == "fresh")
    }
  }

  test("subqueries, aggregates, outer joins, views and paths are looked through") {
    withStore {
      withDirectory { d =>
        withTables("v") {
          val path = d.resolve("p").toString
          spark.table("items").write.parquet(path)
          spark.sql(
            "CREATE TEMPORARY VIEW v AS SELECT item AS it, max(ticket) AS last FROM sold WHERE shop < 5 GROUP BY item"
          )
          val found = advice(
            s"SELECT * FROM v LEFT JOIN parquet.`$path` p ON v.it = p.item WHERE EXISTS (SELECT 1 FROM returned r " +
              "WHERE r.ticket = v.last)"
          )
          assert(columns(found("sold")) == Seq("item", "ticket", "shop") && columns(found("returned")) == Seq("ticket"))
          val ofPath = found.values.find(_.getString(0).startsWith("parquet")).get
          assert(columns(ofPath) == Seq("item"))
          spark.sql(statement(ofPath))
          assert(stats(s"parquet.`$path`").head.getAs[Boolean]("fresh"))
        }
      }
    }
    assert(advice("SELECT * FROM sold WHERE shop = 1").isEmpty, "nothing hangs on a query without joins")
    assert(advice("SELECT * FROM range(5) a JOIN range(5) b ON a.id = b.id").isEmpty, "literal relations are known")
  }

  test("CSV and JSON that are read by their paths alone are analyzed by their paths") {
    withStore {
      withDirectory { d =>
        withTables("j", "c", "h") {
          spark.table("items").write.json(d.resolve("j").toString)
          spark.table("items").write.csv(d.resolve("c").toString)
          spark.table("items").write.option("header", "true").csv(d.resolve("h").toString)
          spark.read.json(d.resolve("j").toString).createOrReplaceTempView("j")
          spark.read.csv(d.resolve("c").toString).createOrReplaceTempView("c")
          spark.read.option("header", "true").csv(d.resolve("h").toString).createOrReplaceTempView("h")
          val query = "SELECT * FROM j JOIN c ON j.item = c._c0 JOIN h ON j.item = h.item"
          val asked = advice(query).values.toSeq.groupBy(r => r.getString(0).takeWhile(_ != '.'))
          val paths = (asked("json") ++ asked("csv")).map(statement)
          assert(paths.size == 2 && paths.forall(_.startsWith("DOVETAIL ANALYZE PATH")), paths)
          paths.foreach(spark.sql(_))
          val left = advice(query).values.toSeq
          assert(left.map(state).sorted == Seq("fresh", "fresh", "not analyzable"), left)
          assert(stats("j").head.getAs[String]("source") == "dovetail")
          assert(stats("c").head.getAs[String]("source") == "dovetail")
        }
      }
    }
  }

  test("what cannot be analyzed is named with the reason") {
    withDirectory { d =>
      withTables("c", "w") {
        spark.table("items").write.option("header", "true").csv(d.resolve("c").toString)
        spark.read.option("header", "true").csv(d.resolve("c").toString).createOrReplaceTempView("c")
        spark.table("items").write.parquet(d.resolve("w").toString)
        withConf(
          "spark.sql.sources.useV1SourceList" -> ""
        )(spark.read.parquet(d.resolve("w").toString).createOrReplaceTempView("w"))
        val reasons = advice("SELECT * FROM c JOIN w ON c.item = w.item").values.toSeq.map(r =>
          (state(r), statement(r), r.getAs[String]("reason"))
        )
        assert(reasons.size == 2 && reasons.forall(r => r._1 == "not analyzable" && r._2 == null))
        assert(Seq("V2 source", "with options").forall(said => reasons.exists(_._3.contains(said))))
      }
    }
  }

  test("dovetail_stats of what was collected: bounds of texts, frequent values, sample, groups, age") {
    withStore {
      spark.sql("DOVETAIL ANALYZE TABLE sold GROUPS ((item, ticket))")
      val rows = stats("sold")
      val kind = rows.find(_.getString(0) == "kind").get
      assert((
        kind.getAs[String]("min"),
        kind.getAs[String]("max"),
        kind.getAs[Int]("frequent_values")
      ) == (("c0", "c2", 3)))
      val top = kind.getAs[collection.Seq[Row]]("top_values").map(r => r.getString(0) -> r.getLong(1)).toMap
      assert(top == Map("c0" -> 1000L, "c1" -> 1000L, "c2" -> 1000L) && kind.getAs[String]("top_counts") == "exact")
      assert(kind.getAs[Double]("distinct_error") == 0.0 && kind.getAs[String]("confidence") == "exact")
      assert(kind.getAs[Long]("max_length") == 2L && kind.getAs[Long]("sample_rows") == 3000L && kind.getAs[String](
        "source"
      ) == "dovetail")
      assert(rows.head.getAs[Boolean]("fresh") && rows.head.getAs[Int]("unread_files") == 0 && rows.head.getAs[Long](
        "sample_rows"
      ) == 3000L)
      assert(
        math.abs(rows.head.getAs[java.sql.Timestamp]("collected_at").getTime - System.currentTimeMillis()) < 600000L
      )
      val group = rows.last
      assert(
        group.getAs[String]("kind") == "group" && group.getAs[collection.Seq[String]]("group_columns").toSeq == Seq(
          "item",
          "ticket"
        )
      )
      assert(math.abs(group.getAs[Long]("distinct_count") - 3000L) < 150L)
      withTables("v") {
        spark.sql("CREATE TEMPORARY VIEW v AS SELECT s.kind AS k, i.name FROM sold s JOIN items i ON s.item = i.item")
        val ofView = stats("v").map(r => r.getString(0) -> r).toMap
        assert(ofView("k").getAs[String]("source") == "dovetail" && ofView("k").getAs[Boolean]("fresh") && ofView(
          "name"
        ).getAs[String]("source") == "footer")
        assert(ofView("name").isNullAt(ofView("name").fieldIndex("fresh")) && ofView.size == 3)
      }
    }
  }

  test("dovetail_stats says what came since: after an INSERT, and after new files in a path") {
    withStore {
      withTables("grows") {
        spark.sql("CREATE TABLE grows USING parquet AS SELECT /*+ COALESCE(1) */ id FROM range(1000)")
        spark.sql("DOVETAIL ANALYZE TABLE grows")
        spark.sql("INSERT INTO grows SELECT /*+ COALESCE(1) */ id + 1000 FROM range(1000)")
        val rows = stats("grows")
        assert(rows.forall(r =>
          !r.getAs[Boolean]("fresh") && r.getAs[Int]("unread_files") == 1 && r.getAs[String]("confidence") != "exact"
        ))
        spark.sql("DOVETAIL ANALYZE TABLE grows")
        assert(stats("grows").forall(r => r.getAs[Boolean]("fresh") && r.getAs[Int]("unread_files") == 0))
      }
      withDirectory { d =>
        val path = d.resolve("p").toString
        spark.range(0, 1000, 1, 2).write.parquet(path)
        spark.sql(s"DOVETAIL ANALYZE PATH parquet.`$path`")
        spark.range(0, 3000, 1, 3).write.mode("append").parquet(path)
        assert(stats(s"parquet.`$path`").head.getAs[Int]("unread_files") == 3)
      }
    }
  }

  test("a private column shows counts and no values") {
    withStore {
      withConf("spark.dovetail.privateColumns" -> "sold.kind")(spark.sql("DOVETAIL ANALYZE TABLE sold"))
      val kind = stats("sold").find(_.getString(0) == "kind").get
      assert(Seq("min", "max", "top_values", "sample_rows").forall(c =>
        kind.isNullAt(kind.fieldIndex(c))
      ) && kind.getAs[Long]("distinct_count") == 3L)
    }
  }
}
