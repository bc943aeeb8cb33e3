package org.apache.spark.sql.dovetail

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.store.StatisticsStore

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

  test("the session's statistics store is not opened: a program may not have set the options of its file system yet") {
    withDirectory { directory =>
      val place = directory.resolve("store").toString
      withConf(DovetailConf.StorePath.key -> place) {
        assert(WarmPlanning(spark))
        assert(!StatisticsStore.inUse.exists(_.files.directory.toString.contains(place)))
      }
    }
  }

  test("where Dovetail is off nothing is planned") {
    assert(!dovetail(on = false)(WarmPlanning(spark)))
  }
}
