package org.apache.spark.sql.dovetail

import scala.collection.mutable
import scala.util.Random

import org.apache.logging.log4j.Level
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.IsNotNull
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf}
import org.apache.spark.sql.dovetail.deadline.{PlanningTime, TimeIsUp}
import org.apache.spark.sql.dovetail.plan.{ChainDecision, ReorderAtRunTime, SparkCosts}
import org.apache.spark.sql.dovetail.report.{ActualRows, GroupReport}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  BroadcastQueryStageExec,
  LogicalQueryStage,
  QueryStageExec
}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.scalatest.exceptions.TestFailedException

/** Joins that are reordered while their query runs, and joins that are not. */
class RunTimeOrderSuite extends StarSuite {
  import InjectedStatistics.column

  /**
   * According to the statistics, `a.w <= 8` keeps 9 of 100 rows, and `c.w = 1` all 20. In truth they keep 90 and 2.
   * `d.k` is said to be unique, but each value occurs 30 times.
   */
  override def beforeAll(): Unit = {
    super.beforeAll()
    def of(ndv: Int, min: Int, max: Int) =
      column(Some(BigInt(ndv)), Some(BigInt(0)), Some(min.toString), Some(max.toString), Some(4L))
    def table(name: String, rows: Int, w: org.apache.spark.sql.catalyst.catalog.CatalogColumnStat): Unit =
      InjectedStatistics(
        spark,
        name,
        Some(BigInt(rows)),
        BigInt(rows * 40),
        Map("k" -> of(rows, 0, rows - 1), "w" -> w)
      )
    table("a", 100, of(100, 0, 99))
    table("c", 20, of(1, 1, 1))
    spark.sql(
      "CREATE TABLE d USING parquet AS SELECT CAST(id % 100 AS INT) k, CAST(id % 100 AS INT) w, concat('d', id) AS s " +
        "FROM range(3000)"
    )
    table("d", 3000, of(3000, 0, 2999))
  }

  override def afterAll(): Unit =
    try { spark.sql("DROP TABLE IF EXISTS d"); () }
    finally super.afterAll()

  private val chain = "SELECT f.v, a.s, c.s FROM f JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE a.w <= 8 AND c.w = 1"

  /** Plans with the wrong statistics, because no rows are read. */
  private def misled[A](settings: (String, String)*)(body: => A): A =
    withConf((Seq(
      "spark.dovetail.sample.files"    -> "false",
      DovetailConf.AdaptiveReorder.key -> "true"
    ) ++ settings): _*)(withoutIdempotenceCheck(body))

  private def all(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case a: AdaptiveSparkPlanExec => all(a.executedPlan)
    case s: QueryStageExec        => s +: all(s.plan)
    case p                        => p +: (p.children ++ p.subqueries).flatMap(all)
  }

  private class RunResult(val answer: Seq[String], val plan: SparkPlan, val groups: Vector[GroupReport]) {

    /** Columns of the build sides, in the order in which the joins run. */
    def builds: Seq[String] = all(plan).collect { case j: BroadcastHashJoinExec =>
      (if (j.buildSide == org.apache.spark.sql.catalyst.optimizer.BuildLeft) j.left else j.right).output.map(
        _.name
      ).sorted.mkString(",")
    }.reverse
    def changed: Boolean = groups.exists(_.changedAtRun)
    def reasons: String  = groups.flatMap(_.atRun).map(_.reason).mkString("; ")
    def order: String    = groups.flatMap(_.atRun).flatMap(_.order).mkString
  }

  /** What adaptive execution logs about a query while `body` runs it: new plans that are invalid, and the others. */
  private def replanning[A](body: => A): (A, Seq[String], Seq[String]) = {
    val (result, lines)   = LogCapture(classOf[AdaptiveSparkPlanExec].getName, Level.DEBUG)(body)
    val (invalid, others) = lines.partition(_.startsWith("Re-optimize - "))
    (result, invalid, others)
  }

  /** Runs a query, and asserts that Spark has rejected none of the plans that it made while the query ran. */
  private def run(sql: String): RunResult = {
    val (execution, trace)        = traced(sql)
    val (answer, invalid, others) = replanning(DovetailSuite.answer(execution))
    assert(invalid.isEmpty, sql)
    assert(
      others.exists(_.startsWith("Final plan")) || !execution.executedPlan.isInstanceOf[AdaptiveSparkPlanExec],
      sql
    )
    new RunResult(answer, execution.executedPlan, ActualRows(execution.executedPlan, trace.groups))
  }

  private def expected(sql: String): Seq[String] = dovetail(on = false)(answer(sql))

  private def changes(sql: String, settings: (String, String)*): RunResult = {
    val ran = misled(settings: _*)(run(sql))
    assert(ran.changed, s"$sql\n${ran.groups}\n${ran.plan}")
    assert(ran.answer == expected(sql), sql)
    ran
  }

  private def stays(sql: String, settings: (String, String)*): RunResult = {
    val ran = misled(settings: _*)(run(sql))
    assert(!ran.changed, s"$sql\n${ran.groups.map(_.atRun)}")
    assert(ran.answer == expected(sql), sql)
    ran
  }

  test("wrong estimates: the plan that ran has the order that the counted rows ask for, and the same rows") {
    val ran     = changes(chain)
    val planned = stays(chain, DovetailConf.AdaptiveReorder.key -> "false")
    assert(planned.builds == Seq("k,s", "k,s"), planned.plan)
    val joins = ran.groups.flatMap(_.joins)
    assert(joins.map(_.relations.toSet) == Vector(Set("f", "c"), Set("f", "a", "c")), ran.groups)
    assert(joins.map(_.actual) == Vector(Some(500L), Some(500L)), joins)
    val before = planned.groups.flatMap(_.joins)
    assert(before.map(_.actual) == Vector(Some(4500L), Some(500L)), before)
    assert(ran.order == "((f c) a)" && ran.groups.head.atRun.flatMap(_.planned) == Vector("((f a) c)"), ran.groups)
    assert(
      ran.reasons.contains("90 rows of a, estimated ") && ran.reasons.contains("2 rows of c, estimated 20"),
      ran.reasons
    )
    // the new plan has both broadcasts, each of them once
    assert(all(ran.plan).count(_.isInstanceOf[BroadcastQueryStageExec]) == 2, ran.plan)
  }

  test("explain and the log tell the planned order, the one at run time, and why") {
    val text = misled()(spark.sql(s"SELECT * FROM dovetail_explain('$chain', 'text', 'actual')").head().getString(0))
    assert(
      text.contains("at run time  ((f c) a)") && text.contains("in place of ((f a) c): ") && text.contains(
        "90 rows of a"
      ),
      text
    )
    val json = misled()(spark.sql(s"SELECT * FROM dovetail_explain('$chain', 'json', 'actual')").head().getString(0))
    assert(json.contains("\"at_run_time\":[{\"planned\":\"((f a) c)\",\"order\":\"((f c) a)\""), json)
    val planned = misled()(spark.sql(s"SELECT * FROM dovetail_explain('$chain')").head().getString(0))
    assert(!planned.contains("at run time"), planned)
    misled()(spark.sql(chain).collect())
    spark.sparkContext.listenerBus.waitUntilEmpty()
    val row = spark.sql("SELECT * FROM dovetail_queries() ORDER BY id").collect().last
    assert(row.getAs[Long]("join_rows") == 1000L, row)
    val past = spark.sql(s"SELECT * FROM dovetail_explain('${row.getAs[Long]("id")}')").head().getString(0)
    assert(past.contains("at run time  ((f c) a)"), past)
  }

  test("semi, anti and left outer joins move with the others, and stay behind what they read") {
    val semi = changes(
      "SELECT f.v, a.s FROM f JOIN a ON f.k1 = a.k WHERE a.w <= 8 AND EXISTS (SELECT 1 FROM c WHERE c.k = f.k3 AND " +
        "c.w = 1) AND f.k2 IN (SELECT k FROM b)"
    )
    assert(semi.order.startsWith("((f c)") || semi.order.startsWith("(((f c)"), semi.order)
    changes(
      "SELECT f.v, b.s, c.s FROM f LEFT JOIN b ON f.k2 = b.k JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE a.w " +
        "<= 8 AND c.w = 1"
    )
    // c is joined by a column of a, so it stays behind a
    val bound = stays("SELECT f.v FROM f JOIN a ON f.k1 = a.k JOIN c ON a.w = c.k WHERE a.w <= 8 AND c.w = 1")
    assert(bound.groups.nonEmpty)
  }

  test("inside of an aggregate, above a shuffled join, in a subquery, and below a join that stays") {
    changes(s"SELECT count(*), sum(v) FROM ($chain)")
    changes(s"SELECT * FROM ($chain) x WHERE v > (SELECT avg(w) FROM b)")
    changes(s"SELECT x.v, y.n FROM ($chain) x JOIN (SELECT v, count(*) n FROM f GROUP BY v) y ON x.v = y.v")
    misled("spark.sql.autoBroadcastJoinThreshold" -> "6000", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1") {
      val sql =
        "SELECT f.v, a.s, c.s FROM f JOIN f g ON f.v = g.v AND f.t = g.t JOIN a ON f.k1 = a.k JOIN c ON g.k3 = c.k " +
          "WHERE a.w <= 8 AND c.w = 1"
      val ran = run(sql)
      assert(ran.answer == expected(sql))
      assert(ran.changed, ran.groups)
    }
  }

  /** Nothing is broadcast, at planning or at run time. */
  private val shuffled =
    Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1")
  private val evaluated = "spark.sql.adaptive.customCostEvaluatorClass" -> "dovetail.DovetailCostEvaluator"

  /** The probe is a grouping, which is exchanged twice, so the other inputs are complete before it. */
  private def grouped(key: String, most: Int) =
    s"SELECT g.v, d.s, c.s FROM (SELECT k1, k3, v, t FROM f GROUP BY k1, k3, v, t) g JOIN d ON g.k1 = d.k " +
      s"JOIN c ON g.$key = c.k WHERE d.w <= $most AND c.w = 1"

  private def exchanges(ran: RunResult): Int = all(ran.plan).count(_.isInstanceOf[ShuffleExchangeLike])

  test("exchanged inputs: another order that pays for one more exchange, if Spark compares plans by our costs") {
    val sql = grouped("k3", most = 89)
    misled(shuffled :+ evaluated: _*) {
      val ran = run(sql)
      assert(ran.changed && ran.order == "((g c) d)", s"${ran.groups}\n${ran.plan}")
      assert(ran.reasons.contains("one or more exchanges included"), ran.reasons)
      assert(ran.answer == expected(sql))
      val joins = ran.groups.flatMap(_.joins)
      assert(joins.map(_.actual) == Vector(Some(500L), Some(13500L)), joins)
    }
    misled(shuffled: _*) {
      val planned = run(sql)
      assert(!planned.changed && planned.reasons.contains("needs another exchange, which Spark allows only with"))
      assert(planned.answer == expected(sql))
      assert(planned.groups.flatMap(_.joins).map(_.actual).head == Some(135000L), planned.groups)
      misled(evaluated)(assert(exchanges(run(sql)) == exchanges(planned) + 1))
    }
  }

  test("exchanged inputs: joins on one key move without another exchange, and without our costs") {
    val sql = grouped("k1", most = 8)
    misled(shuffled: _*) {
      val ran     = run(sql)
      val planned = withConf(DovetailConf.AdaptiveReorder.key -> "false")(run(sql))
      assert(ran.changed && ran.order == "((g c) d)" && !planned.changed, s"${ran.groups}\n${ran.plan}")
      assert(ran.answer == expected(sql) && exchanges(ran) == exchanges(planned), ran.plan)
    }
  }

  test("plans that were not reordered cost what they cost in Spark") {
    val queries = Seq(chain, grouped("k3", most = 89), "SELECT count(*) FROM f JOIN a ON f.k1 = a.k")
    val plans   = queries.flatMap(sql => Seq(run(sql).plan, misled(shuffled: _*)(run(sql)).plan))
    val sparks  = SparkCosts(spark.sessionState.conf)
    val ours    = new _root_.dovetail.DovetailCostEvaluator
    for (a <- plans; b <- plans) {
      assert(
        ours.evaluateCost(a).compare(ours.evaluateCost(b)) == sparks.evaluateCost(a).compare(sparks.evaluateCost(b))
      )
      assert((ours.evaluateCost(a) == ours.evaluateCost(b)) == (sparks.evaluateCost(a) == sparks.evaluateCost(b)))
    }
    val moved = misled(shuffled :+ evaluated: _*)(run(grouped("k3", most = 89)).plan)
    plans.foreach { p =>
      assert(ours.evaluateCost(moved) < ours.evaluateCost(p), "a plan with the latest decision is adopted")
      assert(ours.evaluateCost(p).compare(ours.evaluateCost(moved)) == sparks.evaluateCost(
        p
      ).compare(sparks.evaluateCost(moved)))
    }
  }

  test("a broadcast that prunes the scan of the probe is taken to be joined already") {
    val pruned =
      "SELECT p.v, a.s, b.s, c.s FROM p JOIN b ON p.k2 = b.k JOIN a ON p.k1 = a.k JOIN c ON p.k3 = c.k " +
        "WHERE a.w <= 8 AND b.w = 1 AND c.w = 1"
    val ran = misled()(run(pruned))
    assert(ran.answer == expected(pruned))
    assert(all(ran.plan).exists(_.toString.contains("dynamicpruning")), ran.plan)
    assert(!ran.changed && ran.reasons.contains("it is still the best one"), ran.groups)
    changes(pruned, "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false")
  }

  test("nothing changes with an order that is asked for, with hints, exclusions, or where it is off") {
    stays(chain, DovetailConf.AdaptiveReorder.key -> "false")
    stays(chain, DovetailConf.Enabled.key         -> "false")
    stays(chain, "spark.sql.adaptive.enabled"     -> "false")
    stays(chain, DovetailConf.ExcludeTables.key   -> "c")
    stays(chain, DovetailConf.Order.key           -> "((f a) c)")
    stays(chain.replace("SELECT", "SELECT /*+ DOVETAIL_OFF */"))
    stays(chain.replace("SELECT", "SELECT /*+ DOVETAIL_ORDER('((f a) c)') */"))
    stays(chain.replace("SELECT", "SELECT /*+ BROADCAST(a) */"))
    stays(chain, DovetailConf.MinGain.key -> "1.0")
    misled()(spark.sql(s"DOVETAIL PIN here FOR $chain").collect())
    try stays(chain)
    finally { spark.sql("DOVETAIL UNPIN here").collect(); () }
    changes(chain)
  }

  test("nothing changes where the estimates are about right, where a column may throw, or when the graph is gone") {
    val right = stays("SELECT f.v, a.s, c.s FROM f JOIN a ON f.k1 = a.k JOIN c ON f.k3 = c.k WHERE a.k < 90")
    assert(right.reasons.contains("about the rows that were estimated"), right.groups.map(_.atRun))
    def computed(d: String) =
      s"SELECT q.d, a.s, c.s FROM (SELECT k1, k3, $d AS d FROM f WHERE v > 0) q JOIN a ON q.k1 = a.k JOIN c ON " +
        "q.k3 = c.k WHERE a.w <= 8 AND c.w = 1 AND c.k > 0"
    changes(computed("v"), "spark.sql.ansi.enabled"    -> "true")
    stays(computed("10 / v"), "spark.sql.ansi.enabled" -> "true")
    misled() {
      val (execution, trace) = traced(chain)
      BoundedCache.clearAll()
      assert(DovetailSuite.answer(execution) == expected(chain))
      assert(ActualRows(execution.executedPlan, trace.groups).forall(_.atRun.isEmpty))
    }
  }

  test("whatever is thrown, or when time is up: Spark's plan, one line, and the reason in explain") {
    def failing(failure: () => Throwable) = (session: SparkSession) =>
      new ReorderAtRunTime(session) {
        override protected def order(plan: LogicalPlan, decision: ChainDecision): LogicalPlan = throw failure()
      }
    val excluded = "spark.sql.adaptive.optimizer.excludedRules" -> classOf[ReorderAtRunTime].getName
    Seq[() => Throwable](
      () => new RuntimeException("injected"),
      () => new MatchError("injected"),
      () => new NoSuchMethodError("injected"),
      () => new AssertionError("injected"),
      () => new StackOverflowError("injected")
    ).foreach { failure =>
      TestExtensions.atRunTime = Some(failing(failure))
      try {
        val (_, lines) = LogCapture("dovetail") {
          (1 to 2).foreach { _ =>
            val ran = stays(chain, excluded)
            assert(ran.reasons.contains("injected"), ran.groups.map(_.atRun))
          }
        }
        assert(lines.count(_.contains("injected")) == 1, lines)
      } finally TestExtensions.atRunTime = None
    }
    TestExtensions.atRunTime = Some(session =>
      new ReorderAtRunTime(session) {
        override protected def order(plan: LogicalPlan, decision: ChainDecision): LogicalPlan = {
          while (true) { Thread.sleep(1L); PlanningTime.check() }
          plan
        }
      }
    )
    try
      misled(excluded) {
        val (execution, trace) = traced(chain)
        assert(execution.executedPlan != null)
        val found = withConf(DovetailConf.PlanningMaxMs.key -> "200")(DovetailSuite.answer(execution))
        assert(found == expected(chain))
        val groups = ActualRows(execution.executedPlan, trace.groups)
        assert(groups.flatMap(_.atRun).exists(_.reason.contains(TimeIsUp.reason)), groups.map(_.atRun))
      }
    finally TestExtensions.atRunTime = None
    // a plan whose output is not the query's is never used
    TestExtensions.atRunTime = Some(session =>
      new ReorderAtRunTime(session) {
        override protected def order(plan: LogicalPlan, decision: ChainDecision): LogicalPlan = decision.chain.probe
      }
    )
    try assert(stays(chain, excluded).reasons.contains("lost its output"))
    finally TestExtensions.atRunTime = None
  }

  test("a plan that Spark rejects would be found: here, one with a filter between a broadcast and its join") {
    class Rejected(session: SparkSession) extends ReorderAtRunTime(session) {
      override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
        case j: Join => j.right match {
            case s: LogicalQueryStage if s.physicalPlan.isInstanceOf[BroadcastQueryStageExec] =>
              j.copy(right = Filter(IsNotNull(s.output.head), s))
            case _ => j
          }
      }
    }
    TestExtensions.atRunTime = Some(new Rejected(_))
    try {
      val (found, invalid, _) = misled(DovetailConf.AdaptiveReorder.key -> "false")(replanning(answer(chain)))
      assert(invalid.nonEmpty && invalid.forall(_.contains("Invalid broadcast query stage")), invalid)
      assert(found == expected(chain))
      intercept[TestFailedException](misled(DovetailConf.AdaptiveReorder.key -> "false")(run(chain)))
    } finally TestExtensions.atRunTime = None
  }

  /**
   * A random chain of joins over [[RandomTables]], with all kinds of joins, conditions on several tables, and filters.
   */
  final private class Chains(random: Random) {
    private def one[A](values: A*): A      = values(random.nextInt(values.size))
    private def chance(p: Double): Boolean = random.nextDouble() < p
    private def filter(r: String)          = one(
      s"$r.v < ${1 + random.nextInt(9)}",
      s"$r.k IN (1, 2, ${random.nextInt(6)})",
      s"$r.g IS NOT NULL",
      s"$r.s LIKE 'a%'",
      s"$r.d >= DATE '2020-01-02'"
    )

    def query(): String = {
      val visible = mutable.ArrayBuffer("r0")
      val joins   = (1 to 2 + random.nextInt(4)).map { i =>
        val r     = s"r$i"
        val kind  = one("JOIN", "JOIN", "JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        val other = if (chance(0.7)) "r0" else one(visible.toSeq: _*)
        val key   = one("k", "k", "g", "v", "s")
        val on    = s"$other.$key ${if (chance(0.1)) "<=>" else "="} $r.$key" +
          (if (chance(0.2)) s" AND ${one(visible.toSeq: _*)}.v <= $r.v" else "") +
          (if (chance(0.6)) s" AND ${filter(r)}" else "")
        if (!kind.contains("SEMI") && !kind.contains("ANTI")) visible += r
        s"$kind ${one(RandomTables.names.take(6) ++ RandomTables.names.take(5): _*)} $r ON $on"
      }
      val where = if (chance(0.3)) s" WHERE ${filter("r0")}" else ""
      val list  = visible.toSeq.map(r => s"$r.${one("k", "v", "s")}").zipWithIndex.map { case (c, i) => s"$c AS c$i" }
      val from  = s"FROM ${one(RandomTables.names.take(5): _*)} r0 ${joins.mkString(" ")}$where"
      if (chance(0.3)) s"SELECT count(*), sum(${visible.last}.v) $from" else s"SELECT ${list.mkString(", ")} $from"
    }
  }

  private val queries = DovetailSuite.setting("dovetail.test.chains", 80L)
  private val seed    = DovetailSuite.setting("dovetail.test.seed", 20264L)

  /** Smallest share of the queries that must get another order at run time. */
  private val ChangedShare = 0.1

  /** Runs generated chains, and returns how many of them got another order at run time. */
  private def generated(settings: (String, String)*): Int = {
    val random   = new Random(seed)
    var changed  = 0
    val failures = mutable.ArrayBuffer.empty[String]
    withTables(RandomTables.names: _*) {
      RandomTables.create(spark, random)
      (0L until queries).foreach { i =>
        val own = new Random(seed + i)
        if (i % 4 == 0) RandomTables.misinform(spark, own)
        val sql = new Chains(own).query()
        misled((Seq(DovetailConf.MinGain.key -> "0", "spark.sql.shuffle.partitions" -> "1") ++ settings): _*) {
          val found = withoutFailures(run(sql))
          if (found.changed) changed += 1
          if (found.answer != expected(sql)) failures += s"$sql\n${found.plan}"
        }
      }
    }
    info(s"$queries queries, seed $seed: $changed changed at run time (${100 * changed / queries} %)")
    assert(failures.isEmpty, failures.take(5).mkString(s"${failures.size} of $queries differ:\n", "\n\n", ""))
    changed
  }

  test("generated chains: same rows, and the orders do change") {
    assert(generated() >= ChangedShare * queries, "too few orders changed for this test to mean anything")
  }

  test("generated chains of exchanged inputs: same rows, and some orders change") {
    assert(generated(shuffled :+ evaluated: _*) > 0, "no order changed")
  }
}
