package org.apache.spark.sql.dovetail

import java.io.{EOFException, FileNotFoundException, IOException}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf}
import org.apache.spark.sql.dovetail.deadline.{Aside, Retry}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource

/** Reads of footers and rows that a file system has failed: they are remembered for a while, and tried again then. */
class RetrySuite extends DovetailSuite {

  private def rows(data: DataFrame, sampled: Boolean = true): Double =
    withConf(DovetailConf.FootersMaxMs.key -> "60000", DovetailConf.SampleFiles.key -> sampled.toString) {
      val plan       = data.queryExecution.optimizedPlan
      val statistics = new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)
      statistics.readAhead(plan)
      statistics(plan).rows.value
    }

  private def failing[A](fault: => Throwable)(body: => A): A = {
    WatchedFileSystem.beforeOpen = _ => throw fault
    try LogCapture("dovetail")(body)._1
    finally WatchedFileSystem.beforeOpen = _ => ()
  }

  /** Runs the body at a time when failed reads are tried again. */
  private def later[A](body: => A): A = {
    val clock = Retry.clock
    Retry.clock = () => clock() + Aside.TriedAgainAfter
    try body
    finally Retry.clock = clock
  }

  /** Asserts that `read` opens no file now, because it has failed before, and that it has another result later. */
  private def isTriedAgain(failed: Double)(read: => Double): Unit = {
    val (still, calls) = WatchedFileSystem.during(assert(read == failed))
    assert(!calls.exists(_.startsWith("open")), calls)
    val found = later(read)
    assert(found != failed && math.abs(found - Common) < Common / 10.0, s"$found, and $failed before")
  }

  private val Rows = 3000L

  /** Rows of the common kind, which no formula estimates. */
  private val Common = 2700.0

  private def withData(format: String)(body: DataFrame => Unit): Unit = withDirectory { d =>
    withConf(WatchedFileSystem.setting) {
      val path = s"${WatchedFileSystem.Scheme}:${d.resolve("t")}"
      spark.range(0, Rows, 1, 1).selectExpr("id", "IF(id % 10 > 0, 'common', concat('rare ', id)) kind")
        .write.format(format).save(path)
      BoundedCache.clearAll()
      body(spark.read.format(format).schema("id BIGINT, kind STRING").load(path))
    }
  }

  test("faults of file systems and of memory pass, also behind exceptions of readers; all else stays") {
    Seq[Throwable](
      new IOException("503 Slow Down"),
      new FileNotFoundException("gone"),
      new OutOfMemoryError("unable to create native thread"),
      new RuntimeException("cannot read a page", new EOFException)
    ).foreach(e => assert(Retry.after(e).isDefined && !Retry.isDue(Retry.after(e)), e))
    Seq[Throwable](new ArithmeticException("divide by zero"), new NoClassDefFoundError("Codec")).foreach(e =>
      assert(Retry.after(e).isEmpty && !Retry.isDue(Retry.after(e)), e)
    )
  }

  Seq("parquet", "orc").foreach { format =>
    test(s"$format: footers that a file system has failed to read are read later") {
      withData(format) { data =>
        val failed     = failing(new EOFException("End of File Exception"))(rows(data, sampled = false))
        val (_, calls) = WatchedFileSystem.during(assert(rows(data, sampled = false) == failed))
        assert(failed != Rows && !calls.exists(_.startsWith("open")), calls)
        later(assert(rows(data, sampled = false) == Rows))
      }
    }

    test(s"$format: rows that a file system has failed to read are read later") {
      withData(format) { data =>
        val common = data.where("kind = 'common'")
        rows(common, sampled = false)
        val failed = failing(new IOException("503 Slow Down"))(rows(common))
        isTriedAgain(failed)(rows(common))
      }
    }
  }

  Seq("csv", "json").foreach { format =>
    test(s"$format: lines that a file system has failed to read are read later") {
      withData(format) { data =>
        val common = data.where("kind = 'common'")
        val failed = failing(new IOException("503 Slow Down"))(rows(common))
        isTriedAgain(failed)(rows(common))
      }
    }
  }
}
