package org.apache.spark.sql.dovetail.deadline

import java.io.IOException

import org.apache.spark.sql.dovetail.base.FailOpen

/**
 * When a read that has failed is tried again. Caches remember failed reads, so that not every query waits for them. A
 * fault of the file system, of a temporary directory or of memory passes, so such a failure is forgotten after a while.
 * Any other one comes from the contents of the files or from the query, and stays.
 */
object Retry {

  /** A clock in nanoseconds. Only tests move it. */
  @volatile private[dovetail] var clock: () => Long = () => System.nanoTime()

  /** When to try again, on the clock; None if the read would fail in the same way. */
  def after(e: Throwable): Option[Long] =
    if (FailOpen.causes(e).exists(passes)) Some(clock() + Aside.TriedAgainAfter) else None

  /** Whether the time for another try has come. */
  def isDue(at: Option[Long]): Boolean = at.exists(clock() - _ >= 0L)

  // Spark and the readers of file formats wrap the exceptions of a file system
  private def passes(e: Throwable): Boolean = e match {
    case _: IOException | _: OutOfMemoryError => true
    case _                                    => false
  }
}
