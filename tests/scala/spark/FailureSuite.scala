package org.apache.spark.sql.dovetail

import java.util.concurrent.CompletionException

import dovetail.GuardProbe
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.catalog.{CatalogColumnStat, CatalogStatistics}
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.footers.FooterStatistics
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.plan.{GroupOrdering, PredicateOrder, ReorderJoins}
import org.apache.spark.sql.dovetail.sql.CopiedSession
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}

/** No failure in Dovetail makes a query fail: the query answers, one line is logged, and the trace has the reason. */
class FailureSuite extends StarSuite {
  private val star =
    "SELECT f.v, a.w, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  // the rule fails

  private class FailingRule(session: SparkSession, failure: () => Throwable) extends ReorderJoins(session) {
    override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan = throw failure()
  }

  private val failures: Seq[(String, () => Throwable)] = Seq(
    "RuntimeException"     -> (() => new RuntimeException("injected")),
    "MatchError"           -> (() => new MatchError("injected")),
    "NoSuchMethodError"    -> (() => new NoSuchMethodError("injected")),
    "NoClassDefFoundError" -> (() => new NoClassDefFoundError("injected")),
    "AssertionError"       -> (() => new AssertionError("injected")),
    "StackOverflowError"   -> (() => new StackOverflowError("injected")),
    "NotImplementedError"  -> (() => new NotImplementedError("injected"))
  )

  failures.foreach { case (name, failure) =>
    test(s"the query answers when the rule throws a $name: one line logged, the reason explained") {
      val expected = dovetail(on = false)(answer(star))
      withRule(new FailingRule(_, failure)) {
        val (_, lines) = LogCapture("dovetail")((1 to 3).foreach(_ => assert(answer(star) == expected)))
        assert(lines.count(_.contains("injected")) == 1, lines)
        assert(lines.forall(_.contains("Spark's own plan is used")))
        val (execution, trace) = traced(star)
        assert(PlanText(execution.optimizedPlan) == dovetail(on = false)(PlanText(optimized(star))))
        assert(trace.groups.map(_.status).distinct == Vector(
          "left_alone"
        ) && trace.groups.forall(_.reason.contains("injected")))
        assert(spark.sql(s"SELECT * FROM dovetail_explain('$star')").head().getString(0).contains("injected"))
      }
    }
  }

  test("a failure in one group takes back the others: the plan is Spark's, and explain says so") {
    class LateFailingRule(session: SparkSession) extends ReorderJoins(session) {
      override protected def reorder(group: JoinGroup, ordering: GroupOrdering): LogicalPlan =
        if (group.leaves.exists(_.collectLeaves().size > 1)) {
          super.reorder(group, ordering); throw new IllegalStateException("injected later")
        } else super.reorder(group, ordering)
    }
    val sql = s"SELECT count(*) FROM (SELECT DISTINCT v FROM ($star)) x JOIN f ON f.v = x.v JOIN b ON f.k2 = b.k"
    withRule(new LateFailingRule(_)) {
      val (execution, trace) = traced(sql)
      assert(PlanText(execution.optimizedPlan) == dovetail(on = false)(PlanText(optimized(sql))))
      assert(
        trace.groups.nonEmpty && trace.groups.forall(_.status == "left_alone"),
        "an order that was not taken is explained as taken"
      )
    }
  }

  test("an interrupted thread is not a failure of the rule: it gets Spark's plan, and stays interrupted") {
    val sparks = dovetail(on = false)(PlanText(optimized(star)))

    def planned(): String =
      try PlanText(optimized(star))
      finally assert(Thread.interrupted(), "Dovetail took the interruption, and Spark would go on")

    val (_, lines) = LogCapture("dovetail") {
      val interrupted = new InterruptedException("injected")
      // some libraries wrap the exception
      Seq(interrupted, new RuntimeException(interrupted)).foreach(e =>
        withRule(new FailingRule(_, () => e))(assert(planned() == sparks))
      )
      Thread.currentThread.interrupt()
      assert(planned() == sparks)
    }
    assert(lines.isEmpty, lines)
    assert(PlanText(optimized(star)) != sparks)
  }

  // statistics make no sense

  private def corrupted(what: String, rows: BigInt, columns: (String, CatalogColumnStat)*)(complaint: String): Unit =
    test(s"statistics: $what") {
      withTables("x") {
        spark.sql(
          "CREATE TABLE x USING parquet AS SELECT CAST(id AS INT) k, CAST(id % 7 AS INT) w, date_add(DATE " +
            "'2020-01-01', CAST(id % 50 AS INT)) d FROM range(90)"
        )
        spark.sessionState.catalog.alterTableStats(
          TableIdentifier("x"),
          Some(CatalogStatistics(BigInt(1000), Some(rows), columns.toMap))
        )
        val sql =
          "SELECT f.v, a.w FROM f JOIN a ON f.k1 = a.k JOIN x ON f.k2 = x.k JOIN c ON f.k3 = c.k WHERE x.w IN (1, 2) " +
            "AND x.d < DATE '2020-01-20' AND c.w = 1"
        val expected   = dovetail(on = false)(answer(sql))
        val (_, lines) = LogCapture("dovetail")((1 to 3).foreach(_ => assert(answer(sql) == expected)))
        assert(traced(sql)._2.groups.exists(_.algorithm.nonEmpty), "the group was searched all the same")
        assert(lines.count(_.contains(complaint)) == 1, lines)
        assert(lines.size == 1, lines)
        assert(spark.sql("SELECT * FROM dovetail_stats('x')").collect().length == 4)
      }
    }

  import InjectedStatistics.{column, histogram}
  corrupted("negative rows", -5)("x")
  corrupted("min above max", 90, "w" -> column(Some(7), Some(0), Some("6"), Some("0"), Some(4)))("column w of x")
  corrupted(
    "no distinct values of many rows",
    90,
    "w" -> column(Some(0), Some(0), Some("0"), Some("6"), Some(4))
  )("column w of x")
  corrupted(
    "more NULLs than rows",
    90,
    "w" -> column(Some(7), Some(1000), Some("0"), Some("6"), Some(4))
  )("column w of x")
  corrupted(
    "negative distinct values",
    90,
    "w" -> column(Some(-7), Some(0), Some("0"), Some("6"), Some(4))
  )("column w of x")
  corrupted("negative NULLs", 90, "w" -> column(Some(7), Some(-1), Some("0"), Some("6"), Some(4)))("column w of x")
  corrupted(
    "a min that is no number",
    90,
    "w" -> column(Some(7), Some(0), Some("garbage"), Some("6"), Some(4))
  )("column w of x")
  corrupted(
    "a min that is no date",
    90,
    "d" -> column(Some(50), Some(0), Some("not a day"), Some("2020-02-19"), Some(4))
  )("column d of x")
  corrupted(
    "a histogram of overlapping buckets",
    90,
    "w" -> column(Some(7), Some(0), Some("0"), Some("6"), Some(4), Some(histogram(10, (0, 5, 3), (2, 6, 3))))
  )("column w of x")
  corrupted(
    "a histogram that runs backwards",
    90,
    "w" -> column(Some(7), Some(0), Some("0"), Some("6"), Some(4), Some(histogram(10, (5, 0, 3))))
  )("column w of x")
  corrupted(
    "a histogram of NaN",
    90,
    "w" -> column(Some(7), Some(0), Some("0"), Some("6"), Some(4), Some(histogram(10, (Double.NaN, 1, 3))))
  )("column w of x")
  corrupted("a negative length", 90, "w" -> column(Some(7), Some(0), Some("0"), Some("6"), Some(-4)))("column w of x")

  test("statistics: absurdly many rows, an empty histogram, no numbers at all are not worth a line") {
    withTables("x") {
      MemorySource.create(spark, "x", "k INT, w INT", Nil)
      val sql =
        "SELECT count(*) FROM f JOIN a ON f.k1 = a.k JOIN x ON f.k2 = x.k JOIN c ON f.k3 = c.k WHERE x.w < 3 AND c.w " +
          "= 1"
      Seq(
        InjectedStatistics(
          spark,
          "x",
          Some(BigInt(10).pow(60)),
          BigInt(10).pow(70),
          Map("k" -> column(ndv = Some(BigInt(10).pow(50))))
        ),
        InjectedStatistics(spark, "x", Some(0), 0, Map("w" -> column(Some(0), Some(0), Some("0"), Some("6"), Some(4)))),
        InjectedStatistics(spark, "x", Some(10), 100, Map("w" -> column(histogram = Some(histogram(0.0))))),
        InjectedStatistics(spark, "x", Some(10), 100, Map("w" -> column(), "gone" -> column(Some(3))))
      ).foreach { _ =>
        val (rows, lines) = LogCapture("dovetail")(answer(sql))
        assert(rows == Seq("[0]") && lines.isEmpty, lines)
      }
    }
  }

  // settings

  test("a wrong value is refused where it is set, with what is allowed") {
    Seq(
      DovetailConf.CardWeight.key    -> "1.5"     -> "from 0.0 to 1.0",
      DovetailConf.CardWeight.key    -> "much"    -> "double",
      DovetailConf.CostModel.key     -> "cheap"   -> "physical, cardWeight",
      DovetailConf.MaxPlanningMs.key -> "0"       -> "at least 1",
      DovetailConf.ExactPairs.key    -> "-1"      -> "at least 0",
      DovetailConf.MinGain.key       -> "2"       -> "from 0.0 to 1.0",
      DovetailConf.Enabled.key       -> "perhaps" -> "boolean"
    ).foreach { case ((key, value), hint) =>
      val message = intercept[IllegalArgumentException](spark.conf.set(key, value)).getMessage
      assert(
        message.contains(key.stripPrefix("spark.dovetail.")) && hint.split(", ").forall(message.contains),
        s"$key=$value: $message"
      )
      assertThrows[Exception](spark.sql(s"SET $key=$value"))
    }
  }

  test("a wrong value from a configuration file gives the default and one warning, and the session starts") {
    Seq(
      DovetailConf.MinGain.key          -> "lots",
      DovetailConf.CostModel.key        -> "cheap",
      DovetailConf.HistogramEnabled.key -> "2",
      DovetailConf.ExactPairs.key       -> "-7"
    ).foreach { case (key, value) =>
      spark.sharedState.conf.set(key, value)
      try {
        val setting    = DovetailConf.all.find(_.key == key).get
        val (_, lines) = LogCapture("dovetail") {
          (1 to 2).foreach { _ =>
            val session = spark.newSession()
            assert(DovetailSuite.sorted(session.sql(star).collect()) == answer(star))
            assert(setting.get(session.sessionState.conf).toString == setting.entry.defaultValueString)
            // Spark applies the session's settings again in the tasks of an RDD, and in a copy of the session
            assert(session.range(2).rdd.count() == 2L && CopiedSession(session).range(2).rdd.count() == 2L)
          }
        }
        assert(
          lines.size == 1 && lines.head.contains(key) && lines.head.contains(setting.entry.defaultValueString),
          lines
        )
      } finally spark.sharedState.conf.remove(key)
    }
  }

  test("a weight that the cost model does not have is said once") {
    withConf(DovetailConf.CardWeight.key -> "0.25") {
      val (_, lines) = LogCapture("dovetail")((1 to 2).foreach(_ => optimized(star)))
      assert(lines.size == 1 && lines.head.contains("cardWeight is set but not used"), lines)
      withConf(DovetailConf.CostModel.key -> "cardWeight") {
        assert(LogCapture("dovetail")(optimized(star))._2.isEmpty)
      }
    }
  }

  test("a key that is no setting is said once, with the nearest name, wherever it was set") {
    Seq(
      "spark.dovetail.reorder.mingain"  -> DovetailConf.MinGain.key,
      "spark.dovetail.reorder.minGian"  -> DovetailConf.MinGain.key,
      "spark.dovetail.minGain"          -> DovetailConf.MinGain.key,
      "spark.dovetail.enable"           -> DovetailConf.Enabled.key,
      "spark.dovetail.stats.sampleRows" -> DovetailConf.SampleRows.key,
      "spark.dovetail.nonsense"         -> "spark.dovetail."
    ).foreach { case (key, nearest) =>
      val (_, lines) = LogCapture("dovetail") {
        withConf(key -> "0.5")((1 to 2).foreach(_ => optimized(star)))
        spark.sharedState.conf.set(key, "0.5")
        try spark.newSession().sql("SELECT 1").collect()
        finally spark.sharedState.conf.remove(key)
      }
      assert(lines.size == 1 && lines.head.contains(s"no setting $key,") && lines.head.contains(nearest), lines)
    }
    // an existing setting is not reported
    val (_, lines) = LogCapture("dovetail")(withConf(DovetailConf.MinGain.key -> "0.5")(optimized(star)))
    assert(lines.isEmpty, lines)
  }

  test("a key in a configuration file is said with the session's first query, also where Dovetail is off") {
    val key = "spark.dovetail.reorder.exactpairs"
    spark.sharedState.conf.set(key, "5")
    try {
      val (_, lines) = LogCapture("dovetail") {
        val session = spark.newSession()
        session.conf.set(DovetailConf.Enabled.key, "false")
        session.sql("SELECT 1").collect()
      }
      assert(lines.size == 1 && lines.head.contains(DovetailConf.ExactPairs.key), lines)
    } finally spark.sharedState.conf.remove(key)
  }

  // the wrong jar

  test("extensions that name Dovetail twice have each of its rules once") {
    val extensions = new SparkSessionExtensions
    (1 to 2).foreach(_ => new _root_.dovetail.DovetailExtensions()(extensions))
    assert(extensions.buildPreCBORules(spark).map(_.getClass) == Seq(classOf[ReorderJoins], PredicateOrder.getClass))
    assert(extensions.buildPlannerStrategies(spark).size == 2)
  }

  test("in another Spark line Dovetail switches itself off, with one line, and injects nothing") {
    val line = BuildInfo.sparkLine
    Seq("3.4.1", "4.9.0", s"${line}1.0", "5.0.0-SNAPSHOT").filterNot(_.startsWith(line + ".")).foreach { version =>
      val extensions = new RecordedExtensions
      val (_, lines) = LogCapture("dovetail")(GuardProbe(extensions, version))
      assert(
        lines.size == 1 && lines.head.contains("is off") && lines.head.contains(line) && lines.head.contains(version),
        lines
      )
      assert(extensions.injected.isEmpty)
    }
    val extensions = new RecordedExtensions
    val (_, lines) = LogCapture("dovetail")(GuardProbe(extensions, s"$line.99"))
    assert(lines.isEmpty && extensions.injected.contains("dovetail_version"))
  }

  /**
   * Extensions that record what is injected, because the lookup in a function registry differs between the Spark lines.
   */
  private class RecordedExtensions extends SparkSessionExtensions {
    var injected: Set[String]                                                  = Set.empty
    override def injectTableFunction(function: TableFunctionDescription): Unit = injected += function._1.funcName
    override def injectPreCBORule(builder: RuleBuilder): Unit                  = injected += "rule"
    override def injectPlannerStrategy(builder: StrategyBuilder): Unit         = injected += "strategy"
    override def injectParser(builder: ParserBuilder): Unit                    = injected += "parser"
  }

  test("whatever fails while hooking in costs nobody the session") {
    val broken = new SparkSessionExtensions {
      override def injectParser(builder: ParserBuilder): Unit = throw new NoSuchMethodError("injected")
    }
    val (_, lines) = LogCapture("dovetail")(GuardProbe(broken, s"${BuildInfo.sparkLine}.0"))
    assert(lines.size == 1 && lines.head.contains("could not be installed"))
  }

  // time and depth

  private def clique(n: Int): String = {
    val conditions = for (i <- 0 until n; j <- 0 until i)
      yield s"r$i.c${math.min(i, j)}_${math.max(i, j)} = r$j.c${math.min(i, j)}_${math.max(i, j)}"
    val relations = (0 until n).map { i =>
      val columns = (0 until n).filter(_ != i).map(j => s"k AS c${math.min(i, j)}_${math.max(i, j)}")
      s"(SELECT ${columns.mkString(", ")} FROM ${if (i % 2 == 0) "a" else "c"}) r$i"
    }
    s"SELECT count(*) FROM ${relations.mkString(", ")} WHERE ${conditions.mkString(" AND ")}"
  }

  test("out of time, the search goes on greedily and says so") {
    val sql = clique(14)
    withConf(DovetailConf.MaxPlanningMs.key -> "1", DovetailConf.ExactPairs.key -> Long.MaxValue.toString) {
      val group = traced(sql)._2.groups.head
      assert(group.algorithm.contains("goo") && group.reason.contains("out of time"), group.reason)
      assert(answer(sql) == Seq("[20]"))
    }
    withConf(DovetailConf.ExactPairs.key -> "1000") {
      val group = traced(sql)._2.groups.head
      assert(group.algorithm.exists(_.startsWith("lindp")) && group.reason.contains("1000 pairs"), group.reason)
    }
  }

  test("a job that the user cancels while Spark lists partitions ends the query") {
    val cancelled = new SparkException("Job 7 cancelled part of cancelled job group x")
    Seq(cancelled, new RuntimeException("Failed to plan files", new CompletionException(cancelled))).foreach(e =>
      withRule(new FailingRule(_, () => e))(assert(intercept[Exception](answer(star)) eq e))
    )
    val plain = spark.table("a").queryExecution.analyzed.collectFirst { case r: LogicalRelation => r }.get
    val index = new VersionedIndex(new Path("/nowhere/cancelled"), 1L, "t", () => throw cancelled)
    val leaf  = plain.relation match {
      case f: HadoopFsRelation => plain.copy(relation = f.copy(location = index)(spark))
      case other               => fail(other.toString)
    }
    val footers = new FooterStatistics(spark.sessionState.conf, _ => "a")
    assert(intercept[SparkException](footers.readAhead(Seq(leaf), AttributeSet.empty)) eq cancelled)
  }

  test("a very deep plan is planned") {
    val deep = (1 to 400).foldLeft("SELECT f.k1, f.k2 FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k")((sql, i) =>
      if (i % 40 == 0) s"SELECT k1, k2 FROM ($sql) LIMIT ${10000 + i}" else sql
    )
    assert(answer(s"SELECT count(*) FROM ($deep)") == dovetail(on = false)(answer(s"SELECT count(*) FROM ($deep)")))
  }

  test("a plan too deep for the stack: a rule that overflows gives way") {
    val shallow = incoming(star)
    val thread  = new Thread(
      null,
      () => {
        val plan = (1 to 20000).foldLeft(shallow)((child, i) => SubqueryAlias(s"x$i", child))
        assert(new ReorderJoins(spark).apply(plan) eq plan)
      },
      "shallow stack",
      512L * 1024
    )
    var failed = Option.empty[Throwable]
    thread.setUncaughtExceptionHandler((_, e) => failed = Some(e))
    thread.start()
    thread.join()
    assert(failed.isEmpty, failed.map(e => s"$e at ${e.getStackTrace.take(5).toSeq}"))
  }

  test("rows that no join produces are no trouble: empty inputs everywhere") {
    withTables("none") {
      MemorySource.create(spark, "none", "k INT, v INT", Seq.empty)
      InjectedStatistics(spark, "none", Some(0), 0)
      val sql = "SELECT count(*) FROM none x JOIN none y ON x.k = y.k JOIN none z ON y.v = z.v JOIN f ON f.k1 = z.k"
      assert(answer(sql) == Seq("[0]"))
    }
  }
}
