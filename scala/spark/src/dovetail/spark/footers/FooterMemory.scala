package org.apache.spark.sql.dovetail.footers

import org.apache.spark.sql.dovetail.base.{HeapLimit, SharedMemory}

/**
 * The memory of the driver for parsing footers, of all queries together. A footer has an entry for each column of each
 * row group, and its reader makes objects of all of them before the first one can be summed up. Spark's readers do so
 * again when they read rows.
 */
private[dovetail] object FooterMemory {

  /**
   * Reads a footer.
   *
   * @param until time until which the read may wait for the memory of others, on the clock of `System.nanoTime`
   * @param read  gets a function to call with the bytes of the footer in the file before the footer is parsed; it
   *              throws as [[SharedMemory]] does if there is no room
   */
  def within[A](until: Long)(read: (Long => Unit) => A): A =
    memory.within(until)(take => read(bytes => take(bytes * Expansion)))

  /** Bytes of a footer's objects for one byte in the file. */
  private val Expansion = 10L

  /** Bytes of all footers together. A footer of 70,000 column chunks takes some 100 MB. */
  private val Most = HeapLimit(512L * 1024 * 1024, part = 16L)

  /** Most bytes of a footer in the file. */
  private[dovetail] val MostBytes = Most / Expansion

  private val memory = new SharedMemory(Most)
}
