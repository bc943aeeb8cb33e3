package org.apache.spark.sql.dovetail.table

import dovetail.kernel.profile.RelationSample

/** How often each key comes: open addressing over two arrays, for a boxed map takes several times as long. */
final private[table] class KeyCounts {
  import KeyCounts._

  private var keys   = new Array[Long](FirstSlots)
  private var counts = new Array[Long](FirstSlots)
  private var used   = 0
  private var sum    = 0L

  def size: Int   = used
  def total: Long = sum

  /** Count of the most frequent key. */
  def largest: Long = counts.foldLeft(0L)(math.max)

  /** A key that stands for NULL is not one of those that [[dovetail.kernel.profile.RelationSample]] takes. */
  def add(key: Long): Unit = {
    val k    = if (key == RelationSample.NullKey) key + 1L else key
    val slot = find(k)
    if (counts(slot) == 0L) { keys(slot) = k; used += 1 }
    counts(slot) += 1L
    sum += 1L
    if (used > keys.length / 2) grow()
  }

  /** Most frequent first; by key where counts are equal, so that the same data gives the same plan. */
  def most(n: Int): Vector[(Long, Long)] = {
    val least =
      if (used <= n) 1L else { val sorted = counts.filter(_ > 0L); java.util.Arrays.sort(sorted); sorted(used - n) }
    keys.indices.iterator.filter(counts(_) >= least).map(i => keys(i) -> counts(i)).toVector
      .sortBy { case (k, c) => (-c, k) }.take(n)
  }

  private def find(key: Long): Int = {
    var slot = ((key * Spread) >>> 32).toInt & (keys.length - 1)
    while (counts(slot) != 0L && keys(slot) != key) slot = (slot + 1) & (keys.length - 1)
    slot
  }

  private def grow(): Unit = {
    val (oldKeys, oldCounts) = (keys, counts)
    keys = new Array[Long](2 * oldKeys.length)
    counts = new Array[Long](2 * oldKeys.length)
    var i = 0
    while (i < oldKeys.length) {
      if (oldCounts(i) > 0L) { val slot = find(oldKeys(i)); keys(slot) = oldKeys(i); counts(slot) = oldCounts(i) }
      i += 1
    }
  }
}

private object KeyCounts {
  private val FirstSlots = 1024

  /** Spreads consecutive keys over the slots (Fibonacci hashing: Knuth, vol. 3, 6.4). */
  private val Spread = 0x9e3779b97f4a7c15L
}
