package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path}
import java.util.Comparator

import org.apache.logging.log4j.Level
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.plan.ReorderJoins
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.{Row, SparkSession}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/**
 * A suite on the one Spark session of this JVM, with Dovetail and with Spark's own checks switched on. Each suite has a
 * store of its own: statistics belong to a table's directory, which the next suite may use for other data.
 */
abstract class DovetailSuite extends AnyFunSuite with BeforeAndAfterAll {
  protected lazy val spark: SparkSession = TestSession.spark

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set(DovetailConf.StorePath.key, TestSession.directory.resolve("stores").resolve(suiteName).toString)
  }

  override def afterAll(): Unit =
    try spark.conf.unset(DovetailConf.StorePath.key)
    finally super.afterAll()

  /** Runs `body` under other settings, and restores the old ones. */
  protected def withConf[A](settings: (String, String)*)(body: => A): A = {
    val before = settings.map { case (key, _) => key -> spark.conf.getOption(key) }
    try { settings.foreach { case (key, value) => spark.conf.set(key, value) }; body }
    finally before.foreach { case (key, value) => value.fold(spark.conf.unset(key))(spark.conf.set(key, _)) }
  }

  /** Runs `body` with Dovetail or without it. Spark's own plans are not checked: that is what Spark's tests do. */
  protected def dovetail[A](on: Boolean)(body: => A): A =
    if (on) withConf(DovetailConf.Enabled.key -> "true")(body)
    else withConf(DovetailConf.Enabled.key -> "false", "spark.sql.planChangeValidation" -> "false")(
      withoutIdempotenceCheck(body)
    )

  /** Runs `body`, then drops the tables and views. */
  protected def withTables[A](names: String*)(body: => A): A =
    try body
    finally names.foreach { name =>
        val view = spark.catalog.tableExists(name) && spark.catalog.getTable(name).tableType.contains("VIEW")
        spark.sql(s"DROP ${if (view) "VIEW" else "TABLE"} IF EXISTS $name")
      }

  protected def withDirectory[A](body: Path => A): A = {
    val directory = Files.createTempDirectory(TestSession.directory, "data")
    try body(directory)
    finally TestSession.delete(directory)
  }

  /** The rows of a query as sorted text. Two answers are the same if these texts are equal. */
  protected def answer(sql: String): Seq[String] = DovetailSuite.answer(spark.sql(sql).queryExecution)

  protected def optimized(sql: String): LogicalPlan = spark.sql(sql).queryExecution.optimizedPlan
  protected def physical(sql: String): SparkPlan    = spark.sql(sql).queryExecution.executedPlan

  /** Plans a query, and returns it with what the rule did. */
  protected def traced(sql: String): (QueryExecution, Trace) =
    Trace.collecting { val e = spark.sql(sql).queryExecution; e.optimizedPlan; e }

  /**
   * Asserts that the answer is the same with Dovetail and without it, and that Dovetail reorders, unless `reorders` is
   * false.
   */
  protected def sameAnswer(sql: String, reorders: Boolean = true): Unit = {
    val expected = dovetail(on = false)(answer(sql))
    dovetail(on = true)(withoutFailures {
      assert(answer(sql) == expected, s"with Dovetail, for $sql")
      if (reorders) assert(reordered(sql), told(s"nothing was reordered in $sql: ${traced(sql)._2.groups}"))
    })
    ()
  }

  /** Runs `body`, and asserts that no part of Dovetail failed: Spark's own plan would be used instead, silently. */
  protected def withoutFailures[A](body: => A): A = {
    val (result, lines) = LogCapture("dovetail", Level.DEBUG)(body)
    val failed          = lines.filter(_.contains(" failed: "))
    assert(failed.isEmpty, failed.take(3).mkString("\n"))
    result
  }

  /** A clue that is made only if its assertion fails. */
  protected def told(text: => Any): Any = new { override def toString: String = String.valueOf(text) }

  protected def reordered(sql: String): Boolean = traced(sql)._2.groups.exists(_.status == "reordered")

  /**
   * Runs `body` without the second run of every once-only rule, which Spark makes in its own tests, so that each group
   * is seen once.
   */
  protected def withoutIdempotenceCheck[A](body: => A): A = {
    val before = Option(System.clearProperty(TestSession.Testing))
    try body
    finally before.foreach(System.setProperty(TestSession.Testing, _))
  }

  /** Runs `body` with `rule` in place of Dovetail's rule. */
  protected def withRule[A](rule: SparkSession => ReorderJoins)(body: => A): A = {
    TestExtensions.rule = Some(rule)
    try withConf("spark.sql.optimizer.excludedRules" -> classOf[ReorderJoins].getName)(body)
    finally TestExtensions.rule = None
  }

  /** The plan as the rule receives it. */
  protected def incoming(sql: String): LogicalPlan = {
    var seen = Option.empty[LogicalPlan]
    withRule(session =>
      new ReorderJoins(session) {
        override def apply(plan: LogicalPlan): LogicalPlan = { if (seen.isEmpty) seen = Some(plan); plan }
      }
    )(
      optimized(sql)
    )
    seen.get
  }
}

object DovetailSuite {

  /**
   * A number from a system property, or from an environment variable (DOVETAIL_TEST_QUERIES for dovetail.test.queries),
   * which also reaches forked tests.
   */
  def setting(property: String, default: Long): Long =
    sys.props.get(property).orElse(sys.env.get(property.toUpperCase(java.util.Locale.ROOT).replace(
      '.',
      '_'
    ))).fold(default)(_.trim.toLong)

  /**
   * Runs a query as `collect` does, but without a description for the SQL user interface, which takes as long as a tiny
   * query.
   */
  def answer(execution: QueryExecution): Seq[String] =
    sorted(SQLExecution.withSQLConfPropagated(execution.sparkSession)(execution.executedPlan.executeCollectPublic()))

  def sorted(rows: Array[Row]): Seq[String] = rows.map(text).sorted.toSeq

  private def text(value: Any): String = value match {
    case row: Row                        => row.toSeq.map(text).mkString("[", ",", "]")
    case bytes: Array[Byte]              => bytes.mkString("x", ".", "")
    case seq: scala.collection.Seq[_]    => seq.map(text).mkString("(", ",", ")")
    case map: scala.collection.Map[_, _] =>
      map.toSeq.map { case (k, v) => text(k) + "->" + text(v) }.sorted.mkString("{", ",", "}")
    // the last digits of a sum depend on the order of addition
    case d: Double => if (d.isNaN || d.isInfinite) d.toString else f"${d + 0.0}%.6e"
    case f: Float  => if (f.isNaN || f.isInfinite) f.toString else f"${f + 0.0f}%.4e"
    case other     => String.valueOf(other)
  }
}

object TestSession {

  /**
   * With this property, Spark runs every rule of a `Once` batch a second time, fails if that changes the plan, and
   * checks plans after every rule.
   */
  val Testing = "spark.testing"

  val directory: Path = Files.createTempDirectory("dovetail-tests")

  lazy val spark: SparkSession = {
    System.setProperty(Testing, "true")
    System.setProperty("log4j2.configurationFile", quietLogs.toString)
    Runtime.getRuntime.addShutdownHook(new Thread(() => delete(directory)))
    SparkSession
      .builder()
      .master("local[2]")
      .appName("dovetail tests")
      .config("spark.sql.extensions", s"dovetail.DovetailExtensions,${classOf[TestExtensions].getName}")
      .config("spark.sql.planChangeValidation", "true")
      .config("spark.sql.shuffle.partitions", "2")
      // compilation would take most of the time of tiny queries
      .config("spark.sql.codegen.wholeStage", "false")
      .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
      // tiny queries: a hash table takes a page, a broadcast a block, and Spark removes old ones slowly
      .config("spark.buffer.pageSize", "1m")
      .config("spark.broadcast.blockSize", "64k")
      .config("spark.broadcast.compress", "false")
      .config("spark.shuffle.compress", "false")
      .config("spark.cleaner.referenceTracking.blocking", "false")
      .config("spark.sql.ui.retainedExecutions", "100")
      .config("spark.ui.retainedJobs", "100")
      .config("spark.ui.retainedStages", "100")
      .config("spark.ui.retainedTasks", "1000")
      .config("spark.sql.warehouse.dir", directory.resolve("warehouse").toString)
      .config("spark.local.dir", directory.resolve("local").toString)
      .config("spark.ui.enabled", "false")
      // plans must not depend on how busy the machine is
      .config("spark.dovetail.planning.maxMs", "60000")
      .config("spark.dovetail.reorder.maxPlanningMs", "60000")
      .config("spark.dovetail.footers.maxMs", "60000")
      // nor on where it is
      .config("spark.sql.session.timeZone", "UTC")
      .config("spark.driver.host", "localhost")
      .config("spark.driver.bindAddress", "127.0.0.1")
      // nor on earlier runs
      .config("spark.dovetail.history.enabled", "false")
      .getOrCreate()
  }

  /** A logging configuration with errors of Spark and warnings of Dovetail. */
  private def quietLogs: Path = Files.write(
    directory.resolve("log4j2.properties"),
    Seq(
      "rootLogger.level = error",
      "rootLogger.appenderRef.console.ref = console",
      "appender.console.type = Console",
      "appender.console.name = console",
      "appender.console.layout.type = PatternLayout",
      "appender.console.layout.pattern = %p %c{1}: %m%n",
      "logger.dovetail.name = dovetail",
      "logger.dovetail.level = warn"
    ).mkString("\n").getBytes("UTF-8")
  )

  def delete(path: Path): Unit = if (Files.exists(path)) {
    val paths = Files.walk(path)
    try paths.sorted(Comparator.reverseOrder[Path]()).forEach(p => { Files.deleteIfExists(p); () })
    finally paths.close()
  }
}
