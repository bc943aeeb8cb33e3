package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.dovetail.base.{BoundedJson, DovetailConf}
import org.apache.spark.sql.dovetail.history.{
  EstimateErrors,
  GroupErrors,
  GroupRuns,
  History,
  HistoryFile,
  MeasuredOrder,
  ShowHistory
}
import org.apache.spark.sql.dovetail.history.MeasuredOrder.QueryTime
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity, GroupReport}
import org.scalatest.BeforeAndAfterEach

/** Planning uses the results of earlier runs: the exact rows, if the same query ran over the same data. */
class HistorySuite extends DovetailSuite with BeforeAndAfterEach {
  private val tables = Seq("h_fact", "h_a", "h_b", "h_c")

  // nine tenths of the fact's rows have the most frequent value of `a`, which is the 'hot' one; no statistics of one
  // table tell
  override def beforeEach(): Unit = {
    super.beforeEach()
    write("h_fact", "SELECT id, if(id % 10 = 0, id % 100, 7) AS a, id % 50 AS b, id % 20 AS c FROM range(4000)")
    write("h_a", "SELECT id AS k, if(id = 7, 'hot', concat('cold', id)) AS name FROM range(100)")
    write("h_b", "SELECT id AS k, id % 5 AS v FROM range(50)")
    write("h_c", "SELECT id AS k, id % 4 AS v FROM range(20)")
  }

  override def afterEach(): Unit = { withTables(tables: _*)(()); super.afterEach() }

  private def write(table: String, query: String): Unit =
    spark.sql(s"CREATE TABLE $table USING parquet AS SELECT /*+ COALESCE(1) */ * FROM ($query)")

  private val star = "SELECT f.id, a.name, b.v, c.v FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_b b ON f.b = b.k " +
    "JOIN h_c c ON f.c = c.k WHERE a.name = 'hot' AND b.v = 1 AND c.v = 2"

  /** Runs the body with a history that starts empty. */
  private def remembering[A](settings: (String, String)*)(body: Path => A): A = withDirectory { directory =>
    withConf(
      Seq(
        DovetailConf.HistoryEnabled.key        -> "true",
        DovetailConf.StorePath.key             -> directory.resolve("store").toString,
        "spark.sql.adaptive.enabled"           -> "false",
        "spark.sql.autoBroadcastJoinThreshold" -> "-1"
      ) ++ settings: _*
    )(
      try withoutIdempotenceCheck(body(directory.resolve("store")))
      finally { ShowHistory.settle(spark); History(spark).save() } // nothing is written while the directory is deleted
    )
  }

  private def runs(sql: String): Seq[Row] = {
    val rows = spark.sql(sql).collect().toSeq; ShowHistory.settle(spark); rows
  }

  private def group(sql: String): GroupReport = traced(sql)._2.groups.head

  /** The table of each relation, by the name of the relation in the query. */
  private def tables(g: GroupReport): Map[String, String] =
    g.relations.map(r => r.name -> r.label.takeWhile(_ != ' ')).toMap

  /** Rows of all relations and joins of the plan, with their sources, by set of tables. */
  private def sizes(sql: String): Map[Set[String], (Double, String)] = {
    val g     = group(sql)
    val joins = g.after.orElse(g.before).get.joins
    val table = tables(g)
    (g.relations.map(r => Set(table(r.name)) -> r.rows.get) ++ joins.map(j =>
      j.relations.map(table).toSet -> j.rows
    )).map {
      case (set, e) => set -> ((e.value, e.source.name))
    }.toMap
  }

  private def counted(sql: String): Map[Set[String], Double] =
    sizes(sql).collect { case (set, (rows, "history")) => set -> rows }

  /** The rows that the history has counted. */
  private def recorded: Map[Set[String], Long] = {
    val shown = spark.sql("SELECT relations, rows FROM dovetail_history() WHERE kind = 'counted'").collect()
    shown.map(r => r.getSeq[String](0).map(_.split('.').last).toSet -> r.getLong(1)).toMap
  }

  private def count(sql: String): Double = dovetail(on = false)(spark.sql(sql).count().toDouble)

  test("a query that has run is planned with its rows, each with its source; the answer stays") {
    remembering() { _ =>
      assert(counted(star).isEmpty)
      val first = runs(star)
      val known = counted(star)
      assert(known(Set("h_a")) == 1.0 && known(Set("h_b")) == 10.0 && known(Set("h_c")) == 5.0)
      assert(known(Set("h_fact", "h_a", "h_b", "h_c")) == first.size.toDouble)
      assert(
        group(star).reason.contains("history: rows of 7 sub-plans, counted in 1 run, the last "),
        group(star).reason
      )
      assert(runs(star).toSet == first.toSet)
      dovetail(on = false)(assert(spark.sql(star).collect().toSet == first.toSet))
    }
  }

  test("what the user said of a part counts more than what runs have counted") {
    remembering() { _ =>
      runs(star)
      assert(sizes(star)(Set("h_b")) == ((10.0, "history")))
      spark.sql("DOVETAIL SET ROWS 7 FOR SELECT * FROM h_b WHERE v = 1").collect()
      assert(sizes(star)(Set("h_b")) == ((7.0, "given")))
      assert(sizes(star)(Set("h_c"))._2 == "history")
      spark.sql("DOVETAIL FORGET ROWS").collect()
      assert(sizes(star)(Set("h_b")) == ((10.0, "history")))
    }
  }

  test("another query finds the parts that it has in common") {
    remembering() { _ =>
      runs(star)
      val other =
        "SELECT max(x.id), y.name FROM h_a y, h_b z, h_fact x WHERE x.b = z.k AND y.k = x.a AND z.v = 1 AND " +
          "y.name = 'hot' GROUP BY y.name"
      val known = counted(other)
      assert(known(Set("h_a")) == 1.0 && known(Set("h_b")) == 10.0, sizes(other))
      // the first query left out fact rows without a key of `c`, this one does not
      assert(!known.contains(Set("h_fact")))
    }
  }

  test("rows of a limit are not those of the same limit over another order") {
    def top(order: String) =
      s"SELECT count(*) FROM (SELECT a, b, c FROM h_fact ORDER BY $order LIMIT 50) f JOIN h_a a ON f.a = a.k " +
        "JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k WHERE a.name = 'hot'"
    remembering() { _ =>
      assert(runs(top("a")) != runs(top("a DESC, b")), "the two limits keep rows with other partners")
      runs(top("a"))
      for (order <- Seq("a", "a DESC, b")) {
        val g = group(top(order))
        assert(g.relations.exists(_.name == "f"), g)
        for (r <- g.relations if r.name == "f") assert(r.rows.forall(_.source.name != "history"), s"$r by $order")
        for (j <- g.joins if j.relations.contains("f")) assert(j.rows.source.name != "history", s"$j by $order")
      }
    }
  }

  test("a count below a limit is none") {
    remembering() { _ =>
      runs(s"$star LIMIT 1")
      // exchanges below the limit are read completely
      assert(recorded.contains(Set("h_a")) && !recorded.contains(Set("h_fact", "h_a", "h_b", "h_c")), recorded)
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10485760") {
        spark.sql("DOVETAIL FORGET HISTORY")
        runs(s"$star LIMIT 1")
        assert(recorded.keySet == Set(Set("h_a"), Set("h_b"), Set("h_c")), recorded)
      }
    }
  }

  test("an input of a sort-merge join that was sorted before is not counted: the join stops early") {
    remembering() { _ =>
      withTables("h_left", "h_right", "h_third") {
        for ((t, n) <- Seq("h_left" -> 4000, "h_right" -> 100, "h_third" -> 4000))
          spark.range(0, n.toLong, 1, 1).selectExpr("id AS k", "id AS v").write.format("parquet")
            .bucketBy(2, "k").sortBy("k").saveAsTable(t)
        val sql = "SELECT l.v, r.v FROM h_left l JOIN h_right r ON l.k = r.k JOIN h_third t ON t.k = l.k"
        runs(sql)
        assert(recorded == Map(Set("h_left", "h_right", "h_third") -> 100L))
      }
    }
  }

  test("an input that a hash join does not read, because its table is empty, is not counted") {
    remembering() { _ =>
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10485760") {
        val none = "SELECT f.id, a.name, c.v FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_c c ON f.c = c.k WHERE " +
          "f.id >= 100 AND c.v = 99"
        assert(runs(none).isEmpty)
        assert(recorded.get(Set("h_c")).contains(0L), recorded)
        assert(recorded.keySet.forall(set => !set.contains("h_fact") || set.contains("h_c")), recorded)
        runs(none.replace("c.v = 99", "c.v = 1"))
        assert(recorded.get(Set("h_fact")).contains(3900L), recorded)
      }
    }
  }

  test("a limit that Spark pushes down to an input is not the input's number of rows") {
    remembering() { _ =>
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10485760") {
        val product = "SELECT /*+ DOVETAIL_ORDER('(a b) c') */ a.name, b.v, c.k FROM h_c c, h_a a, h_b b " +
          "WHERE a.k = b.k AND c.v = 1"
        runs(s"$product LIMIT 3")
        assert(recorded.get(Set("h_c")).forall(_ == 5L), recorded)
        runs(product)
        assert(recorded.get(Set("h_c")).contains(5L), recorded)
      }
    }
  }

  test("a write that skips what exists has counted nothing") {
    withTables("h_target") {
      spark.sql("CREATE TABLE h_target (name STRING, v INT, w INT) USING parquet PARTITIONED BY (w)")
      spark.sql("INSERT INTO h_target VALUES ('x', 1, 1)")
      val rows      = "SELECT a.name, b.v FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_b b ON f.b = b.k WHERE b.v < 3"
      val write     = s"INSERT OVERWRITE h_target PARTITION (w = 1) IF NOT EXISTS $rows"
      val adaptive  = "spark.sql.adaptive.enabled"
      val coalesces = "spark.sql.adaptive.coalescePartitions.enabled"
      for (
        settings <-
          Seq(Seq(adaptive -> "false"), Seq(adaptive -> "true"), Seq(adaptive -> "true", coalesces -> "false"))
      )
        remembering(settings: _*) { _ =>
          runs(write)
          assert(recorded.values.forall(_ > 0L), s"$settings: $recorded")
          runs(write.replace("w = 1", "w = 2"))
          assert(recorded.get(Set("h_fact", "h_a", "h_b")).exists(_ > 0L), s"$settings: $recorded")
          spark.sql("ALTER TABLE h_target DROP PARTITION (w = 2)")
        }
    }
  }

  test("rows of data that has grown are scaled, without an upper bound; other data has no history") {
    remembering() { _ =>
      runs(star)
      spark.sql("INSERT INTO h_fact SELECT id, 7, id % 50, id % 20 FROM range(4000)")
      val all   = Set("h_fact", "h_a", "h_b", "h_c")
      val g     = group(star)
      val whole = g.after.orElse(g.before).get.joins.find(_.relations.map(tables(g)).toSet == all).get.rows
      assert(whole.source.name == "history" && whole.value > count(star) / 3 && whole.upper > whole.value, whole)
      assert(sizes(star)(Set("h_a")) == ((1.0, "history")))
      spark.sql("INSERT OVERWRITE h_fact SELECT id, 1, 1, 1 FROM range(10)")
      assert(!counted(star).contains(all) && counted(star)(Set("h_a")) == 1.0)
    }
  }

  test("other constants are corrected by how far off the estimates were, with bounds") {
    // otherwise Dovetail would read all rows of these tables
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int) = star.replace("b.v = 1", s"b.v = $v").replace("'hot'", "'cold20'")
      (0 to 2).foreach(v => runs(of(v)))
      val g = group(of(3))
      val e = g.relations.find(r => tables(g)(r.name) == "h_b").get.rows.get
      assert(
        e.source.name == "history" && e.lower < e.value && e.value < e.upper && e.lower <= 10.0,
        e
      )
      // the errors of other constants are no bound: this constant may have all rows of the table
      assert(e.upper >= 50.0, e)
      assert(counted(of(2))(Set("h_b")) == 10.0)
    }
  }

  test("a relation whose joins vanish at run time is not counted: what remains above it returns other rows") {
    remembering() { _ =>
      withConf("spark.sql.adaptive.enabled" -> "true") {
        runs("SELECT max(f.id) FROM h_fact f JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k WHERE b.v = 17")
        runs(
          "SELECT max(f.id) FROM h_fact f JOIN h_c c ON f.c = c.k WHERE NOT EXISTS " +
            "(SELECT 1 FROM h_b b WHERE b.k = f.b AND b.v = 17)"
        )
      }
      assert(recorded.get(Set("h_fact")).forall(_ == 4000L), recorded)
    }
  }

  test("a union counts as all of its branches") {
    remembering() { _ =>
      val sql =
        "SELECT count(*) FROM (SELECT b, c FROM h_fact UNION ALL SELECT k, k FROM h_a WHERE k < 3) u " +
          "JOIN h_b b ON u.b = b.k JOIN h_c c ON u.c = c.k"
      runs(sql)
      assert(recorded.get(Set("h_fact", "h_a")).contains(4003L), recorded)
    }
  }

  test("joins outside of a group are none of its joins: a body that runs once for two uses") {
    remembering() { _ =>
      // the second use has other columns, and each of its rows has many partners above
      val body = "SELECT f.b, a.name, count(*) AS n FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_c c ON f.c = c.k " +
        "WHERE a.k < 60 GROUP BY f.b, a.name"
      runs(s"WITH t AS ($body) SELECT count(x.name) FROM t x JOIN t y ON x.n <> y.n + 0.5 WHERE x.name <= y.name")
      val joined = "SELECT 1 FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_c c ON f.c = c.k WHERE a.k < 60"
      assert(recorded.get(Set("h_fact", "h_a", "h_c")).contains(count(joined).toLong), recorded)
      val largest = recorded.collect { case (set, rows) if !set("h_b") => rows }.max
      assert(largest <= 4000L, recorded)
    }
  }

  test("a body that a query contains twice, with other constants, is counted for both") {
    remembering() { _ =>
      def body(v: Int) = s"SELECT f.id FROM h_fact f JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k WHERE b.v = $v"
      runs(s"SELECT * FROM (${body(1)}) UNION ALL SELECT * FROM (${body(2)}) UNION ALL SELECT * FROM (${body(1)})")
      for (v <- 1 to 2) assert(counted(body(v))(Set("h_fact", "h_b", "h_c")) == count(body(v)), v)
      val entries = History(spark).now.entries
      assert(entries.map(_.runs) == Vector(1, 1, 1), entries)
      val errors = entries.collect { case e: GroupErrors => e.sets.values.map(_.n) }.flatten
      assert(errors.nonEmpty && errors.max == 2, s"$errors $factors")
    }
  }

  test("a join that is gone at run time does not get the rows of a join around it") {
    remembering("spark.sql.adaptive.enabled" -> "true") { _ =>
      val sql = "SELECT count(*) FROM (SELECT /*+ COALESCE(1) */ f.id, f.b, c.v AS w FROM h_fact f JOIN h_a a ON " +
        "f.a = a.k LEFT JOIN h_c c ON f.c = c.k AND c.v = 99) s JOIN h_b b ON s.b % 5 = b.v"
      assert(runs(sql).head.getLong(0) == 40000L)
      assert(recorded(Set("h_fact", "h_a")) == 4000L && !recorded.contains(Set("h_fact", "h_a", "h_c")), recorded)
    }
  }

  private def factors: Map[Set[Int], EstimateErrors] =
    History(spark).now.entries.collect { case e: GroupErrors => e.sets }.flatten.toMap

  test("an error is counted once for the same constants, however often they run") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      runs(star)
      val once = factors
      (1 to 5).foreach(_ => runs(star))
      // another order, which is chosen now, has other joins
      assert(once.nonEmpty && once.forall { case (set, e) => factors(set) == e } && factors.values.forall(_.n == 1))
      runs(star.replace("'hot'", "'cold20'"))
      assert(factors.values.exists(_.n == 2))
    }
  }

  test("files that were added change neither errors for other constants nor counts that a LIMIT did not make anew") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int) = star.replace("b.v = 1", s"b.v = $v").replace("'hot'", "'cold20'")
      runs(of(0))
      val before = factors
      spark.sql("INSERT INTO h_fact SELECT id, 7, id % 50, id % 20 FROM range(400)")
      assert(sizes(of(3))(Set("h_b"))._2 == "history", sizes(of(3)))
      // nothing of it is read to its end
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10485760")(runs(s"${of(0)} LIMIT 1"))
      assert(counted(of(0)).contains(Set("h_fact", "h_a", "h_b", "h_c")), sizes(of(0)))
      runs(of(1))
      assert(factors.forall { case (set, e) => before.get(set).forall(_.n < e.n) } && factors.size >= before.size)
      spark.sql("INSERT OVERWRITE h_fact SELECT id, 1, 1, 1 FROM range(10)")
      assert(sizes(of(3))(Set("h_fact"))._2 != "history")
    }
  }

  test("errors of other statistics correct nothing: they would make good estimates bad") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int) = star.replace("b.v = 1", s"b.v = $v")
      runs(of(0))
      assert(sizes(of(3))(Set("h_b"))._2 == "history")
      tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS FOR ALL COLUMNS"))
      assert(sizes(of(3))(Set("h_b"))._2 != "history", sizes(of(3)))
      assert(counted(of(0))(Set("h_b")) == 10.0, "a count stays a count")
      spark.sql(s"DOVETAIL FORGET HISTORY FOR ${of(3)}")
      tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS NOSCAN"))
      assert(factors.isEmpty)
    }
  }

  test("the best order that has run is used if it costs less than the written one, however little that is") {
    val sql =
      "SELECT f.id FROM h_fact f JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k JOIN h_a a ON f.a = a.k WHERE " +
        "a.name = 'cold20'"
    val asked = sql.replace("SELECT", "SELECT /*+ DOVETAIL_ORDER('(((f a) b) c)') */")
    remembering(DovetailConf.MinGain.key -> "0.95") { _ =>
      assert(group(sql).status == "kept")
      runs(asked)
      val again = group(sql)
      assert(again.status == "reordered" && again.after.get.cost.total < again.before.get.cost.total, again)
      assert(again.after.get.order == group(asked).after.get.order, again)
      withConf(DovetailConf.MinGain.key -> "1.0")(assert(group(sql).status == "kept"))
    }
  }

  test("an order that has run is not used if it costs more than the written one, which has not") {
    val sql =
      "SELECT f.id FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k WHERE " +
        "a.name = 'cold20'"
    remembering() { _ =>
      val asked = sql.replace("SELECT", "SELECT /*+ DOVETAIL_ORDER('(((f c) b) a)') */")
      runs(asked)
      val again = group(sql)
      assert(again.joins.map(_.rows.value).sum < group(asked).joins.map(_.rows.value).sum, again)
    }
  }

  test("the time of a frame counts like that of a query: by what it computes, and the action") {
    remembering() { _ =>
      def times = History(spark).now.entries.collect { case g: GroupRuns => g.orders.flatMap(_.times) }.flatten
      def frame = spark.table("h_fact").as("f").join(spark.table("h_b").as("b"), expr("f.b = b.k"))
        .join(spark.table("h_c").as("c"), expr("f.c = c.k")).select("f.id")
      frame.collect()
      ShowHistory.settle(spark)
      assert(times.nonEmpty && times.forall(!_.warm), times)
      frame.collect()
      ShowHistory.settle(spark)
      assert(times.forall(_.warm), times)
      assert(times.map(_.query).distinct.size == 1 && times.forall(_.millis >= 0L), times)
      frame.count()
      ShowHistory.settle(spark)
      frame.where("id % 2 = id % 2 + 0").collect()
      ShowHistory.settle(spark)
      assert(times.map(_.query).distinct.size == 3, times)
      runs("SELECT f.id FROM h_fact f JOIN h_b b ON f.b = b.k JOIN h_c c ON f.c = c.k")
      assert(times.map(_.query).distinct.size == 3, "the same as the frame")
    }
  }

  /** Whether a filter that was made from another input is in the plan that has run. */
  private def filtered(sql: String, by: String): Boolean = {
    val plan = spark.sql(sql).queryExecution.executedPlan.toString
    plan.contains(by)
  }

  test("an input that another one prunes is not counted without it: partitions") {
    withTables("h_days") {
      spark.sql(
        "CREATE TABLE h_days USING parquet PARTITIONED BY (day) AS SELECT id, id % 20 AS day, id % 50 AS b FROM " +
          "range(4000)"
      )
      remembering("spark.sql.autoBroadcastJoinThreshold" -> "10485760") { _ =>
        val sql = "SELECT d.id, b.v FROM h_days d JOIN h_c c ON d.day = c.k JOIN h_b b ON d.b = b.k WHERE c.v = 2"
        assert(filtered(sql, "dynamicpruning"), spark.sql(sql).queryExecution.executedPlan)
        runs(sql)
        assert(!recorded.contains(Set("h_days")) && !recorded.contains(Set("h_days", "h_b")), recorded)
        assert(recorded(Set("h_c")) == 5L && recorded(Set("h_days", "h_c", "h_b")) == 1000L, recorded)
        // the same input without the filter has all its rows
        runs(sql.replace("WHERE c.v = 2", ""))
        assert(recorded(Set("h_days")) == 4000L, recorded)
      }
    }
  }

  test("an input that a Bloom filter of Spark or of Dovetail reduces is not counted without the filter's source") {
    val ofSpark = Seq(
      "spark.sql.optimizer.runtime.bloomFilter.enabled"                          -> "true",
      "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold" -> "0"
    )
    for (settings <- Seq(ofSpark, Seq(DovetailConf.ReducersAlways.key -> "true")))
      remembering(settings: _*) { _ =>
        val sql = star.replace("a.name = 'hot' AND ", "")
        assert(filtered(sql, "might_contain"), spark.sql(sql).queryExecution.executedPlan)
        runs(sql)
        assert(recorded.get(Set("h_fact")).forall(_ == 4000L), recorded)
        for ((set, rows) <- recorded) {
          val from = set.toVector.sorted.map { case "h_fact" => "h_fact f"; case t => s"$t ${t.last}" }
          val on   = Seq("a", "b", "c").filter(t => set(s"h_$t")).map(t => s"f.$t = $t.k")
          val kept = Seq("b.v = 1" -> "h_b", "c.v = 2" -> "h_c").collect { case (p, t) if set(t) => p }
          val all  = if (set("h_fact")) on ++ kept else kept
          val sure = if (all.isEmpty) "" else all.mkString(" WHERE ", " AND ", "")
          assert(
            rows == count(s"SELECT 1 FROM ${from.mkString(", ")}$sure").toLong,
            s"$set of $recorded with $settings"
          )
        }
        assert(recorded.nonEmpty)
      }
  }

  test("a reused exchange counts its input once") {
    remembering() { _ =>
      val sql = "SELECT x.id, y.id FROM h_fact f JOIN (SELECT k, v AS id FROM h_b WHERE v = 1) x ON f.b = x.k JOIN " +
        "(SELECT k, v AS id FROM h_b WHERE v = 1) y ON f.c = y.k JOIN h_c c ON f.c = c.k"
      assert(filtered(sql, "ReusedExchange"), spark.sql(sql).queryExecution.executedPlan)
      runs(sql)
      // the second use of the exchange runs nothing
      assert(recorded.contains(Set("h_c")) && recorded.get(Set("h_b")).forall(_ == 10L), recorded)
      assert(counted(sql).get(Set("h_b")).forall(_ == 10.0))
    }
  }

  test("a second action on a frame, and an action that has not read all rows, are not counted") {
    remembering() { _ =>
      val frame = spark.sql(star)
      // Spark reports the first action when the second one may have reset the metrics
      frame.collect()
      frame.collect()
      ShowHistory.settle(spark)
      assert(recorded.values.forall(_ > 0L), recorded)
      spark.sql("DOVETAIL FORGET HISTORY")
      val again = spark.sql(star)
      again.collect()
      ShowHistory.settle(spark)
      val first = recorded
      assert(first.contains(Set("h_a")), first)
      again.collect()
      ShowHistory.settle(spark)
      assert(recorded == first)
      spark.sql("DOVETAIL FORGET HISTORY")
      val rows = spark.sql(star).toLocalIterator()
      ShowHistory.settle(spark)
      assert(recorded.isEmpty)
      while (rows.hasNext) rows.next()
      ShowHistory.settle(spark)
      assert(recorded.isEmpty)
    }
  }

  test("an order whose run failed is noted, never the best, and ends the trials") {
    val (ran, tried) =
      (MeasuredOrder("(0 1)", 1, Vector(QueryTime("q", 9L, warm = true))), MeasuredOrder("(1 0)", 0, Vector.empty))
    assert(MeasuredOrder.added(Vector(ran), tried) == Vector(ran, tried))
    assert(MeasuredOrder.added(Vector(ran), tried.copy(shape = ran.shape)) == Vector(ran))
    assert(MeasuredOrder.added(Vector(ran, tried), ran.copy(shape = "(1 0)")).last.finished)
    remembering() { _ =>
      runs(star)
      def orders = History(spark).now.entries.collect { case g: GroupRuns => g.orders }.flatten
      assert(orders.map(_.finished) == Vector(true))
      // at least one of them is not the order that has run
      for (order <- Seq("(((f c) b) a)", "(((f a) b) c)")) {
        val failing = star.replace("SELECT f.id", s"SELECT /*+ DOVETAIL_ORDER('$order') */ raise_error(f.id)")
        intercept[Exception](spark.sql(failing).collect())
        ShowHistory.settle(spark)
      }
      assert(orders.exists(!_.finished) && orders.count(_.finished) == 1, orders)
      // the order that ran is kept, whatever seems better now
      runs(star)
      assert(orders.filter(_.finished).map(_.runs) == Vector(2), orders)
    }
  }

  test("an input whose function may answer otherwise next time is not counted; the other inputs are") {
    remembering() { _ =>
      spark.udf.register("h_odd", (i: Long) => i % 2 == 1)
      def sets = History(spark).now.entries.collect { case g: GroupRuns => g.orders.size -> g.sets.size }
      Seq("h_odd(k)", "rand() < 0.99", "k < (SELECT max(k) FROM h_c)").foreach { p =>
        val sql = star.replace("JOIN h_a a", s"JOIN (SELECT * FROM h_a WHERE $p) a")
        assert(counted(sql).isEmpty, p)
        runs(sql)
        val found = counted(sql)
        assert(recorded.keySet == found.keySet && found.keySet.forall(!_.contains("h_a")), s"$p: $found $recorded")
        assert(found(Set("h_b")) == 10.0 && found(Set("h_c")) == 5.0, s"$p: $found")
        // an order of all inputs is none of the recognized ones
        assert(sets.map(_._1) == Vector(0), s"$p: $sets")
        assert(runs(sql).size <= count(star), p)
        spark.sql("DOVETAIL FORGET HISTORY")
      }
    }
  }

  test("the same files read in another way are other data") {
    withTables("h_text") {
      remembering() { store =>
        val path              = store.resolveSibling("h_text").toString
        def read(sep: String) =
          spark.read.schema("k INT, v INT").option("sep", sep).csv(path).createOrReplaceTempView("h_text")
        val sql = "SELECT f.id, t.v, b.v FROM h_fact f JOIN h_text t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE t.v > 5"
        spark.range(100).selectExpr("id", "id * 2").coalesce(1).write.option("sep", ";").csv(path)
        read(",")
        assert(runs(sql).isEmpty && counted(sql)(Set("h_text")) == 0.0)
        read(";")
        assert(!counted(sql).contains(Set("h_text")), "no row of this reading was counted")
        assert(runs(sql).nonEmpty && counted(sql)(Set("h_text")) == 97.0)
      }
    }
  }

  test("paths of one VARIANT column are different conditions") {
    assume(spark.version >= "4.0")
    withTables("h_json") {
      // Spark reads paths of VARIANT values only in compiled code
      remembering("spark.sql.codegen.factoryMode" -> "FALLBACK") { _ =>
        write(
          "h_json",
          "SELECT id AS k, parse_json(concat('{\"a\": ', id % 5, ', \"b\": ', id % 2, '}')) AS v FROM range(100)"
        )
        def over(path: String) =
          "SELECT f.id, b.v FROM h_fact f JOIN h_json t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE " +
            s"try_variant_get(t.v, '$$.$path', 'int') = 1"
        runs(over("a"))
        assert(counted(over("a"))(Set("h_json")) == 20.0)
        // an estimate, corrected as for another constant
        assert(!counted(over("b")).get(Set("h_json")).contains(20.0))
      }
    }
  }

  test("what depends on the time zone is counted in that time zone") {
    withTables("h_time") {
      remembering() { _ =>
        write("h_time", "SELECT id AS k, timestamp_seconds(3 * 3600 + id) AS ts FROM range(100)")
        val sql = "SELECT f.id FROM h_fact f JOIN h_time t ON f.a = t.k JOIN h_b b ON f.b = b.k WHERE "
        Seq("hour(t.ts) = 3", "t.ts < TIMESTAMP'1970-01-01 03:30:00'").foreach { filter =>
          withConf("spark.sql.session.timeZone" -> "UTC") {
            runs(sql + filter)
            assert(counted(sql + filter)(Set("h_time")) == 100.0)
          }
          withConf("spark.sql.session.timeZone" -> "Asia/Tokyo") {
            assert(!counted(sql + filter).contains(Set("h_time")), filter)
            runs(sql + filter)
            assert(counted(sql + filter)(Set("h_time")) == 0.0)
          }
        }
      }
    }
  }

  test("one switch: nothing is remembered, nothing is used") {
    remembering() { store =>
      withConf(DovetailConf.HistoryEnabled.key -> "false")(runs(star))
      assert(counted(star).isEmpty)
      runs(star)
      assert(counted(star).nonEmpty)
      withConf(DovetailConf.HistoryEnabled.key -> "false")(assert(counted(star).isEmpty))
    }
  }

  test("it is told as a table, forgotten by table and by query, written to a file and read from it") {
    remembering() { store =>
      runs(star)
      val shown = spark.sql("SELECT * FROM dovetail_history()").collect()
      val whole = shown.filter(r => r.getAs[String]("kind") == "counted" && r.getSeq[String](2).size == 4)
      assert(whole.length == 1 && whole.head.getAs[Long]("rows") == count(star).toLong)
      assert(shown.exists(_.getAs[String]("kind") == "corrected"))
      def say(sql: String) = spark.sql(s"DOVETAIL $sql").head().getString(0)
      val file             = store.resolveSibling("history of a day.json").toString
      assert(say(s"SAVE HISTORY '$file'").startsWith("2 entries"))
      assert(say("FORGET HISTORY FOR TABLE h_a") == "2 entries of the history removed")
      assert(counted(star).isEmpty)
      assert(say(s"LOAD HISTORY '$file'").startsWith("2 entries"))
      assert(counted(star).nonEmpty)
      assert(say(s"FORGET HISTORY FOR $star") == "2 entries of the history removed")
      runs(star)
      assert(say("FORGET HISTORY") == "2 entries of the history removed")
      assert(spark.sql("SELECT * FROM dovetail_history()").isEmpty)
    }
  }

  test("orders converge: what is worse is left after one run, and nothing moves after that") {
    remembering(DovetailConf.MinGain.key -> "0") { _ =>
      // correlated keys: any estimate is off by a factor of a hundred, in both directions
      withTables("h_x", "h_y", "h_z") {
        write("h_x", "SELECT id, id % 40 AS p, id % 40 AS q, if(id % 40 < 20, 1, id) AS r FROM range(8000)")
        write("h_y", "SELECT id % 40 AS p, id % 40 AS q, id % 3 AS v FROM range(400)")
        write("h_z", "SELECT if(id < 50, 1, id) AS r, id % 2 AS w FROM range(200)")
        val sql =
          "SELECT x.id FROM h_x x JOIN h_y y ON x.p = y.p AND x.q = y.q JOIN h_z z ON x.r = z.r JOIN h_a a ON " +
            "a.k = x.p WHERE y.v = 1 AND z.w = 1 AND a.name <> 'hot'"
        def joinRows =
          spark.sql("SELECT max_by(join_rows, id) FROM dovetail_queries() WHERE runs > 0").head().getLong(0)
        val rows  = (1 to 6).map { _ => runs(sql); joinRows }
        val worse = rows.indices.tail.count(i => rows(i) > rows.take(i).min * 1.1)
        assert(worse <= 1 && rows.takeRight(2).toSet.size == 1 && rows.last <= rows.min * 1.1, rows)
        assert(rows.last <= rows.head * 1.1, rows)
      }
    }
  }

  private def historyIn(store: Path): History = HistoryWriter.history(store.toString)

  private def entry(key: String, runs: Int = 1): GroupRuns = {
    val relation = GroupIdentity.OfRelation("r", Vector("t"), DataStamp(1L, 1, 1L, 1L))
    GroupRuns(key, Vector(relation), Map(Set(0) -> GroupRuns.OfSet("r", 7L, 3.0)), Vector.empty, None, runs, 1000L)
  }

  test("two applications that write at once lose nothing") {
    withDirectory { directory =>
      val writers = (0 until 2).map { w =>
        val history = historyIn(directory)
        new Thread(() =>
          (0 until 20).foreach { i => history.add(Seq(s"$w-$i"))((key, _) => entry(key)); history.save() }
        )
      }
      writers.foreach(_.start())
      writers.foreach(_.join())
      assert(historyIn(directory).now.entries.map(_.key).toSet == (for (w <- 0 to 1; i <- 0 until 20)
        yield s"$w-$i").toSet)
    }
  }

  test("the file is bounded: entries of few runs leave first") {
    withDirectory { directory =>
      val history = historyIn(directory)
      val many    = (0 until 40000).map(i => f"$i%06d")
      history.add(many)((key, _) => entry(key, runs = if (key.endsWith("7")) 9 else 1))
      history.save()
      val kept = historyIn(directory).now.entries
      assert(Files.size(directory.resolve("history.json")) < (1L << 20))
      assert(kept.size < many.size && many.filter(_.endsWith("7")).toSet.subsetOf(kept.map(_.key).toSet), kept.size)
    }
  }

  test("entries that come while the index rests are seen by the statement that follows") {
    remembering() { _ =>
      // so many that the index rests for longer than this test takes
      val many    = (0 until 40000).map(i => entry(f"$i%06d"))
      val history = History(spark)
      history.take(many.toVector)
      history.take(Vector(entry("a", runs = 9)))
      assert(history.now.runs("a").isDefined)
      History.later(0L)(history.add(Seq("b"))((key, _) => entry(key, runs = 9)))
      ShowHistory.settle(spark)
      assert(history.now.runs("b").isDefined)
    }
  }

  test("what is kept comes back from JSON as it was; nonsense is left out") {
    val errors =
      GroupErrors("~e", Vector("t"), DataStamp(-5L, 2, 3L, 4L), Map(Set(0, 2) -> EstimateErrors(3, -0.5, 1e-9)), 2, 5L)
    val orders =
      Vector(MeasuredOrder("(0 1)", 2, Vector(QueryTime("p", 3L, warm = false), QueryTime("q", 17L, warm = true))))
    val all = Vector(entry("a").copy(orders = orders), errors)
    assert(HistoryFile.fromJson(HistoryFile.toJson(all)) == all)
    val json = HistoryFile.toJson(all).toString
    for (wrong <- Seq(json.replace("0 r 7", "9 r 7"), json.replace("0 r 7", "0 r"), json.replace("0 r 7", "0 r 1e99")))
      assert(HistoryFile.fromJson(BoundedJson.read(wrong.getBytes("UTF-8"))) == Vector(errors), wrong)
  }

  test("errors of estimates: the mean, drawn to none while there are few, and bounds that hold most values") {
    val once = EstimateErrors.none + (1000.0, 10.0)
    assert(math.abs(once.factor._2 - 10.0) < 1e-9 && once.factor._1 < 1.0 && once.factor._3 > 100.0)
    val random = new scala.util.Random(1)
    val drawn  = Vector.fill(400)(20.0 * math.exp(0.5 * random.nextGaussian()))
    val known  = drawn.take(200).foldLeft(EstimateErrors.none)((e, x) => e + (x * 1000, 1000))
    val inside = drawn.drop(200).count(x => x >= known.factor._1 && x <= known.factor._3)
    assert(math.abs(known.factor._2 - 20.0) < 2.0 && inside >= 180 && known.factor._3 / known.factor._1 < 20.0)
  }

  test("it outlives the application: another one finds what was written, and adds to it") {
    remembering() { store =>
      runs(star)
      val mine = History(spark)
      mine.save()
      val text = Files.readString(store.resolve("history.json"))
      // no literals of the query
      assert(text.contains("h_fact") && !text.contains("hot"), text)
      assert(historyIn(store).now.entries.map(_.key).toSet == mine.now.entries.map(_.key).toSet)
    }
  }

  test("where nothing can be written, the history stays in memory, after the attempt to write it, too") {
    remembering() { store =>
      val file = Files.createFile(store.resolveSibling("no directory"))
      withConf(DovetailConf.StorePath.key -> file.resolve("store").toString) {
        runs(star)
        assert(counted(star).nonEmpty)
        History(spark).save()
        assert(counted(star).nonEmpty, "after the file could not be written")
        runs(star.replace("'hot'", "'cold20'"))
        History(spark).save()
        assert(counted(star).nonEmpty && counted(star.replace("'hot'", "'cold20'")).nonEmpty)
      }
    }
  }

  test("a file that is broken is no history, and is not written over; queries run") {
    remembering() { store =>
      Files.createDirectories(store)
      Seq("", "{", "[]", "{\"version\": 1, \"history\": [{\"kind\": \"runs\"}, 5]}", "{\"version\": 9}").foreach {
        text =>
          val broken = Files.createTempDirectory(store, "broken")
          Files.writeString(broken.resolve("history.json"), text)
          withConf(DovetailConf.StorePath.key -> broken.toString) {
            assert(counted(star).isEmpty)
            assert(runs(star).nonEmpty)
            History(spark).save()
            if (!text.contains("runs")) assert(Files.readString(broken.resolve("history.json")) == text)
          }
      }
    }
  }
}
