package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.util.control.ControlThrowable

import org.apache.spark.sql.dovetail.base.{DovetailConf, ThreadScope}
import org.apache.spark.sql.internal.SQLConf

/**
 * The time budget that Dovetail has for planning one query (`spark.dovetail.planning.maxMs`). All runs of the rule for
 * this query share it, including those for its subqueries. Only Dovetail's own work counts, not the time that Spark
 * takes between two runs, nor Spark's rules that Dovetail runs early.
 *
 * All parts of Dovetail ask for the time that is left: the search gets a deadline, the planner waits for files only
 * until then ([[Aside]]), and loops call [[PlanningTime.check]]. If no query is being planned (commands, tests of a
 * part), there is no limit. An instance is used only by the thread that plans.
 *
 * Reading statistics may not use the whole budget: a part of it is reserved for the search ([[PlanningTime.toRead]]).
 * Otherwise slow files or a slow driver would leave the joins as written, although even the sizes that are known by
 * then give a good order.
 */
final class PlanningTime private[deadline] (private val nanos: Long) {
  private var spent   = 0L
  private var since   = 0L
  private var running = false
  private var kept    = 0L
  private val cuts    = mutable.LinkedHashSet.empty[String]

  private def unspent: Long = nanos - spent - (if (running) System.nanoTime() - since else 0L)

  private def left: Long = unspent - kept

  private def toRead: Long = unspent - nanos / PlanningTime.PartOfSearch

  private def keeping[A](some: Long)(body: => A): A = {
    val before = kept
    kept = some
    try body
    finally kept = before
  }

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
 * Thrown by loops when the time is up. It is a control throwable, so code that survives failures does not catch it on
 * its way to the caller that can do without the result.
 */
object TimeIsUp extends ControlThrowable {

  /** The reason in words for the user. */
  val reason: String = s"planning time is up (${DovetailConf.PlanningMaxMs.key})"
}

object PlanningTime {
  private val scope = new ThreadScope[PlanningTime]
  private val first = new AtomicBoolean(true)

  private val queries = new PerQuery[PlanningTime]

  /** Runs the rule on the query that this thread plans, or on a part of it, within the time that the query has left. */
  def ofQuery[A](conf: SQLConf)(body: => A): A = {
    val time = queries(ofNewQuery(conf))
    scope.within(time)(time.counting(on = true)(body))
  }

  /** Runs work that is not part of planning a query, with the time budget of one query; None if that is not enough. */
  def ofItsOwn[A](conf: SQLConf)(body: => A): Option[A] = {
    val time = new PlanningTime(nanos(conf)); scope.within(time)(time.counting(on = true)(orNone(body)))
  }

  /** Runs work within the time of the query that is planned, or within these nanoseconds if there is none. */
  def atMost[A](nanos: Long)(body: => A): A =
    if (isLimited) body
    else { val time = new PlanningTime(nanos); scope.within(time)(time.counting(on = true)(body)) }

  /** Runs Spark's own work without counting its time: Spark would do this work without Dovetail, too. */
  def notCounting[A](body: => A): A = scope.current.fold(body)(_.counting(on = false)(body))

  /** Whether this thread works within the time of a query. */
  def isLimited: Boolean = scope.orNull != null

  /** Nanoseconds that are left. */
  def left: Long = { val time = scope.orNull; if (time == null) Unlimited else time.left }

  /** Nanoseconds that are left for reading files and for running predicates on rows; negative if they are used up. */
  def toRead: Long = { val time = scope.orNull; if (time == null) Unlimited else time.toRead }

  /** The next query is the first one of a user: a warm-up was none. */
  def startAgain(): Unit = first.set(true)

  /**
   * Ends the current work if the time is up, or if the thread was interrupted because the query is no longer wanted.
   * Reading the clock takes about 30 ns, checking the thread takes less.
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

  /** None if time runs out in `body`, except for a part that is kept for what must follow. */
  def orNoneEarly[A](body: => A): Option[A] = orNoneKeeping(_.nanos / PartOfSecondTry)(body)

  /** None if `body` takes more than one part in `parts` of the time that is left. */
  def orNoneInPart[A](parts: Long)(body: => A): Option[A] =
    orNoneKeeping(time => time.unspent - time.left / parts)(body)

  private def orNoneKeeping[A](some: PlanningTime => Long)(body: => A): Option[A] =
    scope.current.fold(orNone(body))(time => orNone(time.keeping(some(time)) { check(); body }))

  /**
   * Runs `body`, and once more if its time runs out; None if the time runs out again. A part of the time is kept for
   * the second try, which finds the results of the first one, reads nothing, and searches greedily.
   */
  def twice[A](body: => A): Option[A] = orNoneEarly(body).orElse(orNone(body))

  /** Notes for explain that something was not done, or not finished. */
  def cut(what: String): Unit = scope.current.foreach(_.cuts += what)

  /** Everything that was cut since the last call. */
  def takeCuts(): Vector[String] = scope.current.toVector.flatMap { time =>
    val all = time.cuts.toVector
    time.cuts.clear()
    all
  }

  private def ofNewQuery(conf: SQLConf): PlanningTime =
    new PlanningTime(nanos(conf) * (if (first.getAndSet(false)) FirstTime else 1L))

  /** The budget of one query; below [[Unlimited]] even for the first query, whatever number a user sets. */
  private def nanos(conf: SQLConf): Long =
    math.min(TimeUnit.MILLISECONDS.toNanos(DovetailConf.PlanningMaxMs.get(conf)), Unlimited / FirstTime - 1L)

  /**
   * Factor by which the budget of the first query of a JVM is larger: it loads Dovetail's classes and those of the file
   * readers, and runs them interpreted.
   */
  private val FirstTime = 2L

  /**
   * One part in so many of the budget is reserved for the join graph, the search and the new plan. On a driver that is
   * five times slower than usual, they take some 800 ms for 11 relations in a new JVM; the default budget is 2 s.
   */
  private val PartOfSearch = 2L

  /** One part in so many of the budget is kept for a second try ([[twice]]). */
  private val PartOfSecondTry = 5L

  /** More than a century in nanoseconds: adding it to the clock does not overflow. */
  private[deadline] val Unlimited = Long.MaxValue / 2
}
