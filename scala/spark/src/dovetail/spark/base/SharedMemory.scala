package org.apache.spark.sql.dovetail.base

import java.util.concurrent.{Semaphore, TimeUnit}

import scala.util.control.NoStackTrace

/**
 * A part of the driver's memory for one kind of work, of all queries together. Work takes its bytes before it
 * allocates them, waits for the bytes of others if there are too few, and gives them back when it ends.
 *
 * @param most bytes of all work that runs at the same time
 */
final class SharedMemory(most: Long) {
  import SharedMemory._

  private val all = math.max(1L, math.min(most / PermitBytes, Int.MaxValue.toLong)).toInt

  // fair, so that large takers are not overtaken forever
  private val free = new Semaphore(all, true)

  /**
   * Runs work that takes memory.
   *
   * @param until time until which the work may wait for the memory of others, on the clock of `System.nanoTime`
   * @param work  gets a function to call with the bytes that it is about to take; it throws [[TooLarge]] or
   *              [[NoFreeMemory]] if there is no room
   */
  def within[A](until: Long)(work: (Long => Unit) => A): A = {
    var taken = 0
    try work { bytes =>
        val wanted = math.max(1L, bytes / PermitBytes)
        if (wanted > all) throw TooLarge
        val time = math.max(0L, until - System.nanoTime())
        if (!free.tryAcquire(wanted.toInt, time, TimeUnit.NANOSECONDS)) throw NoFreeMemory
        taken += wanted.toInt
      }
    finally free.release(taken)
  }
}

object SharedMemory {

  /** The work takes more memory than there is for all work of its kind. */
  object TooLarge extends RuntimeException("it would take too much of the driver's memory") with NoStackTrace {
    override def toString: String = getMessage
  }

  /** Other work took the memory until time was up. */
  object NoFreeMemory extends RuntimeException("other work takes the memory") with NoStackTrace

  /** Bytes of a permit of the semaphore. */
  private val PermitBytes = 1024L
}
