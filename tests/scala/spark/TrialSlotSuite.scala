package org.apache.spark.sql.dovetail.sample

import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import dovetail.kernel.profile.RowNumbers
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.{BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.dovetail.DovetailSuite
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.functions.udf

/** A predicate that never ends on a row of a sample keeps one core busy at most, and holds up no later query. */
class TrialSlotSuite extends DovetailSuite {

  private def inTime[A](ms: Long)(body: => A): A = withConf(DovetailConf.PlanningMaxMs.key -> ms.toString) {
    QueryPlanningTracker.withTracker(new QueryPlanningTracker)(PlanningTime.ofQuery(spark.sessionState.conf)(body))
  }

  test("no predicate is tried while an abandoned one still runs, and its thread leaves the core to others") {
    val (end, others) = (new CountDownLatch(1), new AtomicInteger)
    val busy          = new AtomicReference[Thread]
    spark.udf.register(
      "endless",
      udf { s: String => busy.set(Thread.currentThread); end.await(60L, TimeUnit.SECONDS); s }
    )
    spark.udf.register("counted", udf { s: String => others.incrementAndGet(); s })
    val data  = spark.range(3).selectExpr("concat('t', id) s")
    val table = {
      val rows = data.queryExecution.toRdd.map(_.copy()).collect()
      TableSample(data.schema, SampledRows(data.schema, rows.toVector), rows.length.toLong)
    }
    def tried(predicate: String): Option[RowNumbers] = {
      val plan      = data.where(predicate).queryExecution.analyzed
      val condition = plan.collectFirst { case f: Filter => f }.get
      KeptRows(table, table.all, BindReferences.bindReference[Expression](condition.condition, condition.child.output))
    }
    val aside = new AtomicReference[Thread]
    spark.udf.register("aside", udf { s: String => aside.set(Thread.currentThread); s })
    try {
      // without a limit of planning, a trial that never ends is left after a while, too
      assert(tried("aside(s) = 't1'").map(_.size).contains(1) && (aside.get ne Thread.currentThread))
      assert(inTime(400L)(tried("endless(s) = 't1'")).isEmpty)
      assert(busy.get.isAlive && busy.get.getPriority == Thread.MIN_PRIORITY)
      for (predicate <- Seq("counted(s) = 't1'", "counted(s) = 't2'", "endless(s) = 't2'")) inTime(60000L) {
        assert(tried(predicate).isEmpty && others.get == 0)
        assert(PlanningTime.takeCuts().exists(_.contains("an earlier one still runs")))
      }
    } finally end.countDown()
    busy.get.join()
    assert(inTime(60000L)(tried("counted(s) = 't1'")).map(_.size).contains(1) && others.get == 3)
  }
}
