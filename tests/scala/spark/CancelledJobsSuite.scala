package org.apache.spark.sql.dovetail

import java.util.concurrent.{CompletionException, ExecutionException}

import scala.util.control.NoStackTrace

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, Statistics}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.base.FailOpen.{isCancelled, isInterruption, Survivable}
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.leaf.SparkBroadcast
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.table.TableStatisticsSource
import org.apache.spark.sql.types.IntegerType

/** Jobs of connectors that the user cancels, and interruptions, behind exceptions of libraries. */
class CancelledJobsSuite extends DovetailSuite {
  import CancelledJobsSuite._

  private val cancelled = new SparkException("Job 5 cancelled part of cancelled job group g")

  /** As Iceberg's distributed planning throws it. */
  private def wrapped = new RuntimeException("Failed to plan files", new CompletionException(cancelled))

  test("a cancelled job is found behind other exceptions; other failures and circles are none") {
    val suppressing = new IllegalStateException("closing failed")
    suppressing.addSuppressed(wrapped)
    Seq(cancelled, wrapped, suppressing).foreach(e => assert(isCancelled(e) && Survivable.unapply(e).isEmpty, e))
    object Circle extends RuntimeException("circle") with NoStackTrace { override def getCause: Throwable = this }
    Seq(new RuntimeException("Job 5 cancelled"), new SparkException("Job 5 failed"), Circle)
      .foreach(e => assert(!isCancelled(e) && Survivable.unapply(e).contains(e), e))
  }

  test("an interruption of this thread is found behind other exceptions, and that of another thread is none") {
    val interrupted = new InterruptedException("injected")
    Seq(interrupted, new RuntimeException(interrupted), new RuntimeException(new RuntimeException(interrupted)))
      .foreach(e => assert(isInterruption(e) && Survivable.unapply(e).isEmpty, e))
    Seq(new ExecutionException(interrupted), new RuntimeException(new CompletionException(interrupted)))
      .foreach(e => assert(!isInterruption(e) && Survivable.unapply(e).contains(e), e))
    withConf(DovetailConf.PlanningMaxMs.key -> "60000") {
      val e = intercept[Exception](PlanningTime.ofItsOwn(spark.sessionState.conf) {
        Aside[Int]("a connector")(_ => throw new RuntimeException("Failed to plan files", interrupted))
      })
      assert(e.getMessage == "a connector was interrupted" && !isInterruption(e), "nobody interrupted this thread")
    }
  }

  test("a job that is cancelled while a scan finds its size ends the query; other failures leave the size unknown") {
    def rows(leaf: LeafNode) =
      new PlanStatistics(spark.sessionState.conf, histograms = true, TableStatisticsSource.none)(leaf).rows
    val cancelledScan = FailingScan(() => wrapped)
    assert(isCancelled(intercept[RuntimeException](rows(cancelledScan))))
    assert(isCancelled(intercept[RuntimeException](SparkBroadcast.bytes(cancelledScan))))
    val failing = FailingScan(() => new RuntimeException("503 Slow Down"))
    assert(rows(failing).value > 0.0 && SparkBroadcast.bytes(failing).isInfinite)
  }

  test("a job that is cancelled ends DOVETAIL ANALYZE of a view; another failure is a note of its table") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        withTables("v") {
          def written(name: String) = {
            val path = s"${WatchedFileSystem.Scheme}:${d.resolve(name)}"
            spark.range(10).write.parquet(path)
            spark.read.parquet(path)
          }
          written("a").join(written("b"), "id").createOrReplaceTempView("v")
          def analyzing(fault: => Exception)(body: => Unit): Int = {
            WatchedFileSystem.beforeList = () => throw fault
            try WatchedFileSystem.during(body)._2.count(_ == "list")
            finally WatchedFileSystem.beforeList = () => ()
          }
          def analyze() = spark.sql("DOVETAIL ANALYZE TABLE v").collect().map(_.getString(6))
          val listings  =
            analyzing(wrapped)(assert(isCancelled(intercept[Exception](analyze()))))
          assert(listings == 1, "the second table is not analyzed")
          analyzing(new RuntimeException("503 Slow Down")) {
            val notes = analyze()
            assert(notes.length == 2 && notes.forall(_.contains("not analyzed: 503 Slow Down")), notes.toSeq)
          }
          assert(analyze().forall(!_.contains("not analyzed")))
        }
      }
    }
  }
}

object CancelledJobsSuite {

  /** A leaf that fails when it is asked for its size. */
  final case class FailingScan(failure: () => Throwable) extends LeafNode {
    override val output: Seq[Attribute] = Seq(AttributeReference("k", IntegerType)())

    override def computeStats(): Statistics = throw failure()
  }
}
