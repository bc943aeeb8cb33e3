package org.apache.spark.sql.dovetail

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.history.{
  EstimateErrors,
  GroupErrors,
  GroupRuns,
  History,
  MeasuredOrder,
  ShowHistory
}
import org.apache.spark.sql.dovetail.history.MeasuredOrder.QueryTime
import org.apache.spark.sql.dovetail.report.DataStamp

/** What several runs teach: how far off the estimates are for other constants, and which order is the best. */
class HistoryLearningSuite extends HistoryTables {
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

  private def factors: Map[Set[Int], EstimateErrors] =
    History(spark).now.entries.collect { case e: GroupErrors => e.sets }.flatten.toMap

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

  test("a preview after files were added leaves the counts of the whole join, and none of other data") {
    remembering("spark.sql.autoBroadcastJoinThreshold" -> "10485760") { _ =>
      val sql = "SELECT f.id, a.name, b.v FROM h_fact f JOIN h_a a ON f.a = a.k JOIN h_b b ON f.b = b.k"
      val all = Set("h_fact", "h_a", "h_b")
      runs(sql)
      assert(recorded(all) == 4000L)
      spark.sql("INSERT INTO h_fact SELECT id, 7, id % 50, id % 20 FROM range(400)")
      runs(s"$sql LIMIT 1")
      assert(recorded(all) == 4000L && sizes(sql)(all)._2 == "history", recorded)
      val g = group(sql)
      assert(g.after.orElse(g.before).get.joins.filter(_.relations.size == 3).forall(!_.rows.isExact), "only scaled")
      runs(sql)
      assert(recorded(all) == 4400L)
      runs(s"$sql LIMIT 1")
      assert(recorded(all) == 4400L, "the same data")
      spark.sql("INSERT OVERWRITE h_fact SELECT id, 7, id % 50, id % 20 FROM range(300)")
      runs(s"$sql LIMIT 1")
      assert(!recorded.contains(all) && recorded(Set("h_a")) == 100L, recorded)
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

  test("errors are those of the statistics that were there: another ANALYZE ends them, the same one does not") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int)                  = star.replace("b.v = 1", s"b.v = $v")
      def analyze(what: String): Unit = tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS $what"))
      def source                      = sizes(of(3))(Set("h_b"))._2
      analyze("")
      runs(of(0))
      assert(source == "history")
      analyze("FOR ALL COLUMNS")
      assert(source != "history", "the estimate is right now")
      assert(counted(of(0))(Set("h_b")) == 10.0, "a count stays a count")
      runs(of(1))
      assert(source == "history")
      analyze("FOR ALL COLUMNS")
      assert(source == "history", "the same statistics")
    }
  }

  private def isCorrected(sql: String): Boolean = group(sql).reason.contains("corrected by runs with other constants")

  test("another DOVETAIL ANALYZE with other content ends the errors, one that reads nothing does not") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int)                = star.replace("b.v = 1", s"b.v = $v")
      def analyze(of: String): Unit = { spark.sql(s"DOVETAIL ANALYZE TABLE $of").collect(); () }
      tables.foreach(analyze)
      runs(of(0))
      assert(isCorrected(of(3)))
      tables.foreach(analyze)
      assert(isCorrected(of(3)), "nothing was read")
      spark.sql("INSERT INTO h_fact SELECT id, 7, id % 50, id % 20 FROM range(400)")
      assert(isCorrected(of(3)), "files were only added")
      analyze("h_fact")
      assert(!isCorrected(of(3)))
    }
  }

  test("errors of estimates without samples correct none with samples") {
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int) = star.replace("b.v = 1", s"b.v = $v")
      runs(of(0))
      assert(isCorrected(of(3)))
      withConf(DovetailConf.SampleFiles.key -> "true")(assert(!isCorrected(of(3))))
    }
  }

  test("a run that was planned before an ANALYZE does not push out what was learned after it") {
    def errors(at: Long, statistics: String, runs: Int) =
      GroupErrors("~e", Vector("t"), DataStamp(1L, 2, 3L, 4L), statistics, Map.empty, runs, at)
    val (old, newer) = (errors(1000L, "0a", runs = 9), errors(2000L, "0b", runs = 1))
    assert(old.merged(newer) == newer && newer.merged(old) == newer, "more runs count only for the same statistics")
    assert(old.merged(old.copy(runs = 8, at = 2000L)) == old)
    remembering(DovetailConf.SampleFiles.key -> "false") { _ =>
      def of(v: Int) = star.replace("b.v = 1", s"b.v = $v")
      def learned    = History(spark).now.entries.collect { case e: GroupErrors => e }
      runs(of(0))
      def now                                        = System.currentTimeMillis() / 1000L
      def ofOthers(after: Long): Vector[GroupErrors] = {
        val all = learned.map(e => e.copy(statistics = "0c", at = now + after))
        History(spark).add(all.map(_.key))((key, _) => all.find(_.key == key).get)
        all
      }
      val frame   = spark.sql(of(1))
      val planned = { frame.queryExecution.executedPlan; now }
      // the history counts in seconds
      while (now <= planned) Thread.sleep(50L)
      val later = ofOthers(after = 0L)
      frame.collect()
      ShowHistory.settle(spark)
      assert(later.nonEmpty && learned == later, "the run was planned before these")
      ofOthers(after = 86400L)
      History(spark).save()
      runs(of(2))
      History(spark).save()
      assert(learned.forall(_.statistics != "0c"), "an application whose clock is ahead must not stop what is learned")
    }
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

  /** Runs the star, which fails with this message in a task. */
  private def fails(why: String, select: String = "SELECT"): Unit = {
    val failing = star.replace("SELECT f.id", s"$select raise_error(concat('$why ', f.id))")
    intercept[Exception](spark.sql(failing).collect())
    ShowHistory.settle(spark)
  }

  private val written = "/*+ DOVETAIL_ORDER('(((f a) b) c)') */"

  test("an order whose tasks lost their executors or filled a disk is not used again, like one without memory") {
    for (why <- Seq("ExecutorLostFailure (executor 1 exited)", "No space left on device", "Exit status: 137"))
      remembering() { _ =>
        fails(why)
        assert(group(star).status == "kept", why)
      }
  }

  test("an order that ran out of memory is not used for more data either, nor for other constants") {
    val other = star.replace("c.v = 2", "c.v = 1")
    remembering() { _ =>
      assert(group(other).status == "reordered")
      fails("Java heap space")
      assert(group(other).status == "kept", "another constant")
      spark.sql("INSERT INTO h_fact VALUES (4001, 7, 1, 2)")
      assert(group(star).status == "kept", "more data")
      assert(group(other).status == "kept", "both")
      for (sql <- Seq(star, other); _ <- 1 to 2) {
        assert(runs(sql).size == count(sql))
        assert(group(sql).status == "kept", "the written order is the only one that has run to its end")
      }
      spark.sql("INSERT OVERWRITE h_fact SELECT id, 7, id % 50, id % 20 FROM range(4000)")
      assert(group(star).status == "kept", "other data")
      assert(spark.sql(s"DOVETAIL FORGET HISTORY FOR $other").head().getString(0).startsWith("3 entries"))
      spark.sql(s"DOVETAIL FORGET HISTORY FOR $star")
      assert(group(star).status == "reordered" && group(other).status == "reordered")
    }
  }

  test("a run that fails for lack of memory after the data has changed leaves what was short before") {
    remembering() { _ =>
      fails("Java heap space")
      spark.sql("INSERT INTO h_fact VALUES (4001, 7, 1, 2)")
      fails("Java heap space", s"SELECT $written")
      val short = History(spark).now.entries.collect { case g: GroupRuns => g.orders.count(_.isShort) }
      assert(short == Vector(2, 2), "with constants and without")
      assert(group(star).status == "reordered", "the written order is no better")
    }
    remembering() { _ =>
      runs(star)
      val before = recorded(Set("h_fact", "h_a", "h_b", "h_c"))
      spark.sql("INSERT INTO h_fact VALUES (4001, 7, 1, 2)")
      assert(group(star).status == "reordered")
      fails("Java heap space")
      assert(recorded(Set("h_fact", "h_a", "h_b", "h_c")) == before, "counts that can be scaled are kept")
      assert(group(star).status == "kept", "it has finished only over less data")
    }
  }

  test("what two applications have noted of an order: short counts more than cancelled, finished more than short") {
    def noted(runs: Int)       = Vector(MeasuredOrder("(0 1)", runs, Vector.empty))
    def merged(a: Int, b: Int) = {
      val both = Seq(MeasuredOrder.merged(noted(a), noted(b)), MeasuredOrder.merged(noted(b), noted(a)))
      assert(both.distinct.size == 1)
      both.head.map(_.runs)
    }
    assert(merged(MeasuredOrder.Short, MeasuredOrder.Unfinished) == Vector(MeasuredOrder.Short))
    assert(merged(MeasuredOrder.Short, 2) == Vector(2) && merged(MeasuredOrder.Unfinished, 2) == Vector(2))
    for (before <- Seq(MeasuredOrder.Short, MeasuredOrder.Unfinished))
      assert(MeasuredOrder.added(noted(before), noted(MeasuredOrder.Short).head).map(_.runs) == noted(-1).map(_.runs))
  }

  test("an order that ran out of memory is not used again: the written one is, which plain Spark would have run") {
    remembering() { _ =>
      fails("no")
      assert(group(star).status == "reordered", "another failure says nothing about the order")
      fails("Java heap space")
      val after = group(star)
      assert(after.status == "kept" && after.reason.contains("another one ran out of memory"), after)
      assert(runs(star).size == count(star))
      assert(group(star).status == "kept", "the written order is the only one that has run to its end")
    }
    remembering() { _ =>
      fails("Java heap space")
      fails("Java heap space", s"SELECT $written")
      assert(group(star).status == "reordered", "the written order is no better")
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

  test("orders converge: what is worse is left after one run, and nothing moves after that") {
    remembering(DovetailConf.MinGain.key -> "0", DovetailConf.SampleFiles.key -> "false") { _ =>
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
        assert(rows.last < rows.head, rows)
      }
    }
  }
}
