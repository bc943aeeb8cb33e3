package org.apache.spark.sql.dovetail.footers

import java.util.concurrent.{Semaphore, TimeUnit}

import scala.util.control.NoStackTrace

import org.apache.spark.sql.dovetail.base.HeapLimit

/**
 * The memory of the driver for parsing footers, of all queries together. A footer has an entry for each column of each
 * row group, and its reader makes objects of all of them before the first one can be summed up.
 */
private[footers] object FooterMemory {

  /** The footer takes more memory than all footers may take. */
  object TooLarge extends RuntimeException("it would take too much of the driver's memory") with NoStackTrace {
    override def toString: String = getMessage
  }

  /** Other footers took the memory until time was up. */
  object NoFreeMemory extends RuntimeException("other footers take the memory") with NoStackTrace

  /**
   * Reads a footer.
   *
   * @param until time until which the read may wait for the memory of others, on the clock of `System.nanoTime`
   * @param read  gets a function to call with the bytes of the footer in the file before the footer is parsed; it
   *              throws [[TooLarge]] or [[NoFreeMemory]] if there is no room
   */
  def within[A](until: Long)(read: (Long => Unit) => A): A = {
    var taken = 0
    try read { bytes =>
        val wanted = math.max(1L, bytes * Expansion / PermitBytes)
        if (wanted > all) throw TooLarge
        val time = math.max(0L, until - System.nanoTime())
        if (!free.tryAcquire(wanted.toInt, time, TimeUnit.NANOSECONDS)) throw NoFreeMemory
        taken += wanted.toInt
      }
    finally free.release(taken)
  }

  /** Bytes of a footer's objects for one byte in the file. */
  private val Expansion = 10L

  /** Bytes of a permit of the semaphore. */
  private val PermitBytes = 1024L

  /** Permits of all footers together. A footer of 70,000 column chunks takes some 100 MB. */
  private val all = (HeapLimit(512L * 1024 * 1024, part = 16L) / PermitBytes).toInt

  // fair, so that large footers are not overtaken forever
  private val free = new Semaphore(all, true)
}
