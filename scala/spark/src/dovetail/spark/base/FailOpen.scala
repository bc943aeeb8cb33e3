package org.apache.spark.sql.dovetail.base

import java.util.concurrent.{CompletionException, ConcurrentHashMap, ExecutionException}

import scala.util.control.NonFatal

import org.apache.spark.SparkException
import org.slf4j.LoggerFactory

/**
 * Runs a part of Dovetail such that its failure never fails the query: the fallback is used, and one line is logged per
 * kind of failure.
 *
 * A job that the user cancels ends the query, as it would without Dovetail: Spark's own rules run jobs, to list many
 * partitions, and so do connectors, to find their files.
 *
 * An interruption does not fail the query here either. Spark's planner does not check for interruptions; the query
 * stops at its next blocking call. So FailOpen leaves the thread interrupted and logs nothing.
 */
object FailOpen {
  private val log    = LoggerFactory.getLogger("dovetail")
  private val logged = ConcurrentHashMap.newKeySet[String]()

  /** @param fallback result to use after a failure; receives a description of the failure */
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
      case e if isInterruption(e) =>
        Thread.currentThread.interrupt()
        fallback(s"$what was interrupted")
    }

  /**
   * Whether somebody has cancelled a job. A connector that runs jobs wraps Spark's exception into its own. The text is
   * that of all Spark lines; Spark 3.5 has no condition for it.
   */
  def isCancelled(e: Throwable): Boolean = causes(e).exists {
    case s: SparkException => Option(s.getMessage).exists(Cancelled.findFirstIn(_).isDefined)
    case _                 => false
  }

  private val Cancelled = """\bJob \d+ cancelled\b""".r

  /**
   * Whether this thread was interrupted. A library may wrap the exception, and the thread's flag is cleared by then. An
   * interruption below the exception of a task is that of the thread that ran the task.
   */
  def isInterruption(e: Throwable): Boolean =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MostCauses).takeWhile {
      case _: ExecutionException | _: CompletionException => false
      case _                                              => true
    }.exists(_.isInstanceOf[InterruptedException])

  /** An exception, its causes, and the exceptions that these have suppressed, as far as they matter. */
  def causes(e: Throwable): Iterator[Throwable] =
    Iterator.iterate(Vector(e))(_.flatMap(x => x.getSuppressed.toVector ++ Option(x.getCause))).takeWhile(_.nonEmpty)
      .flatMap(_.iterator).take(MostCauses)

  /** Most exceptions that are looked at: connectors nest a few, and a chain of causes may be a circle. */
  private val MostCauses = 20

  /** Matches failures after which the query can continue without this part of Dovetail. */
  object Survivable {

    // NonFatal does not match LinkageError, which Spark code raises if a class moved between Spark versions, and
    // StackOverflowError, which a very deep plan can raise in any recursion. An interruption of this thread ends all
    // work of Dovetail for the query. OutOfMemoryError is survivable: the memory is free again once Dovetail gives up,
    // and Spark's own plan may need less of it.
    def unapply(e: Throwable): Option[Throwable] = e match {
      case _: LinkageError | _: StackOverflowError | _: OutOfMemoryError => Some(e)
      case _ if isCancelled(e) || isInterruption(e)                      => None
      case _                                                             => Some(e).filter(NonFatal(_))
    }
  }

  /** Logs `line` at the first call with this `key`. */
  def warnOnce(key: String, line: => String): Unit = if (logged.size < MaxKinds && logged.add(key)) log.warn(line)

  /**
   * Largest number of remembered kinds of warnings; further kinds are not logged. Enough for every table of a large
   * warehouse, and a bound on memory.
   */
  private val MaxKinds = 10000
}
