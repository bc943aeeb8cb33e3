package org.apache.spark.sql.dovetail.deadline

import java.io.IOException
import java.util.concurrent.{ConcurrentHashMap, ExecutionException, FutureTask, TimeoutException, TimeUnit}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.base.FailOpen

/**
 * Runs work that may block forever (file system access, user code) in a separate thread. The planning thread waits for
 * it no longer than its time budget allows.
 *
 * Work that is not done in time is abandoned but not interrupted, because some file systems close their channels on an
 * interrupt. It may still end, and leave its result in a cache. A place where a call hangs is not asked again for a
 * while, and one line is logged, so threads do not pile up there.
 */
object Aside {

  /** A thread that the planner no longer waits for. */
  final private case class Left(thread: Thread, since: Long)

  private val places = new ConcurrentHashMap[String, Vector[Left]]

  /**
   * Returns or throws what `body` returns or throws. Returns None if `body` takes more than its share of the time that
   * is left, or if the place hangs. Without a time limit, `body` runs at once in the calling thread. A long `body`
   * looks at the clock itself ([[check]]), so that it ends when nobody waits for it.
   *
   * @param place name of what `body` accesses; it is not accessed while it does not answer
   * @param body  work to do; gets the time by which it must be done, on the clock of `System.nanoTime`
   */
  def apply[A](place: String)(body: Long => A): Option[A] = untilTimeIsUp(place) {
    val left = PlanningTime.toRead
    if (left >= PlanningTime.Unlimited) Some(body(System.nanoTime() + left))
    else if (hangs(place)) { cutOff(place); None }
    else if (left <= 0L) { PlanningTime.cut(s"$place was skipped: ${TimeIsUp.reason}"); None }
    else run(place, share(left), body)
  }

  /**
   * Runs work that cannot block in the calling thread, with the time that [[apply]] would give it. A separate thread
   * costs more than trying a simple predicate on a few thousand rows. `body` has to look at the clock itself
   * ([[check]]).
   */
  def brief[A](place: String)(body: Long => A): Option[A] =
    untilTimeIsUp(place)(Some(body(System.nanoTime() + share(PlanningTime.toRead))))

  /** Ends the work of [[apply]] or [[brief]] when its time is up. */
  def check(until: Long): Unit = if (System.nanoTime() - until >= 0L) throw TimeIsUp

  private def untilTimeIsUp[A](place: String)(body: => Option[A]): Option[A] =
    try body
    catch { case TimeIsUp => cutOff(place); None }

  /** Whether the time that one call gets is at least this long. */
  def allows(nanos: Long): Boolean = share(PlanningTime.toRead) >= nanos

  private def share(left: Long): Long = if (left >= PlanningTime.Unlimited) left else left / Share

  private def run[A](place: String, nanos: Long, body: Long => A): Option[A] = {
    val until  = System.nanoTime() + nanos
    val task   = new FutureTask[A](() => body(until))
    val thread = start("dovetail-aside", task)
    try Some(task.get(nanos, TimeUnit.NANOSECONDS))
    catch {
      case _: TimeoutException     => leave(place, thread); cutOff(place); None
      case e: InterruptedException => leave(place, thread); throw e
      case e: ExecutionException   => e.getCause match {
          // nobody has interrupted the thread that plans
          case inner if FailOpen.isInterruption(inner) => throw new IOException(s"$place was interrupted", e)
          case inner                                   => throw inner
        }
    }
  }

  /**
   * Starts a new daemon thread, which runs as the user of this query. A thread of a pool would run as the user of the
   * first query that used the pool.
   */
  def start(name: String, task: Runnable): Thread = {
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread.start()
    thread
  }

  /** Notes that the thread is still busy at this place and that the planner no longer waits for it. */
  def leave(place: String, thread: Thread): Unit = {
    if (places.size > MostPlaces) places.values.removeIf(!_.exists(_.thread.isAlive))
    places.merge(
      place,
      Vector(Left(thread, System.nanoTime())),
      (before, more) => alive(before) ++ more
    )
    ()
  }

  /**
   * Whether the place hangs: an abandoned thread has been alive there for some time. Once in a while Dovetail tries the
   * place again all the same, unless many threads wait there, or at all places together.
   */
  def hangs(place: String): Boolean = {
    val now  = System.nanoTime()
    val here = alive(places.getOrDefault(place, Vector.empty))
    if (here.size >= MostAtPlace) skipped(place, s"until one of the $MostAtPlace calls that wait there returns")
    else if (here.exists(l => now - l.since > HangsAfter && now - l.since < TriedAgainAfter))
      skipped(place, s"and Dovetail tries it again every ${TimeUnit.NANOSECONDS.toSeconds(TriedAgainAfter)} s")
    else if (!places.isEmpty && waiting >= MostLeft)
      skipped(place, s"until one of the $MostLeft calls returns that wait at all places together")
    else false
  }

  private def skipped(place: String, how: String): Boolean = {
    FailOpen.warnOnce(s"hangs $place $how", s"$place does not answer. Queries are planned without it, $how")
    true
  }

  private def alive(left: Vector[Left]): Vector[Left] = left.filter(_.thread.isAlive)

  /** Number of abandoned threads that are alive, at all places. */
  private def waiting: Int = {
    var sum = 0
    places.values.forEach(left => sum += alive(left).size)
    sum
  }

  /** Waits for a task, and returns or throws what it returns or throws. */
  def result[A](task: FutureTask[A]): A =
    try task.get
    catch { case e: ExecutionException => throw e.getCause }

  /** Notes for explain that the place did not answer in time. */
  def cutOff(place: String): Unit = PlanningTime.cut(s"$place did not answer in time")

  /** The table of a file: its directory, above the directories that are named after a partition value. */
  def table(file: Path): String = {
    def above(p: Path): Path = if (p.getParent != null && p.getName.contains('=')) above(p.getParent) else p
    Option(file.getParent).fold(file)(above(_)).toString
  }

  /**
   * A single call may take one part in so many of the time that is left for reading, so that the first place that hangs
   * leaves most of the time to all others.
   */
  private val Share = 4L

  /** Nanoseconds after which an abandoned call counts as hanging: slow stores answer within a second. */
  private val HangsAfter = TimeUnit.SECONDS.toNanos(1L)

  /**
   * Nanoseconds after which a place is tried again that hangs, or whose file system or database has failed: soon enough
   * for a user who waits for it to come back, and so seldom that attempts cost the queries in between nothing.
   */
  val TriedAgainAfter: Long = TimeUnit.SECONDS.toNanos(30L)

  /**
   * Most abandoned threads at one place: enough for some queries that read its footers at the same time, with eight
   * threads each.
   */
  private val MostAtPlace = 64

  /** Most abandoned threads at all places together, for the memory of their stacks. */
  private val MostLeft = 256

  /** Number of remembered places above which those without live threads are forgotten. */
  private val MostPlaces = 1000
}
