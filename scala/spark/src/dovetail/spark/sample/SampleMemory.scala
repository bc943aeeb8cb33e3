package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.dovetail.base.{HeapLimit, SharedMemory}

/**
 * The memory of the driver for reading rows of files, of all queries together. A reader fetches the columns of a row
 * group as a whole, and a query reads several tables at a time.
 */
private[sample] object SampleMemory {

  /**
   * Reads rows.
   *
   * @param until time until which the read may wait for the memory of others, on the clock of `System.nanoTime`
   * @param bytes bytes of the columns of the largest row group, which are in memory at the same time
   */
  def within[A](until: Long, bytes: Double)(read: => A): A =
    memory.within(until) { take => take(math.ceil(bytes).toLong); read }

  /**
   * Bytes of all reads together: on a heap of any size, at least two of the largest samples ([[FileSample]]) or
   * counts ([[RowCount]]).
   */
  private[sample] val MostBytes = HeapLimit(256L * 1024 * 1024, part = 16L)

  private val memory = new SharedMemory(MostBytes)
}
