package org.apache.spark.sql.dovetail.sql

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerStageCompleted}

/**
 * Time that tasks work: of all cores together, wherever they are. Counts the jobs started within `nanos` alone,
 * whatever else runs meanwhile.
 */
final class TaskTime(context: SparkContext) extends SparkListener {
  private val mark   = s"dovetail.calibrate.${System.identityHashCode(this)}"
  private val stages = ConcurrentHashMap.newKeySet[Int]()
  private val millis = new AtomicLong

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (Option(job.properties).exists(_.getProperty(mark) != null)) job.stageIds.foreach(stages.add(_))

  override def onStageCompleted(stage: SparkListenerStageCompleted): Unit =
    if (stages.contains(stage.stageInfo.stageId)) { millis.addAndGet(stage.stageInfo.taskMetrics.executorRunTime); () }

  /** Nanoseconds of cores that `body` takes. */
  def nanos(body: => Unit): Double = {
    millis.set(0L)
    context.setLocalProperty(mark, "true")
    try body
    finally context.setLocalProperty(mark, null)
    // listeners are told later, in a thread of their own
    context.listenerBus.waitUntilEmpty()
    millis.get * 1e6
  }
}
