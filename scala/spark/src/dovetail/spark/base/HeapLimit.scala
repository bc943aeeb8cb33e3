package org.apache.spark.sql.dovetail.base

/** Limits of what Dovetail keeps in memory: a number of bytes, or less on a driver with a small heap. */
object HeapLimit {

  /**
   * The smaller of two numbers, usually of bytes.
   *
   * @param most number that is enough
   * @param part one part in so many of the largest heap of this JVM
   */
  def apply(most: Long, part: Long): Long = math.min(most, Runtime.getRuntime.maxMemory / part)
}
