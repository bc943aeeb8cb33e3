package org.apache.spark.sql.dovetail.base

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/**
 * Runs a piece of Dovetail so that its failure never becomes the query's: the fallback is used, and one line logged per
 * kind of failure.
 *
 * Neither does an interruption: Spark plans without looking at it, and ends at the next thing that it waits for. So the
 * thread stays interrupted, and nothing is logged.
 */
object FailOpen {
  private val log    = LoggerFactory.getLogger("dovetail")
  private val logged = ConcurrentHashMap.newKeySet[String]()

  /** @param fallback gets what went wrong, in words */
  def apply[A](what: String, fallback: String => A)(body: => A): A =
    try body
    catch {
      case Survivable(e) =>
        val reason = s"$what failed: $e"
        warnOnce(
          s"$what ${e.getClass.getName} ${Option(e.getStackTrace).flatMap(_.headOption).getOrElse("")}",
          s"$reason. Spark's own plan is used."
        )
        log.debug(reason, e)
        fallback(reason)
      case _: InterruptedException =>
        Thread.currentThread.interrupt()
        fallback(s"$what was interrupted")
    }

  /** What a piece of Dovetail can fail by and the query go on. */
  object Survivable {

    // NonFatal leaves out LinkageError, which is what a class moved between Spark versions looks like, and
    // StackOverflowError, which a very deep plan can raise in any recursion; it rightly leaves out
    // InterruptedException, which ends all that Dovetail does for the query. Memory that Dovetail did not get is free
    // again once it gives up: Spark's own plan may do without it.
    def unapply(e: Throwable): Option[Throwable] = e match {
      case _: LinkageError | _: StackOverflowError | _: OutOfMemoryError => Some(e)
      case _                                                             => Some(e).filter(NonFatal(_))
    }
  }

  /** Logs a line the first time that `key` comes. */
  def warnOnce(key: String, line: => String): Unit = if (logged.size < MaxKinds && logged.add(key)) log.warn(line)

  /** Kinds of warnings remembered: enough for every table of a large warehouse, and a bound on memory. */
  private val MaxKinds = 10000
}
