package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}

/** The warm-up query that is planned once a program uses a session: it works, and leaves no trace in the session. */
class WarmPlanningSuite extends DovetailSuite {

  test("the query is planned: its joins are ordered, and nothing is logged") {
    // starting Spark sets up logging again
    val session          = spark
    val (planned, lines) = LogCapture("dovetail")(WarmPlanning(session))
    assert(planned && lines.isEmpty, lines)
  }

  test("no job runs, and no query is recorded") {
    val jobs     = new AtomicInteger
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = { jobs.incrementAndGet(); () }
    }
    def recorded = spark.sql("SELECT count(*) FROM dovetail_queries()").head().getLong(0)
    val before   = recorded
    spark.sparkContext.addSparkListener(listener)
    try {
      assert(WarmPlanning(spark))
      spark.sparkContext.listenerBus.waitUntilEmpty()
      assert(jobs.get == 0)
    } finally spark.sparkContext.removeSparkListener(listener)
    assert(recorded == before)
  }

  test("where Dovetail is off nothing is planned") {
    assert(!dovetail(on = false)(WarmPlanning(spark)))
  }
}
