package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.history.{GroupRuns, History, ShowHistory}

/** Which row counts of a run are recorded: those of operators whose rows were all read, exactly once. */
class HistoryCountsSuite extends HistoryTables {
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
          assert(!recorded.contains(Set("h_fact", "h_a", "h_b")), s"$settings: $recorded")
          runs(write.replace("w = 1", "w = 2"))
          assert(recorded.get(Set("h_fact", "h_a", "h_b")).exists(_ > 0L), s"$settings: $recorded")
          spark.sql("ALTER TABLE h_target DROP PARTITION (w = 2)")
        }
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

  test("a join that is gone at run time does not get the rows of a join around it") {
    remembering("spark.sql.adaptive.enabled" -> "true") { _ =>
      val sql = "SELECT count(*) FROM (SELECT /*+ COALESCE(1) */ f.id, f.b, c.v AS w FROM h_fact f JOIN h_a a ON " +
        "f.a = a.k LEFT JOIN h_c c ON f.c = c.k AND c.v = 99) s JOIN h_b b ON s.b % 5 = b.v"
      assert(runs(sql).head.getLong(0) == 40000L)
      assert(recorded(Set("h_fact", "h_a")) == 4000L && !recorded.contains(Set("h_fact", "h_a", "h_c")), recorded)
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

  test("above an early grouping nothing is counted, also if Spark prunes partitions below it") {
    withTables("h_days") {
      spark.sql(
        "CREATE TABLE h_days USING parquet PARTITIONED BY (day) AS SELECT id, id % 20 AS day, id % 50 AS b FROM " +
          "range(4000)"
      )
      remembering(
        "spark.sql.autoBroadcastJoinThreshold" -> "10485760",
        DovetailConf.EarlyGroupingAlways.key   -> "true"
      ) { _ =>
        val joins = "FROM h_days d JOIN h_c c ON d.day = c.k JOIN h_b b ON d.b = b.k WHERE c.v = 2"
        val sql   = s"SELECT c.v, b.v, count(d.id) $joins GROUP BY c.v, b.v"
        assert(filtered(sql, "dynamicpruning"), spark.sql(sql).queryExecution.executedPlan)
        runs(sql)
        val truth = Map(Set("h_days") -> 4000L, Set("h_days", "h_c") -> 1000L, Set("h_days", "h_c", "h_b") -> 1000L)
        for ((set, rows) <- recorded) assert(truth.get(set).forall(_ == rows), recorded)
        withConf(DovetailConf.EarlyGroupingAlways.key -> "false")(runs(s"SELECT d.id $joins"))
        assert(recorded(Set("h_days", "h_c", "h_b")) == 1000L, recorded)
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
}
