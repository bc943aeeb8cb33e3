package org.apache.spark.sql.dovetail.sample

import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.util.concurrent.{Semaphore, TimeUnit}

import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, TimeIsUp}

/**
 * Lets one trial of an expression run at a time, of all queries together, if a single value may take forever: a regular
 * expression that backtracks cannot be interrupted and keeps a core busy. While a trial runs that nobody waits for, no
 * other one begins, and its thread leaves the core to others.
 */
private[sample] object TrialSlot {

  private val slot = new Semaphore(1)

  /** Trials that run although nobody waits for them. */
  private val abandoned = new AtomicInteger

  private def isBlocked: Boolean = abandoned.get > 0

  /**
   * Runs a trial in a separate thread ([[Aside]]). None if it does not end in time, or does not begin.
   *
   * @param what the trial, for people
   */
  def apply[A](what: => String)(trial: Long => A): Option[A] =
    if (isBlocked) { PlanningTime.cut(Blocked); None }
    else {
      val run = new Run
      try PlanningTime.atMost(LongestNanos)(Aside(what) { until => acquire(until); run(trial(until)) })
      finally run.leave()
    }

  private def acquire(until: Long): Unit =
    while (!slot.tryAcquire(LookMillis, TimeUnit.MILLISECONDS)) { if (isBlocked) throw TimeIsUp; Aside.check(until) }

  /** A trial that has the slot, in the thread that runs it. */
  final private class Run {
    private val thread = new AtomicReference[Thread]

    // the planner may have left, because its query was cancelled, before the trial got the slot
    @volatile private var left = false

    def apply[A](trial: => A): A = {
      val mine = Thread.currentThread
      thread.set(mine)
      try { if (left) throw TimeIsUp; trial }
      finally {
        // whoever takes the thread away counts the trial as abandoned
        if (!thread.compareAndSet(mine, null)) abandoned.decrementAndGet()
        slot.release()
      }
    }

    /** Nobody waits for the trial any longer; it may have ended. */
    def leave(): Unit = {
      left = true
      val running = thread.getAndSet(null)
      if (running != null) { abandoned.incrementAndGet(); running.setPriority(Thread.MIN_PRIORITY) }
    }
  }

  private val Blocked = "some predicates were not tried on sample rows: an earlier one still runs"

  /**
   * Planning time for one trial where planning has no limit, as in `dovetail_estimate`: some seconds for the trial
   * itself. Without it, a trial that never ends would keep the slot from all queries.
   */
  private val LongestNanos = TimeUnit.MINUTES.toNanos(1L)

  /** Milliseconds between two looks whether the trial that runs was abandoned: no query waits in vain for longer. */
  private val LookMillis = 20L
}
