package org.apache.spark.sql.dovetail

import java.lang.reflect.Modifier
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable

import dovetail.kernel.enumerate.Search
import dovetail.kernel.size.CardinalityModel
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.log.{LoggedRun, PlanSection, QueryLog, RunEnd}
import org.apache.spark.sql.dovetail.plan.GroupOrdering
import org.apache.spark.sql.dovetail.report.Trace
import org.apache.spark.sql.dovetail.sql.CopiedSession
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart
import org.apache.spark.sql.types.{LongType, StructField, StructType}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Seconds, Span}

/** The log of optimized queries: their estimates, and the measurements of their runs. */
class QueryLogSuite extends StarSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds))

  private val star =
    "SELECT f.v, a.w, b.w FROM f JOIN a ON f.k1 = a.k JOIN b ON f.k2 = b.k JOIN c ON f.k3 = c.k WHERE c.w = 1"

  private def queries(session: SparkSession = spark): Vector[Row] =
    session.sql("SELECT * FROM dovetail_queries() ORDER BY id").collect().toVector
  private def newest: Row  = queries().last
  private def lastId: Long = queries().lastOption.fold(0L)(_.getAs[Long]("id"))

  test("a query that ran: what was expected and what came") {
    val before = lastId
    withoutIdempotenceCheck(spark.sql(star).collect())
    eventually(assert(newest.getAs[Long]("id") > before && newest.getAs[Int]("runs") == 1))
    val row = newest
    assert(row.getAs[String]("query") == star && row.getAs[Int]("groups") == 1 && row.getAs[Int]("reordered") == 1)
    assert(row.getAs[Double]("predicted_gain") > 0.1 && row.getAs[Double]("seen_gain") > 0.1 && row.getAs[Double](
      "dovetail_ms"
    ) > 0.0)
    assert(row.getAs[Double]("seconds") > 0.0 && row.getAs[Double]("worst_q_error") >= 1.0 && row.getAs[Double](
      "estimated_join_rows"
    ) > 0.0)
    val explained = spark.sql(s"SELECT * FROM dovetail_explain('$star', 'json', 'actual')").head().getString(0)
    val actual    = "\"actual_rows\":(\\d+),\"q_error\"".r.findAllMatchIn(explained).map(_.group(1).toLong).toVector
    assert(actual.size == 3 && row.getAs[Long]("join_rows") == actual.sum)
  }

  test("a run is shown at once, also if other listeners are slow") {
    val slow = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case _: SparkListenerSQLExecutionStart => Thread.sleep(500L)
        case _                                 =>
      }
    }
    spark.sparkContext.addSparkListener(slow)
    try {
      withoutIdempotenceCheck(spark.sql(star).collect())
      val row = newest
      assert(row.getAs[Int]("runs") == 1)
      withoutIdempotenceCheck(spark.sql(star).collect())
      assert(spark.sql(s"SELECT * FROM dovetail_explain(${row.getAs[Long]("id") + 1})").head().getString(0)
        .contains("actual"))
    } finally spark.sparkContext.removeSparkListener(slow)
  }

  test("a frame that runs twice is one entry, with its last run") {
    val frame = withoutIdempotenceCheck { val f = spark.sql(star); f.collect(); f }
    eventually(assert(newest.getAs[Int]("runs") == 1))
    val first = newest
    frame.collect()
    eventually(assert(newest.getAs[Int]("runs") == 2))
    assert(newest.getAs[Long]("id") == first.getAs[Long]("id") && newest.getAs[Long]("join_rows") == first.getAs[Long](
      "join_rows"
    ))
  }

  test(
    "queries of the same tables are told apart, also where their columns are the same: each has its own runs and rows"
  ) {
    val before = lastId
    val frames =
      withoutIdempotenceCheck(Seq("c.w = 1", "c.w = 1", "c.w < 3").map(p => spark.sql(star.replace("c.w = 1", p))))
    frames.foreach(_.collect())
    def since: Vector[Row] = queries().filter(_.getAs[Long]("id") > before)
    // a run is counted only if Spark reports it before the next run of the same frame
    eventually(assert(since.map(_.getAs[Int]("runs")) == Vector(1, 1, 1), since))
    frames(2).collect()
    eventually(assert(since.map(_.getAs[Int]("runs")) == Vector(1, 1, 2), since))
    val rows = since.map(_.getAs[Long]("join_rows"))
    assert(rows(0) == rows(1) && rows(0) < rows(2), since)
    val sections = frames.map(f => PlanSection(f.queryExecution.executedPlan))
    assert(sections.forall("reordered the joins".r.findAllIn(_).size == 1) && sections(0) != sections(2), sections)
  }

  test("what is planned and does not run has no rows; explaining and asking leave no entry") {
    val before = lastId
    withoutIdempotenceCheck(spark.sql(star).queryExecution.executedPlan)
    assert(newest.getAs[Long]("id") == before + 1 && newest.getAs[Int]("runs") == 0 && newest.isNullAt(
      newest.fieldIndex("seen_gain")
    ))
    spark.sql(s"SELECT * FROM dovetail_explain('$star')").collect()
    spark.sql("SELECT * FROM f").collect()
    assert(lastId == before + 1)
  }

  test("it is bounded, can be off, and is its session's own") {
    withConf(DovetailConf.LogQueries.key -> "3") {
      (1 to 5).foreach(_ => spark.sql(star).queryExecution.optimizedPlan)
      assert(queries().size == 3)
    }
    val before = lastId
    withConf(DovetailConf.LogQueries.key -> "0")(spark.sql(star).queryExecution.optimizedPlan)
    assert(lastId == before)
    assert(queries(spark.newSession()).isEmpty)
  }

  test("the log of a session does not take the queries of its clone for its own") {
    val session = CopiedSession(spark)
    withoutIdempotenceCheck(session.sql(star).queryExecution.executedPlan)
    val clone = CopiedSession(session)
    withoutIdempotenceCheck(clone.sql(star.replace("c.w = 1", "c.w < 3")).collect())
    eventually(assert(queries(clone).map(_.getAs[Int]("runs")) == Vector(1)))
    assert(queries(session).map(_.getAs[Int]("runs")) == Vector(0))
  }

  test("the log is bounded by what it takes in memory, too") {
    val joins = (1 to 30).map(i => s"JOIN a AS a$i ON f.k1 = a$i.k").mkString(" ")
    val log   = QueryLog(spark)
    val heavy = optimized(s"SELECT count(*) FROM f $joins WHERE a1.w = 1")
    eventually(assert(log.all.last.bytes > 10000L, heavy))
    withoutIdempotenceCheck(spark.sql(star).collect())
    eventually(assert(newest.getAs[Int]("runs") == 1))
    assert(log.all.last.bytes > 1000L && log.all.last.bytes < 10000L)
  }

  /** The objects of these classes that can be reached through Dovetail's and Scala's objects, with the ways to them. */
  private def reachable(from: AnyRef, wanted: Seq[Class[_]]): Seq[String] = {
    val seen  = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val to    = mutable.Stack(from -> List(from.getClass.getName))
    val found = mutable.ArrayBuffer.empty[String]
    while (to.nonEmpty) {
      val (o, way)           = to.pop()
      def push(next: AnyRef) = if (next != null) to.push(next -> (next.getClass.getName :: way))
      if (seen.add(o)) o match {
        case _ if wanted.exists(_.isInstance(o))                    => found += way.mkString(" < ")
        case a: Array[AnyRef]                                       => a.foreach(push)
        case _ if Followed.exists(o.getClass.getName.startsWith(_)) =>
          Iterator.iterate[Class[_]](o.getClass)(_.getSuperclass).takeWhile(_ != null).flatMap(_.getDeclaredFields)
            .filterNot(f => f.getType.isPrimitive || Modifier.isStatic(f.getModifiers))
            .foreach { f => f.setAccessible(true); push(f.get(o)) }
        case _ => ()
      }
    }
    found.toSeq
  }

  private val Followed = Seq("org.apache.spark.sql.dovetail.", "dovetail.", "scala.")

  test("an entry that waits to be filled does not keep the search, the samples and the statistics in memory") {
    val (_, trace) = Trace.collecting(detailed = false)(optimized(star))
    assert(reachable(trace, Seq(classOf[JoinGroup])).nonEmpty)
    val heavy =
      Seq(classOf[PlanStatistics], classOf[Search], classOf[CardinalityModel], classOf[GroupOrdering])
    val kept = reachable(trace, heavy)
    assert(kept.isEmpty)
    assert(trace.groups.exists(_.status == "reordered"))
  }

  test("a query inside of a query, and a write") {
    withTables("written") {
      val before = lastId
      withoutIdempotenceCheck(
        spark.sql(
          s"CREATE TABLE written USING parquet AS ${star.replace("a.w, b.w", "a.w")} AND f.v > (SELECT avg(f.v) " +
            s"${star.drop(star.indexOf("FROM"))})"
        )
      )
      def since = queries().filter(_.getAs[Long]("id") > before)
      eventually(assert(since.size == 2 && since.forall(_.getAs[Int]("runs") == 1), since))
    }
  }

  test("what a query computes has a name, unless its tables have very many columns") {
    val session = CopiedSession(spark)
    val runs    = new ConcurrentLinkedQueue[LoggedRun]
    QueryLog(session).observe(run => { runs.add(run); () })
    val wide = StructType((0 until 1200).map(i => StructField(s"c$i", LongType)))
    val one  = java.util.Collections.singletonList(Row.fromSeq(Seq.fill(1200)(1L)))
    session.createDataFrame(one, wide).createOrReplaceTempView("wide")
    def run(sql: String): LoggedRun = {
      val before = runs.size
      withoutIdempotenceCheck(session.sql(sql).collect())
      eventually(assert(runs.size > before))
      runs.toArray(Array.empty[LoggedRun]).last
    }
    val first = run(star)
    assert(first.computes.isDefined && !first.warm)
    val (again, other) = (run(star), run(star.replace("c.w = 1", "c.w < 3")))
    assert(again.computes == first.computes && again.warm)
    assert(other.computes.isDefined && other.computes != first.computes && !other.warm)
    val large = run(s"$star AND f.k1 IN (SELECT c7 FROM wide)")
    assert(large.computes.isEmpty && !large.warm && large.end == RunEnd.Finished)
  }

  test("a past query is explained as it was planned, whatever the settings are now") {
    val before = lastId
    val frame  = withoutIdempotenceCheck { val f = spark.sql(star); f.collect(); f }
    eventually(assert(newest.getAs[Long]("id") > before && newest.getAs[Int]("runs") == 1))
    withConf(DovetailConf.Enabled.key -> "false", DovetailConf.CostModel.key -> "cardWeight") {
      val past = spark.sql(s"SELECT * FROM dovetail_explain('$lastId', 'json')").head().getString(0)
      assert(past.contains("\"enabled\":true,\"cost_model\":\"physical\""), past)
      assert(past.contains(" reordered the joins: saves ") && past.contains(", physical costs"), past)
      assert(!past.contains("switched off"), past)
      val section = PlanSection(frame.queryExecution.executedPlan)
      assert(section.contains(" reordered the joins: saves "), section)
    }
  }

  test("the section of a plan's explain") {
    val frame = withoutIdempotenceCheck { val f = spark.sql(star); f.collect(); f }
    eventually(assert(newest.getAs[Int]("runs") == 1))
    val text = PlanSection(frame.queryExecution.executedPlan)
    assert(
      text.contains("reordered the joins: saves ") && text.contains("  chosen  ((") && !text.contains("actual"),
      text
    )
    assert(PlanSection(spark.sql("SELECT * FROM f").queryExecution.executedPlan).isEmpty)
    if (!spark.version.startsWith("3."))
      withConf("spark.sql.extendedExplainProviders" -> "dovetail.DovetailExplain") {
        val explained = withoutIdempotenceCheck(spark.sql(s"EXPLAIN FORMATTED $star").head().getString(0))
        assert(explained.contains(" reordered the joins: saves ") && explained.contains("#  join"), explained)
        val frame = spark.sql(star).queryExecution.explainString(org.apache.spark.sql.execution.SimpleMode)
        assert(frame.contains(" reordered the joins: saves ") && !frame.contains("#  join"), frame)
      }
  }
}
