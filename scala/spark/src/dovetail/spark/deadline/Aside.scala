package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.{ConcurrentHashMap, ExecutionException, FutureTask, TimeoutException, TimeUnit}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.base.FailOpen

/**
 * Runs what may block for ever (a look at a file system, code of the user's) beside the thread that plans, which waits
 * no longer than its time allows.
 *
 * What is not done in time is left behind, not interrupted: some file systems close their channels then. It may still
 * end, and leave what it found in a cache. A place at which something hangs is not asked again for a while, and one
 * line is logged; so threads do not pile up there.
 */
object Aside {

  /** A thread that nobody waits for any more. */
  final private case class Left(thread: Thread, since: Long)

  private val places = new ConcurrentHashMap[String, Vector[Left]]

  /**
   * What `body` returns or throws; None if that takes more than its share of the time that is left, or if the place
   * hangs. Without a limit, `body` runs at once.
   *
   * @param place what to stay away from if it does not answer
   * @param body  gets the time by which to be done, on the clock of `System.nanoTime`
   */
  def apply[A](place: String)(body: Long => A): Option[A] = {
    val left = PlanningTime.left
    if (left >= PlanningTime.Unlimited) Some(body(System.nanoTime() + left))
    else if (hangs(place)) { cutOff(place); None }
    else if (left <= 0L) { PlanningTime.cut(s"$place was skipped: ${TimeIsUp.reason}"); None }
    else run(place, left / Share, body)
  }

  private def run[A](place: String, nanos: Long, body: Long => A): Option[A] = {
    val until  = System.nanoTime() + nanos
    val task   = new FutureTask[A](() => body(until))
    val thread = start("dovetail-aside", task)
    try Some(task.get(nanos, TimeUnit.NANOSECONDS))
    catch {
      case _: TimeoutException     => leave(place, thread); cutOff(place); None
      case e: InterruptedException => leave(place, thread); throw e
      case e: ExecutionException   => throw e.getCause
    }
  }

  /** A thread of this query's, which runs as its user; those of a pool run as the one who came first. */
  def start(name: String, task: Runnable): Thread = {
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread.start()
    thread
  }

  /** The thread is at this place, and nobody waits for it. */
  def leave(place: String, thread: Thread): Unit = {
    if (places.size > MostPlaces) places.values.removeIf(!_.exists(_.thread.isAlive))
    places.merge(
      place,
      Vector(Left(thread, System.nanoTime())),
      (before, more) => before.filter(_.thread.isAlive) ++ more
    )
    ()
  }

  /**
   * Threads that were left at this place are still there: many of them, or for some time; now and then it is tried
   * again all the same.
   */
  def hangs(place: String): Boolean = {
    val now   = System.nanoTime()
    val alive = places.getOrDefault(place, Vector.empty).filter(_.thread.isAlive)
    val hangs =
      alive.size >= MostLeft || alive.exists(l => now - l.since > HangsAfter && now - l.since < TriedAgainAfter)
    if (hangs)
      FailOpen.warnOnce(
        s"hangs $place",
        s"$place does not answer. Queries are planned without it. Dovetail tries it again every " +
          s"${TriedAgainAfter / Second} s"
      )
    hangs
  }

  /** Told by explain. */
  def cutOff(place: String): Unit = PlanningTime.cut(s"$place did not answer in time")

  /** A file's table: its directory, above those that are named after a partition's value. */
  def table(file: Path): String = {
    def above(p: Path): Path = if (p.getParent != null && p.getName.contains('=')) above(p.getParent) else p
    Option(file.getParent).fold(file)(above(_)).toString
  }

  /**
   * One over the share of the time left that one call may take: what hangs first leaves most of it to all the others.
   */
  private val Share = 4L

  private val Second = 1000000000L

  /** Nanoseconds after which a call that was left behind is taken to hang: slow stores answer within a second. */
  private val HangsAfter = Second

  /** Nanoseconds after which a place that hangs is tried again. */
  private val TriedAgainAfter = 30L * Second

  /** Threads that may be left at one place: of some queries that read its footers at once, eight each. */
  private val MostLeft = 64

  /** Places that are remembered before those that answer again are forgotten. */
  private val MostPlaces = 1000
}
