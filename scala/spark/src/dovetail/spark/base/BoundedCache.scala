package org.apache.spark.sql.dovetail.base

import java.lang.ref.{SoftReference, WeakReference}
import java.util.{LinkedHashMap => LinkedMap}
import java.util.concurrent.ConcurrentLinkedQueue

/**
 * A cache of values that this JVM keeps between queries, with a bound on their total weight. Every cache of Dovetail is
 * a BoundedCache. The least recently used entries are evicted first. The entry put last stays, whatever its weight. All
 * methods are thread-safe.
 *
 * The values are softly referenced: before a driver runs out of memory, the JVM frees them. The bounds of all caches
 * together are half of a small heap.
 *
 * @param name     name of the cache, for people
 * @param most     largest total weight of all entries
 * @param weightOf weight of an entry, in a unit that the owner of the cache chooses; at least 1
 */
final class BoundedCache[K, V](val name: String, val most: Long)(weightOf: V => Long) {
  import BoundedCache.Entry

  private val entries = new LinkedMap[K, Entry[V]](BoundedCache.InitialEntries, BoundedCache.LoadFactor, true)
  private var total   = 0L

  BoundedCache.register(this)

  def get(key: K): Option[V] = synchronized {
    val value = Option(entries.get(key)).flatMap(e => Option(e.value.get))
    if (value.isEmpty) remove(key)
    value
  }

  def put(key: K, value: V): Unit = synchronized {
    val entry = new Entry(value, weightOf(value))
    Option(entries.put(key, entry)).foreach(total -= _.weight)
    total += entry.weight
    val oldest = entries.entrySet.iterator
    while (total > most && entries.size > 1) { total -= oldest.next().getValue.weight; oldest.remove() }
  }

  def remove(key: K): Unit = synchronized(Option(entries.remove(key)).foreach(total -= _.weight))

  def removeIf(test: K => Boolean): Unit = synchronized {
    val each = entries.entrySet.iterator
    while (each.hasNext) { val e = each.next(); if (test(e.getKey)) { total -= e.getValue.weight; each.remove() } }
  }

  def clear(): Unit = synchronized { entries.clear(); total = 0L }

  def size: Int = synchronized(entries.size)

  def weight: Long = synchronized(total)
}

object BoundedCache {
  final private class Entry[V](of: V, val weight: Long) {
    val value = new SoftReference(of)
  }

  private val InitialEntries = 64
  private val LoadFactor     = 0.75f

  // weak references, so that the caches of a store are garbage-collected with the store
  private val all = new ConcurrentLinkedQueue[WeakReference[BoundedCache[_, _]]]

  private def register(cache: BoundedCache[_, _]): Unit = {
    all.removeIf(_.get == null)
    all.add(new WeakReference(cache))
    ()
  }

  /**
   * Removes all entries of all caches, as if this JVM had just started. Serves `DOVETAIL CLEAR CACHES`, for tests and
   * fair benchmarks. Returns the number of removed entries.
   */
  def clearAll(): Int = {
    var entries = 0
    all.forEach(r => Option(r.get).foreach { cache => entries += cache.size; cache.clear() })
    entries
  }
}
