package org.apache.spark.sql.dovetail.sql

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeoutException

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerStageCompleted}

/**
 * What tasks take: of all cores together, wherever they are. Counts the jobs started within `of` alone, whatever else
 * runs meanwhile.
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

  /** What `body` returns, and what its tasks took; None where Spark does not tell in time. */
  def of[A](body: => A): (A, Option[TaskWork]) = {
    synchronized { work = TaskWork.Nothing }
    context.setLocalProperty(mark, "true")
    val result =
      try body
      finally context.setLocalProperty(mark, null)
    // listeners are told later, in a thread of their own
    val told =
      try { context.listenerBus.waitUntilEmpty(); true }
      catch { case _: TimeoutException => false }
    result -> (if (told) Some(synchronized(work)) else None)
  }

  /** Nanoseconds of cores that `body` takes. */
  def nanos(body: => Unit): Double = of(body) match {
    case (_, Some(took)) => took.runMillis * 1e6
    case _               => throw new TimeoutException("Spark does not tell how long the tasks took")
  }
}

/**
 * Of all tasks of some jobs together.
 *
 * @param runMillis    that they ran
 * @param gcMillis     of these, that their JVMs collected garbage
 * @param spilledBytes that they wrote to disks because memory was short
 * @param shuffleBytes that they wrote for other tasks
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
