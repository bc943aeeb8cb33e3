package org.apache.spark.sql.dovetail.sql

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerStageCompleted}
import org.apache.spark.sql.dovetail.base.Nanoseconds

/**
 * A listener that measures the work of tasks, summed over all cores of the cluster. It counts only jobs that are
 * started within `of`, whatever else runs at the same time.
 */
final class TaskTime(context: SparkContext) extends SparkListener {
  private val mark   = s"dovetail.tasks.${System.identityHashCode(this)}"
  private val stages = ConcurrentHashMap.newKeySet[Int]()
  private var work   = TaskWork.Nothing

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (Option(job.properties).exists(_.getProperty(mark) != null)) job.stageIds.foreach(stages.add(_))

  override def onStageCompleted(stage: SparkListenerStageCompleted): Unit =
    if (stages.contains(stage.stageInfo.stageId)) Option(stage.stageInfo.taskMetrics).foreach { m =>
      val more = TaskWork(
        m.executorRunTime,
        m.jvmGCTime,
        m.diskBytesSpilled,
        m.shuffleWriteMetrics.bytesWritten
      )
      synchronized { work = work + more }
    }

  /** Runs `body`; returns its result and the work of its tasks, or None if Spark does not report the work in time. */
  def of[A](body: => A): (A, Option[TaskWork]) = {
    synchronized { work = TaskWork.Nothing }
    context.setLocalProperty(mark, "true")
    val result =
      try body
      finally context.setLocalProperty(mark, null)
    // Spark calls listeners later, in another thread
    val told =
      try { context.listenerBus.waitUntilEmpty(); true }
      catch { case _: TimeoutException => false }
    result -> (if (told) Some(synchronized(work)) else None)
  }

  /** Nanoseconds of core time that `body` takes. */
  def nanos(body: => Unit): Double = of(body) match {
    case (_, Some(took)) => took.runMillis.toDouble * Nanoseconds.PerMilli
    case _               => throw new TimeoutException("Spark did not report the times of the tasks in time")
  }
}

/**
 * The work of all tasks of some jobs together.
 *
 * @param runMillis    run time of the tasks, in milliseconds
 * @param gcMillis     time of garbage collection, included in the run time, in milliseconds
 * @param spilledBytes bytes written to disk because memory was short
 * @param shuffleBytes bytes written for other tasks
 */
final case class TaskWork(runMillis: Long, gcMillis: Long, spilledBytes: Long, shuffleBytes: Long) {
  def +(that: TaskWork): TaskWork = TaskWork(
    runMillis + that.runMillis,
    gcMillis + that.gcMillis,
    spilledBytes + that.spilledBytes,
    shuffleBytes + that.shuffleBytes
  )
}

object TaskWork {
  val Nothing: TaskWork = TaskWork(0L, 0L, 0L, 0L)
}
