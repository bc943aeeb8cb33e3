package org.apache.spark.sql.dovetail

import java.nio.file.Files

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, NO_BROADCAST_HASH, ReturnAnswer}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.cluster.TaskMemory
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.history.History
import org.apache.spark.sql.dovetail.log.{ChosenJoin, QueryLog, Shortage}
import org.apache.spark.sql.dovetail.plan._
import org.apache.spark.sql.dovetail.sql.CopiedSession
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoreFiles}
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.{
  BroadcastHashJoinExec,
  BroadcastNestedLoopJoinExec,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}

/**
 * How joins are executed: Dovetail's own broadcasts, hash tables instead of sorts, and the cases with neither of them.
 */
class JoinChoiceSuite extends DovetailSuite with KeyedTables with FinalPlans {

  /** Broadcast threshold in bytes: smaller than the files of each table here, larger than a few rows of it. */
  private val threshold = 20000

  /** Much longer than a write takes, in milliseconds. */
  private val SettleMillis = 30000L

  override def beforeAll(): Unit = {
    super.beforeAll()
    keyed("big", 40000)
    keyed("medium", 5000)
    keyed("other", 6000)
    tables.foreach(t => spark.sql(s"ANALYZE TABLE $t COMPUTE STATISTICS FOR ALL COLUMNS"))
  }

  private def withThreshold[A](bytes: Long, more: (String, String)*)(body: => A): A =
    withConf((Seq(
      "spark.sql.autoBroadcastJoinThreshold" -> bytes.toString,
      "spark.sql.shuffle.partitions"         -> "4"
    ) ++ more): _*)(body)

  private def joins(sql: String): Seq[String] = ran(sql).collect {
    case j: BroadcastHashJoinExec => s"broadcast ${if (j.buildSide == BuildLeft) "left" else "right"}"
    case j: ShuffledHashJoinExec  => s"hash ${if (j.buildSide == BuildRight) "right" else "left"}"
    case _: SortMergeJoinExec     => "sort merge"
  }

  // broadcasts

  private val selective = "SELECT big.t, medium.t FROM big JOIN medium ON big.k = medium.k WHERE medium.w = 7"
  private val off       = "spark.sql.adaptive.enabled" -> "false"

  test("two relations: the side that a predicate makes small is broadcast, and Spark alone sorts and merges") {
    withThreshold(threshold.toLong, off) {
      dovetail(on = false)(assert(joins(selective) == Seq("sort merge")))
      assert(joins(selective).map(_.take(9)) == Seq("broadcast"))
      sameAnswer(selective, reorders = false)
      assert(explained(selective).contains("the written order with other broadcasts"), told(explained(selective)))
    }
  }

  test("broadcasts that do not fit into memory together: the search knows which are not made") {
    val three = "SELECT big.t, medium.t, other.t, m.t FROM big JOIN medium ON big.k = medium.k JOIN other ON big.i = " +
      "other.i JOIN medium m ON big.i = m.i WHERE medium.w = 7 AND other.w = 8 AND m.w = 9"
    // two take up to 1.4 MiB of memory and one 1.7 MiB; one may take 128 times the threshold, all twice as much
    def made(sql: String) = Seq(4000, 12000, 14000, 20000).map { bytes =>
      withThreshold(bytes.toLong, off, DovetailConf.SampleFiles.key -> "false") {
        val (execution, trace) = traced(sql)
        val best               = trace.groups.flatMap(_.after)
        val planned = execution.optimizedPlan.collect { case j: Join if JoinDecision.broadcast(j).nonEmpty => j }.size
        assert(planned == best.flatMap(_.joins).count(_.method.startsWith("broadcast")), s"$bytes: $best")
        planned
      }
    }
    assert(made(three) == Seq(0, 2, 2, 3), told(made(three)))
  }

  test("the branches of a union share the memory for broadcasts, and so do the subqueries of a query") {
    val branches   = (1 to 6).map(w => selective.replace("medium.w = 7", s"medium.w = $w"))
    val subqueries = branches.map(b => s"(SELECT max(u) FROM ($b) AS q(t, u))")
    def made(bytes: Long, queries: Seq[String], whole: Seq[String] => String) =
      withThreshold(bytes, off, DovetailConf.SampleFiles.key -> "false") {
        queries.inits.toSeq.reverse.tail.map(some =>
          optimized(whole(some)).collectWithSubqueries { case j: Join if JoinDecision.broadcast(j).nonEmpty => j }.size
        )
      }
    // one takes up to 1.4 MiB; one may take 128 times the threshold, all of the query's twice as much
    for (
      (queries, whole) <- Seq[(Seq[String], Seq[String] => String)](
        branches   -> (_.mkString(" UNION ALL ")),
        subqueries -> (_.mkString("SELECT ", ", ", ""))
      )
    ) {
      assert(made(14000L, queries, whole) == Seq(1, 2, 2, 2, 2, 2), told(made(14000L, queries, whole)))
      assert(made(60000L, queries, whole) == Seq(1, 2, 3, 4, 5, 6), told(made(60000L, queries, whole)))
    }
  }

  test(
    "adaptive execution plans again above our broadcasts: the kept side of a join does not hide that the other is one"
  ) {
    val three =
      "SELECT big.t, medium.t, other.t FROM big JOIN medium ON big.k = medium.k JOIN other ON big.i = other.i " +
        "WHERE medium.w = 7 AND other.w = 8"
    val level = "spark.sql.adaptive.logLevel" -> "WARN"
    Seq(three, three.replace("other.w = 8", "other.w < 400")).foreach { sql =>
      withThreshold(threshold.toLong, level, DovetailConf.SampleFiles.key -> "false") {
        val plan = traced(sql)._1.optimizedPlan
        assert(plan.exists { case j: Join => JoinDecision.kept(j).nonEmpty; case _ => false }, told(explained(sql)))
        val (found, log) = LogCapture("org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec")(joins(sql))
        assert(found.forall(_.startsWith("broadcast")), found)
        assert(log.nonEmpty && !log.exists(_.contains("Invalid broadcast query stage")), log.mkString("\n"))
      }
    }
  }

  test("a decision stays when adaptive execution adds a strategy to the hint") {
    val join = optimized("SELECT * FROM range(3) a JOIN range(4) b USING (id)").collectFirst { case j: Join => j }.get
    val hint = JoinDecision.hint(join, None, Vector(BuildRight))
    val more = hint.leftHint.get.copy(strategy = Some(NO_BROADCAST_HASH))
    val now  = join.copy(hint = JoinHint(Some(more), None))
    assert(more.strategy.contains(NO_BROADCAST_HASH) && more != hint.leftHint.get)
    assert(JoinDecision.kept(now) == Vector(BuildRight) && JoinDecision.broadcast(now).isEmpty)
    // Spark alone would broadcast both sides
    val planned = new JoinChoice(spark)(now)
    assert(planned.nonEmpty && planned.head.collect { case b: BroadcastHashJoinExec => b }.isEmpty, planned)
  }

  test("the choice stays where a rule of Spark that comes later builds the join anew") {
    withThreshold(threshold.toLong, off) {
      val optimized = dovetail(on = true)(spark.sql(selective).queryExecution.optimizedPlan)
      // as RemoveRedundantAliases does, in the batch that rewrites subqueries
      val anew = optimized.collectFirst { case j: Join => Join(j.left, j.right, j.joinType, j.condition, j.hint) }.get
      val planned = spark.sessionState.planner.plan(ReturnAnswer(anew)).next()
      assert(planned.exists(_.isInstanceOf[BroadcastHashJoinExec]), planned)
    }
  }

  test(
    "no broadcast of ours: switched off, without a threshold, against a user's hint, where the side cannot be " +
      "broadcast, or may be too large"
  ) {
    withThreshold(
      threshold.toLong,
      off,
      "spark.dovetail.broadcast.enabled" -> "false"
    )(assert(joins(selective) == Seq("sort merge")))
    withThreshold(-1, off)(assert(joins(selective) == Seq("sort merge")))
    withThreshold(threshold.toLong, off) {
      assert(joins(selective.replace("SELECT", "SELECT /*+ MERGE(medium) */")) == Seq("sort merge"))
      val outer = "SELECT big.t, medium.t FROM big RIGHT JOIN medium ON big.k = medium.k WHERE medium.w = 7"
      assert(joins(outer) == Seq("sort merge"), "every row of the small side comes out, partner or not")
    }
    // The estimate is one row, but 6,000 rows of 80 bytes are more than 32 times this threshold. If all rows are read,
    // one row is certain.
    val one = "SELECT big.t, other.t FROM big JOIN other ON big.k = other.k WHERE other.i = 7"
    withThreshold(1000, off, "spark.dovetail.sample.files" -> "false")(assert(joins(one) == Seq("sort merge")))
    withThreshold(1000, off, "spark.dovetail.footers.maxMs" -> "60000")(assert(joins(one) == Seq("broadcast right")))
  }

  test("a broadcast with which a query fails is not made again, and others are") {
    spark.udf.register("slowly", (i: Int) => { Thread.sleep(400); i })
    spark.udf.register("quickly", (i: Int) => i)
    val late =
      "SELECT big.t, medium.t FROM big JOIN medium ON big.k = medium.k WHERE medium.w = 9 AND slowly(medium.w) > 0"
    withThreshold(threshold.toLong, off) {
      withConf("spark.sql.broadcastTimeout" -> "1") {
        assert(joinsPlanned(late).map(_.take(9)) == Seq("broadcast"))
        val failure = intercept[Exception](spark.sql(late).collect())
        assert(
          Iterator.iterate[Throwable](failure)(
            _.getCause
          ).takeWhile(_ != null).exists(_.getMessage.contains("broadcast")),
          failure
        )
        spark.sparkContext.listenerBus.waitUntilEmpty()
        assert(joinsPlanned(late) == Seq("sort merge"))
        assert(DovetailSuite.answer(spark.sql(late).queryExecution).nonEmpty)
        assert(joinsPlanned(late.replace("slowly", "quickly")).map(_.take(9)) == Seq("broadcast"), "another one")
        assert(
          explained(
            late
          ).split("\\s+").mkString(" ").contains("a broadcast of medium is not made: a query failed with it on"),
          explained(late)
        )
        assert(!explained(late.replace("slowly", "quickly")).contains("a query failed"))
        // the file that the next application reads
        History.settle(SettleMillis)
        val kept = new JoinFailures(StatisticsStore(spark).files)
        assert(!kept.isEmpty)
        assert(spark.sql("DOVETAIL FORGET FAILURES").head().getString(0).startsWith("1 failed joins removed"))
        assert(joinsPlanned(late).map(_.take(9)) == Seq("broadcast"), "forgotten")
        assert(new JoinFailures(StatisticsStore(spark).files).isEmpty)
      }
    }
  }

  test("a broadcast in a cache that is filled is one of the query, and none of a query that reads the filled cache") {
    withThreshold(threshold.toLong, off) {
      val frame  = spark.sql(selective).cache()
      def counts = frame.groupBy().count().queryExecution.executedPlan
      try {
        assert(ChosenJoin.in(counts).map(_.method) == Seq(ChosenJoin.Broadcast), counts)
        frame.count()
        assert(ChosenJoin.in(counts).isEmpty, counts)
      } finally frame.unpersist(blocking = true)
    }
  }

  test("an answer that is too large for the driver says nothing about a broadcast") {
    val tooLarge = new SparkException("Total size of serialized results is bigger than spark.driver.maxResultSize")
    assert(Shortage(tooLarge).isEmpty)
    val fetching = new StackTraceElement(classOf[BroadcastExchangeExec].getName, "relationFuture", "x.scala", 1)
    tooLarge.setStackTrace(tooLarge.getStackTrace :+ fetching)
    assert(Shortage(new RuntimeException(tooLarge)).contains("the result was too large for the driver"))
    val full = new OutOfMemoryError("Java heap space")
    assert(Shortage(new RuntimeException(full)).contains(Shortage.DriverMemory))
    assert(!Shortage.dependsOnOrder(Shortage.DriverMemory) && Shortage.isOfJoinMethod(Shortage.DriverMemory))
    val aborted = new SparkException("Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times", full)
    val built   = new SparkException("Not enough memory to build and broadcast the table to all worker nodes.", full)
    for (e <- Seq(aborted, built)) assert(Shortage(e).contains(Shortage.Memory), e)
    full.setStackTrace(full.getStackTrace :+ fetching)
    assert(Shortage(new RuntimeException(full)).contains(Shortage.Memory))
  }

  test("what a cluster says of executors that had too little memory, and of full disks") {
    def task(reason: String) = Shortage(new SparkException(
      "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in " +
        s"stage 1.0 (TID 7) (host executor 2): $reason"
    ))
    def lost(reason: String) =
      task(s"ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: $reason")
    for (
      reason <- Seq(
        "Container killed by YARN for exceeding physical memory limits. 2.1 GB of 2 GB physical memory used.",
        "Container killed by YARN for exceeding virtual memory limits. 5 GB of 4 GB virtual memory used.",
        "Container from a bad node: container_1 on host: h. Exit status: 137. Diagnostics: Killed by external signal",
        "The executor with id 2 exited with exit code 137(SIGKILL, possible container OOM).",
        "The executor with id 2 exited with exit code 52(JVM OOM).",
        "Command exited with code 137"
      )
    ) assert(lost(reason).contains(Shortage.Memory), reason)
    assert(lost("Executor heartbeat timed out after 130000 ms").contains("an executor was lost"))
    val disk = "java.io.IOException: No space left on device"
    assert(task(disk).contains(Shortage.Disk))
    val spilled = "org.apache.spark.memory.SparkOutOfMemoryError: error while calling spill(): No space left on device"
    assert(task(spilled).contains(Shortage.Disk))
    assert(Shortage(new OutOfMemoryError("No space left on device")).contains(Shortage.Disk))
    assert(Seq(Shortage.Memory, Shortage.Disk).map(Shortage.isOfJoinMethod) == Seq(true, false))
  }

  test("no broadcast of ours below a coalesce: it would have the largest table read in the few tasks") {
    withThreshold(threshold.toLong, off) {
      def hinted(hint: String) = selective.replace("SELECT", s"SELECT /*+ $hint */")
      assert(joins(hinted("COALESCE(1)")) == Seq("sort merge"))
      val counts = "SELECT /*+ COALESCE(1) */ big.i, count(*) FROM big JOIN medium ON big.k = medium.k " +
        "WHERE medium.w = 7 GROUP BY big.i"
      // an exchange is between, or there are as many tasks as before
      Seq(hinted("REPARTITION(1)"), hinted("COALESCE(1000)"), counts).foreach(sql =>
        assert(joins(sql).map(_.take(9)) == Seq("broadcast"), sql)
      )
    }
  }

  test("a server with many sessions has one listener that hears of running queries") {
    def all     = spark.sparkContext.listenerBus.listeners.toArray.map(_.getClass.getName)
    def running = all.count(_.contains("FailedJoins"))
    val choice  = ChosenJoin(ChosenJoin.Broadcast, spark.range(1).queryExecution.optimizedPlan)
    (1 to 3).foreach(_ => FailedJoins.mayBe(choice, spark.newSession()))
    FailedJoins.mayBe(choice, CopiedSession(spark))
    assert(running == 1, all.mkString(", "))
  }

  test("neither sessions with joins nor the copies that fill caches get a listener bus of their own") {
    def buses =
      spark.sparkContext.listenerBus.listeners.toArray.count(_.getClass.getName.contains("ExecutionListenerBus"))
    val before = buses
    val joined = "SELECT a.id FROM range(9) a JOIN range(8) b USING (id) JOIN range(7) c USING (id)"
    (1 to 3).foreach { _ =>
      val session = spark.newSession()
      session.sql(joined).collect()
      assert(QueryLog(session).all.nonEmpty)
    }
    // not of the suites' session: it may have row counts, which copies of it need a listener for
    val cached = spark.newSession().sql(joined).cache()
    try { cached.count(); assert(buses <= before) }
    finally { cached.unpersist(blocking = true); () }
  }

  test("a join is compared with the failed ones of the same tables only") {
    val choice   = ChosenJoin(ChosenJoin.Broadcast, CountedForms())
    val failed   = JoinFailure("00ff", "broadcast", Vector("other"), "out of memory", "2026-01-02T03:04:05Z")
    def may      = FailedJoins.reason(choice, spark).isEmpty
    def forms    = choice.build.asInstanceOf[CountedForms].forms
    val failures = JoinFailures(spark)
    try {
      failures.note(Seq(failed, failed.copy(join = "01ff", method = "hash table", tables = choice.tables)))
      assert(may && forms == 0)
      failures.note(Seq(failed.copy(tables = choice.tables)))
      assert(may && forms > 0, "another part of the same table")
      failures.note(Seq(JoinFailure.now(choice.signature, choice.method, choice.tables, "out of memory")))
      assert(!may)
    } finally { failures.clear(); () }
  }

  test("failures that cannot be read are none, and one warning; those of another application are found") {
    withDirectory { directory =>
      val files = new StoreFiles(new org.apache.hadoop.fs.Path(directory.toString), spark.sessionState.newHadoopConf())
      val failure = JoinFailure("00ff", "broadcast", Vector("t"), "out of memory", "2026-01-02T03:04:05Z")
      def added(failure: JoinFailure): Unit = {
        val failures = new JoinFailures(files); failures.note(Seq(failure)); failures.save()
      }
      added(failure)
      assert(new JoinFailures(files).find("00ff").contains(failure) && new JoinFailures(files).find("00fe").isEmpty)
      added(failure.copy(join = "01ff"))
      assert(new JoinFailures(files).find("00ff").isDefined && new JoinFailures(files).find("01ff").isDefined)
      Seq("[{", "{\"join\": 1}", "[1, \"x\", {\"join\": 7}]", "[" * 100000, "x" * (17 << 20)).foreach { text =>
        java.nio.file.Files.write(directory.resolve("failures.json"), text.getBytes("UTF-8"))
        val (empty, lines) = LogCapture("dovetail")(new JoinFailures(files).isEmpty)
        assert(empty && lines.size <= 1, lines)
        added(failure)
        assert(Files.readString(directory.resolve("failures.json")) == text, "not written over")
        assert(new JoinFailures(files).clear()._2.exists(_.contains("is left as it is")))
      }
    }
  }

  test("a failure holds at once, whether the store can be written, hangs, or cannot even be loaded") {
    val failure          = JoinFailure("00ff", "broadcast", Vector("t"), "out of memory", "2026-01-02T03:04:05Z")
    def at(path: String) =
      new JoinFailures(new StoreFiles(new org.apache.hadoop.fs.Path(path), spark.sessionState.newHadoopConf()))
    // a RuntimeException with a ClassNotFoundException
    withConf("fs.missing.impl" -> "no.such.FileSystem") {
      val failures = at("missing://host/statistics")
      failures.add(Seq(failure))
      assert(failures.find("00ff").contains(failure))
      failures.save()
      assert(failures.find("00ff").contains(failure))
      val (n, unsaved) = failures.clear()
      assert(n == 1 && unsaved.exists(_.contains("cannot be written")) && failures.isEmpty, unsaved)
    }
    withDirectory { d =>
      withConf(HangingFileSystem.setting, DovetailConf.PlanningMaxMs.key -> "2000") {
        val failures = at(s"${HangingFileSystem.Scheme}:${Files.createDirectory(d.resolve("stuck"))}")
        HangingFileSystem.during("stuck") {
          val start = System.nanoTime()
          failures.add(Seq(failure))
          assert(failures.find("00ff").contains(failure) && failures.find("00fe").isEmpty)
          assert(System.nanoTime() - start < 10000000000L)
        }
        History.settle(SettleMillis)
        assert(at(s"file:${d.resolve("stuck")}").find("00ff").contains(failure), "written as soon as the store answers")
      }
    }
  }

  test("only an exit because of an error makes failures of the queries that were running") {
    def stack(classes: String*) = classes.map(c => new StackTraceElement(c, "exit", "F", 1)).toArray
    val handler                 = "org.apache.spark.util.SparkUncaughtExceptionHandler"
    assert(FatalExit.isFatal(stack("java.lang.Shutdown", "java.lang.Runtime", "java.lang.System", handler)))
    assert(!FatalExit.isFatal(stack("java.lang.Shutdown", "java.lang.Runtime", "java.lang.System", "Main")))
    assert(!FatalExit.isFatal(stack("java.lang.Shutdown", "java.lang.Terminator$1", "jdk.internal.misc.Signal$1")))
    assert(!FatalExit.isFatal(stack(handler)) && !FatalExit.isUnderWay)
  }

  test("an input of few bytes on disk and many in memory: another order does not make Spark broadcast it") {
    withTables("packed", "tiny") {
      spark.sql(
        "CREATE TABLE packed USING parquet AS SELECT CAST(id AS INT) k, repeat('x', 20000) t FROM range(0, 100, 1, 1)"
      )
      spark.sql(
        "CREATE TABLE tiny USING parquet AS SELECT CAST(id AS INT) k, CAST(id AS INT) w FROM range(0, 100, 1, 1)"
      )
      val query =
        "SELECT big.i, packed.t, tiny.w FROM packed JOIN tiny ON packed.k = tiny.k JOIN big ON big.k = packed.k"
      def asked(order: String) = query.replaceFirst("SELECT", s"SELECT /*+ DOVETAIL_ORDER('$order') */")
      val alone                = asked("((big packed) tiny)")
      // Spark takes a semi join for as large as its left input
      val tested =
        asked(
          "((big (packed few)) tiny)"
        ) + " WHERE EXISTS (SELECT 1 FROM big few WHERE few.k = packed.k AND few.w < 9)"
      withThreshold(threshold.toLong, off) {
        assert(
          spark.table("packed").queryExecution.optimizedPlan.stats.sizeInBytes < threshold,
          "Spark takes it for small"
        )
        for (sql <- Seq(alone, tested)) {
          def built = builds(sql)
          assert(built.nonEmpty && built.forall(!_.toString.contains("packed")), told(physical(sql)))
          sameAnswer(sql, reorders = false)
        }
      }
      // nobody knows how long the texts of local rows are
      val session = spark
      import session.implicits._
      Seq.tabulate(100)(i => (i, "x" * 20000)).toDF("k", "t").createOrReplaceTempView("local")
      val local = alone.replace("packed", "local")
      try
        withThreshold(math.max(threshold.toLong, 4000L), off) {
          def built = builds(local)
          assert(spark.table("local").queryExecution.optimizedPlan.stats.sizeInBytes < 4000L)
          assert(built.nonEmpty && built.forall(!_.exists(_.isInstanceOf[LocalTableScanExec])), told(physical(local)))
          sameAnswer(local, reorders = false)
        }
      finally { spark.catalog.dropTempView("local"); () }
      // with a threshold for its size in memory, Spark broadcasts it there
      withThreshold(
        100 * threshold.toLong,
        off
      )(assert(physical(alone).toString.split("BroadcastExchange").drop(1).exists(_.contains("packed"))))
    }
  }

  test("what Spark broadcasts in the written order may be broadcast in another one, whatever memory it takes") {
    withTables("dense") {
      // a few kilobytes on disk, and up to 4 MiB of memory, of which one broadcast may take 2.4
      spark.sql("CREATE TABLE dense USING parquet AS SELECT CAST(id DIV 60 AS INT) k FROM range(0, 30000, 1, 1)")
      val query =
        "SELECT big.t, dense.k, medium.t m FROM big JOIN dense ON big.k = dense.k JOIN medium ON big.i = medium.i " +
          "WHERE medium.w = 7"
      val other = query.replaceFirst("SELECT", "SELECT /*+ DOVETAIL_ORDER('((big medium) dense)') */")
      withThreshold(threshold.toLong, off) {
        def built = builds(other)
        assert(dovetail(on = false)(built).exists(_.toString.contains("dense")))
        assert(built.exists(_.toString.contains("dense")), told(physical(other)))
        sameAnswer(other)
      }
    }
  }

  test("an outer join without an equality: Spark copies its right side, which stays as it is if it may not fit") {
    withTables("left_rows", "narrow", "wide") {
      def table(name: String, columns: String, rows: Int) =
        spark.sql(s"CREATE TABLE $name USING parquet AS SELECT $columns FROM range(0, $rows, 1, 1)")
      table("left_rows", "CAST(id AS INT) x, CAST(id % 7 AS INT) y", 40)
      table("narrow", "CAST(id + 400 AS INT) v, CAST(id AS INT) k", 2000)
      table("wide", "CAST(id AS INT) k, CAST(id % 11 AS INT) w, repeat('x', 500) p", 2000)
      val sql =
        "SELECT count(*), sum(a.y), sum(c.w), sum(length(c.p)) FROM left_rows a LEFT JOIN narrow b ON a.x < b.v " +
          "LEFT JOIN wide c ON b.k = c.k"
      def copied = physical(sql).collect { case j: BroadcastNestedLoopJoinExec => j.right.toString.contains("wide") }
      withThreshold(threshold.toLong, off) {
        assert(copied == Seq(true), told(physical(sql)))
        sameAnswer(sql)
      }
      withThreshold(500L, off) {
        assert(copied == Seq(false), told(physical(sql)))
        val reasons = traced(sql)._2.groups.map(_.reason)
        assert(reasons.exists(_.contains("Spark would have to broadcast")), reasons)
      }
    }
  }

  test("NOT IN: a hash table for one column; all pairs for several columns, and below an OR") {
    def query(condition: String) =
      s"SELECT count(*) FROM big JOIN medium ON big.k = medium.k JOIN other ON medium.i = other.i WHERE $condition"
    def methods(condition: String) = traced(query(condition))._2.groups.flatMap { g =>
      g.after.orElse(g.before).get.joins.filter(_.kind != "inner").map(_.method)
    }
    withThreshold(1000L, off) {
      for (
        (condition, method) <- Seq(
          "big.w NOT IN (SELECT w FROM other o WHERE o.i < 9)"                -> "broadcast hash",
          "(big.w, big.i) NOT IN (SELECT w, i FROM other o WHERE o.i < 9)"    -> "nested loop",
          "(big.i = 1 OR big.w NOT IN (SELECT w FROM other o WHERE o.i < 9))" -> "nested loop"
        )
      ) {
        assert(methods(condition) == Seq(method), condition)
        assert(answer(query(condition)) == dovetail(on = false)(answer(query(condition))))
      }
    }
  }

  test("nothing of unknown width is broadcast by Dovetail, however small it is estimated") {
    withDirectory { directory =>
      val path = directory.resolve("json").toString
      spark.range(5000).selectExpr(
        "CAST(id AS INT) k",
        "CAST(pmod(hash(id), 500) AS INT) w",
        "repeat('y', 20) t",
        "array(repeat('y', 20)) ts"
      ).coalesce(1).write.json(path)
      withTables("loose") {
        spark.sql(s"CREATE TABLE loose (k INT, w INT, t STRING, ts ARRAY<STRING>) USING json LOCATION '$path'")
        spark.sql("ANALYZE TABLE loose COMPUTE STATISTICS FOR COLUMNS k, w")
        def query(column: String) =
          s"SELECT big.t, loose.$column FROM big JOIN loose ON big.k = loose.k WHERE loose.w = 7"
        // the lines are counted while the query is planned, and confirm the row count in the catalog
        withThreshold(3L * threshold, off, DovetailConf.FootersMaxMs.key -> "60000") {
          assert(joins(query("w")).map(_.take(9)) == Seq("broadcast"), "numbers alone")
          assert(joins(query("t")).map(_.take(9)) == Seq("broadcast"), "a text that was measured in these lines")
          assert(joins(query("ts")) == Seq("sort merge"), "an array that nobody has measured")
        }
      }
    }
  }

  test("an input that several parts of a query share stays one broadcast, as long as Spark reuses it") {
    val parts =
      (1 to 3).map(w =>
        "SELECT medium.w, count(*) n FROM big JOIN medium ON big.k = medium.k JOIN other ON big.i = other.i WHERE " +
          s"big.w = $w GROUP BY 1"
      )
    val query = parts.mkString(" UNION ALL ")
    // Number of broadcasts, which are of big's few rows or of a dimension, and number of reused exchanges.
    def broadcasts: (Int, Int) = {
      val plan = physical(query)
      (plan.collect { case b: BroadcastExchangeExec => b }.size, plan.collect { case r: ReusedExchangeExec => r }.size)
    }
    withConf(off, "spark.dovetail.reorder.minGain" -> "0") {
      assert(dovetail(on = false)(broadcasts) == ((2, 4)))
      assert(broadcasts == ((2, 4)) && !explained(query).contains("other broadcasts"))
      withConf("spark.sql.exchange.reuse" -> "false") {
        assert(broadcasts == ((6, 0)))
        assert(
          explained(query).contains("the written order with other broadcasts"),
          "by itself each part would rather broadcast what is left of big"
        )
      }
      sameAnswer(query, reorders = false)
    }
  }

  private def explained(sql: String): String =
    spark.sql("SELECT * FROM dovetail_explain(\"" + sql + "\")").head().getString(0)

  /** The broadcast sides of a query's joins. */
  private def builds(sql: String): Seq[SparkPlan] = physical(sql).collect { case j: BroadcastHashJoinExec =>
    if (j.buildSide == BuildLeft) j.left else j.right
  }

  private def joinsPlanned(sql: String): Seq[String] = physical(sql).collect {
    case j: BroadcastHashJoinExec => s"broadcast ${if (j.buildSide == BuildLeft) "left" else "right"}"
    case _: SortMergeJoinExec     => "sort merge"
  }

  // hash tables

  private def joined(kind: String, more: String = ""): String =
    s"SELECT count(*) FROM big $kind JOIN medium ON big.k = medium.k $more"
  private val adaptive = "spark.sql.adaptive.enabled" -> "true"

  test("the smaller of two exchanged inputs is hashed instead of both sorted, where the kind of join allows it") {
    withThreshold(-1, adaptive) {
      Seq(
        "INNER"     -> "hash right",
        "LEFT"      -> "hash right",
        "LEFT SEMI" -> "hash right",
        "LEFT ANTI" -> "hash right",
        "FULL"      -> "sort merge"
      ).foreach {
        case (kind, expected) =>
          dovetail(on = false)(assert(joins(joined(kind)) == Seq("sort merge"), kind))
          assert(joins(joined(kind)) == Seq(expected), kind)
          sameAnswer(joined(kind), reorders = false)
      }
      val reversed = "SELECT big.t, medium.t FROM medium RIGHT JOIN big ON big.k = medium.k"
      assert(joins(reversed) == Seq("hash left"))
      sameAnswer(reversed, reorders = false)
      assert(
        joins("SELECT count(*) FROM medium LEFT JOIN big ON big.k = medium.k") == Seq("sort merge"),
        "the larger one would be hashed"
      )
      assert(
        joins("SELECT count(*) FROM medium JOIN other ON other.k = medium.k") == Seq("sort merge"),
        "of the same size"
      )
    }
  }

  test("a task holds the hash tables of all joins that meet in it: together they take no more than those of two") {
    val memory        = new TaskMemory(spark.sparkContext, spark.sessionState.conf)
    val (one, twelve) = (memory.hashTable(), memory.hashTable(12))
    val bytes         = Iterator.iterate(1024.0)(_ * 1.1).takeWhile(one.fits(1.0, _)).toVector.last
    assert(one.fits(1.0, bytes) && !twelve.fits(1.0, bytes) && twelve.fits(1.0, bytes / 12))
    assert(!twelve.fits(1.0, bytes / 4) && memory.hashTable(2).fits(1.0, bytes))
  }

  test("a broadcast of ours respects the limit beyond which Spark 4.1 fails a query") {
    def most = new TaskMemory(spark.sparkContext, spark.sessionState.conf).broadcast
    val all  = most
    withConf("spark.sql.maxBroadcastTableSize" -> "1m")(assert(most == (1 << 20).toDouble && most < all))
    withConf("spark.sql.maxBroadcastTableSize" -> "1000g")(assert(most == all))
  }

  test("no hash table of ours: switched off, against a user's hint, where Spark broadcasts") {
    val query = joined("INNER")
    withThreshold(
      -1,
      adaptive,
      "spark.dovetail.adaptive.shuffledHash" -> "false"
    )(assert(joins(query) == Seq("sort merge")))
    withThreshold(
      -1,
      adaptive
    )(assert(joins(query.replace("SELECT", "SELECT /*+ MERGE(medium) */")) == Seq("sort merge")))
    withThreshold(-1, adaptive, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "1000000") {
      assert(joins("SELECT count(*) FROM big JOIN medium ON big.k = medium.k").map(_.take(9)) == Seq("broadcast"))
    }
  }

  test("no hash table where the user leaves the joins to Spark, and below results that depend on the place of rows") {
    val query = joined("INNER")
    withThreshold(-1, adaptive) {
      assert(joins(query.replace("SELECT", "SELECT /*+ DOVETAIL_OFF */")) == Seq("sort merge"))
      val rows = "SELECT big.k FROM big JOIN medium ON big.k = medium.k"
      Seq(
        s"SELECT max(n) FROM (SELECT k, monotonically_increasing_id() AS n FROM ($rows))",
        s"SELECT count(*) FROM ($rows) WHERE rand(5) < 0.5",
        s"SELECT count(*) FROM ($rows) TABLESAMPLE (50 PERCENT) REPEATABLE (7)"
      ).foreach(sql => assert(joins(sql) == Seq("sort merge"), sql))
      assert(
        joins(s"SELECT count(n) FROM (SELECT *, rand(5) AS n FROM big) b JOIN medium ON b.k = medium.k")
          == Seq("hash right"),
        "the random numbers are made below the join"
      )
    }
    withThreshold(-1, adaptive, "spark.dovetail.reorder.excludeTables" -> "medium") {
      assert(joins(query) == Seq("sort merge"))
      assert(joins("SELECT count(*) FROM big JOIN other ON big.k = other.k") == Seq("hash right"))
    }
  }

  test("decisions are equal only if they decide the same: Spark merges subqueries whose joins have equal hints") {
    def join(columns: String, where: String = "w > 3") = dovetail(on = false)(
      optimized(s"SELECT big.i, $columns FROM big JOIN (SELECT * FROM medium WHERE $where) m ON big.k = m.k")
    ).collectFirst { case j: Join => j }.get
    val (narrow, again, wide) = (join("m.w"), join("m.w"), join("m.w, m.t"))
    def listed(values: Int)   = join("m.w", s"w IN (${(0 until values).mkString(",")})")
    val decided               = JoinDecision.hint(narrow, Some(BuildRight))
    assert(decided == JoinDecision.hint(again, Some(BuildRight)), "other ids of the same columns")
    assert(decided.hashCode == JoinDecision.hint(again, Some(BuildRight)).hashCode)
    assert(decided != JoinDecision.hint(wide, Some(BuildRight)), "more columns")
    val many = JoinDecision.hint(listed(20000), Some(BuildRight))
    assert(many == JoinDecision.hint(listed(20000), Some(BuildRight)), "a list of constants")
    assert(many != JoinDecision.hint(listed(20001), Some(BuildRight)), "another constant")
    assert(decided != JoinDecision.hint(narrow, Some(BuildLeft)))
    assert(decided != JoinDecision.hint(narrow, Some(BuildRight), Vector(BuildLeft)))
    assert(decided != JoinGroup.Mark && JoinGroup.Mark != decided, "nor is it a mark without a decision")
  }

  test("two joins and a window above: each join as its inputs turned out, and the same answer") {
    withThreshold(-1, adaptive) {
      val sql =
        "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY i) r FROM (SELECT big.k, big.i, medium.w + other.w " +
          "n FROM big JOIN medium " +
          "ON big.k = medium.k JOIN other ON other.i = big.i)"
      // the first join returns 6,000 rows, which is not clearly more than 5,000
      assert(joins(sql).toSet == Set("hash right", "sort merge"), told(joins(sql)))
      sameAnswer(sql, reorders = false)
    }
  }
}
