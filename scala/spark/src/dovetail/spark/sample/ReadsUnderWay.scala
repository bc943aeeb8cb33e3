package org.apache.spark.sql.dovetail.sample

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.annotation.tailrec

import org.apache.spark.sql.dovetail.deadline.Aside

/**
 * Reads of rows that are under way. Queries that want rows of the same files at the same time do not each read them:
 * one reads, and the others wait for what it puts into the [[FileSampleCache]].
 */
private[sample] object ReadsUnderWay {

  final private class Read {
    private val since = System.nanoTime()

    val ended = new CountDownLatch(1)

    /** Nanoseconds for which others still wait for this read. A read that hangs does not keep them away for ever. */
    def left: Long = Aside.TriedAgainAfter - (System.nanoTime() - since)
  }

  private val reads = new ConcurrentHashMap[FileSampleCache.Key, Read]

  /**
   * Runs `body` when no other read of these files is under way. Returns false, without a run, if there still is one
   * when the time is up.
   *
   * @param until time until which the caller may wait, on the clock of `System.nanoTime`
   */
  @tailrec
  def alone(key: FileSampleCache.Key, until: Long)(body: => Unit): Boolean = {
    val mine  = new Read
    val found = reads.compute(key, (_, other) => if (other == null || other.left <= 0L) mine else other)
    if (found eq mine) {
      try body
      finally { reads.remove(key, mine); mine.ended.countDown() }
      true
    } else {
      found.ended.await(math.min(until - System.nanoTime(), found.left), TimeUnit.NANOSECONDS)
      if (until - System.nanoTime() <= 0L) false else alone(key, until)(body)
    }
  }
}
