package org.apache.spark.sql.dovetail.report

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.{FailOpen, LazyValue, Nanoseconds, ThreadScope}

/**
 * Records what the rule did while one query was planned: the join groups, and the time per phase. It is collected per
 * thread, and only on request (`Trace.collecting`).
 *
 * @param detailed whether reports contain all that explain shows. Otherwise they contain only what the query log needs,
 *                 because planning must not wait for them
 */
final class Trace(val detailed: Boolean) {
  private val reports = mutable.ArrayBuffer.empty[LazyValue[GroupReport]]
  private val nanos   = mutable.LinkedHashMap.empty[String, Long]
  private var inner   = 0L
  private var plan    = Option.empty[LogicalPlan]

  /** The last input of the rule. It is the plan of the query itself, because the rule sees subqueries first. */
  def input: Option[LogicalPlan] = plan

  /**
   * Reports on the groups. They are made after planning, so planning does not wait for them and cannot fail with them.
   */
  def groups: Vector[GroupReport]      = reports.toVector.map(_.value)
  def isEmpty: Boolean                 = reports.isEmpty
  def millis: Vector[(String, Double)] = Trace.Phases.map(p => p -> Nanoseconds.toMillis(nanos.getOrElse(p, 0L)))

  private def later(report: => GroupReport): Unit = {
    reports += new LazyValue(() =>
      FailOpen("reporting a group of joins", (why: String) => GroupReport.leftAlone(Vector.empty, why))(report)
    )
    ()
  }
}

object Trace {

  /** Phases of the rule, in order. `total` includes the time outside of the other phases. */
  val Phases: Vector[String] =
    Vector("prepare", "footers", "extract", "history", "estimate", "search", "rebuild", "publish", "total")

  private val scope = new ThreadScope[Trace]

  /** Runs `body`, and returns its result and a trace of what the rule did in this thread. */
  def collecting[A](body: => A): (A, Trace) = collecting(detailed = true)(body)

  def collecting[A](detailed: Boolean)(body: => A): (A, Trace) = {
    val trace = new Trace(detailed)
    (scope.within(trace)(body), trace)
  }

  /** Whether a trace is being collected in this thread. */
  def isOn: Boolean = scope.current.isDefined

  /** Whether a trace with details is being collected in this thread. */
  def wantsDetails: Boolean = scope.current.exists(_.detailed)

  /** @param report makes the report on a group; its argument says whether details are needed */
  def record(report: Boolean => GroupReport): Unit = scope.current.foreach(t => t.later(report(t.detailed)))

  def start(plan: LogicalPlan): Unit = scope.current.foreach(_.plan = Some(plan))

  /** Number of reports recorded in this thread so far. */
  def size: Int = scope.current.fold(0)(_.reports.size)

  /** Replaces the reports recorded since `size` was `before`, because the rule failed and Spark's own plan is used. */
  def failed(before: Int, reason: String): Unit = scope.current.foreach { t =>
    t.reports.remove(before, t.reports.size - before)
    t.later(GroupReport.leftAlone(Vector.empty, reason))
  }

  /** Adds the time of `body` to a phase, without the time of other phases within it. The total includes all phases. */
  def timed[A](phase: String)(body: => A): A = scope.current.fold(body) { trace =>
    val start = System.nanoTime()
    val outer = trace.inner
    trace.inner = 0L
    try body
    finally {
      val took = System.nanoTime() - start
      val own  = if (phase == Phases.last) took else took - trace.inner
      trace.nanos(phase) = trace.nanos.getOrElse(phase, 0L) + own
      trace.inner = outer + took
    }
  }
}
