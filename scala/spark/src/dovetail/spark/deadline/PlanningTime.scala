package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.atomic.AtomicBoolean
import java.util.{Collections, WeakHashMap}

import scala.collection.mutable
import scala.util.control.ControlThrowable

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.dovetail.base.{DovetailConf, ThreadScope}
import org.apache.spark.sql.internal.SQLConf

/**
 * The one budget of time that Dovetail has for planning a query (`spark.dovetail.planning.maxMs`). All runs of the rule
 * for one query share it: those for its subqueries, too. Only Dovetail's own work counts, not what Spark does between
 * two runs, nor Spark's rules that a run of ours applies early.
 *
 * Everything below asks for what is left: the search gets a deadline, files are read aside until then ([[Aside]]), and
 * loops call [[PlanningTime.check]]. Where no query is being planned (commands, tests of a part) there is no limit. An
 * object is used by the thread that plans.
 */
final class PlanningTime private[deadline] (nanos: Long) {
  private var spent   = 0L
  private var since   = 0L
  private var running = false
  private val cuts    = mutable.LinkedHashSet.empty[String]

  private def left: Long = nanos - spent - (if (running) System.nanoTime() - since else 0L)

  private def counting[A](on: Boolean)(body: => A): A =
    if (running == on) body
    else {
      turn(on)
      try body
      finally turn(!on)
    }

  private def turn(on: Boolean): Unit = {
    val now = System.nanoTime()
    if (running) spent += now - since
    since = now
    running = on
  }
}

/**
 * Thrown by loops whose time is over. A throwable of control: what survives failures does not catch it on its way to
 * who can do without the result.
 */
object TimeIsUp extends ControlThrowable {

  /** In words for the user. */
  val reason: String = s"planning time is up (${DovetailConf.PlanningMaxMs.key})"
}

object PlanningTime {
  private val scope = new ThreadScope[PlanningTime]
  private val first = new AtomicBoolean(true)

  // a query that has been planned takes its time along
  private val queries = Collections.synchronizedMap(new WeakHashMap[QueryPlanningTracker, PlanningTime])

  /** Runs the rule on (a part of) the query that this thread plans, in what the query has left. */
  def ofQuery[A](conf: SQLConf)(body: => A): A = {
    val time = QueryPlanningTracker.get.fold(anew(conf))(queries.computeIfAbsent(_, _ => anew(conf)))
    scope.within(time)(time.counting(on = true)(body))
  }

  /** Runs what is not part of planning a query in as much time as a query has; None if that is not enough. */
  def ofItsOwn[A](conf: SQLConf)(body: => A): Option[A] = {
    val time = anew(conf); scope.within(time)(time.counting(on = true)(orNone(body)))
  }

  /** Spark's own work: it would be done without us. */
  def notCounting[A](body: => A): A = scope.current.fold(body)(_.counting(on = false)(body))

  /** Nanoseconds that are left. */
  def left: Long = { val time = scope.orNull; if (time == null) Unlimited else time.left }

  /**
   * Ends what is going on if time is up, or if somebody has interrupted the thread: the query is not wanted any more. A
   * look at the clock takes some 30 ns, one at the thread less.
   */
  def check(): Unit = {
    val time = scope.orNull
    if (time != null) {
      if (time.left <= 0L) throw TimeIsUp
      if (Thread.currentThread.isInterrupted) throw new InterruptedException
    }
  }

  /** None if time runs out in `body`. */
  def orNone[A](body: => A): Option[A] =
    try { check(); Some(body) }
    catch { case TimeIsUp => None }

  /** Something was not done, or not to its end; explain tells it. */
  def cut(what: String): Unit = scope.current.foreach(_.cuts += what)

  /** What was cut since somebody asked last. */
  def takeCuts(): Vector[String] = scope.current.toVector.flatMap { time =>
    val all = time.cuts.toVector
    time.cuts.clear()
    all
  }

  private def anew(conf: SQLConf): PlanningTime =
    new PlanningTime(DovetailConf.PlanningMaxMs.get(conf) * NanosPerMilli * (if (first.getAndSet(false)) FirstTime
                                                                             else 1L))

  /**
   * What the first query of a JVM may take, in times of the others: it loads our classes and those of the file readers,
   * and runs them interpreted.
   */
  private val FirstTime = 2L

  private val NanosPerMilli = 1000000L

  /** Three centuries: sums with the clock do not overflow. */
  private[deadline] val Unlimited = Long.MaxValue / 2
}
