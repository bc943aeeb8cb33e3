package org.apache.spark.sql.dovetail.base

import java.lang.ref.WeakReference
import java.util.{LinkedHashMap => LinkedMap}
import java.util.concurrent.ConcurrentLinkedQueue

/**
 * What this JVM remembers between queries, within a bound: every cache of Dovetail is one of these. What was used
 * longest ago goes first; what was put last stays, whatever it weighs. All methods may be called from any thread.
 *
 * @param name     for people
 * @param most     weight of all entries together
 * @param weightOf an entry, in units that the cache's owner names; at least 1
 */
final class BoundedCache[K, V](val name: String, val most: Long)(weightOf: V => Long) {
  private val entries = new LinkedMap[K, V](BoundedCache.InitialEntries, BoundedCache.LoadFactor, true)
  private var total   = 0L

  BoundedCache.register(this)

  def get(key: K): Option[V] = synchronized(Option(entries.get(key)))

  def put(key: K, value: V): Unit = synchronized {
    Option(entries.put(key, value)).foreach(total -= weightOf(_))
    total += weightOf(value)
    val oldest = entries.entrySet.iterator
    while (total > most && entries.size > 1) { total -= weightOf(oldest.next().getValue); oldest.remove() }
  }

  def remove(key: K): Unit = synchronized(Option(entries.remove(key)).foreach(total -= weightOf(_)))

  def clear(): Unit = synchronized { entries.clear(); total = 0L }

  def size: Int = synchronized(entries.size)

  def weight: Long = synchronized(total)
}

object BoundedCache {
  private val InitialEntries = 64
  private val LoadFactor     = 0.75f

  // those of a store go with the store
  private val all = new ConcurrentLinkedQueue[WeakReference[BoundedCache[_, _]]]

  private def register(cache: BoundedCache[_, _]): Unit = {
    all.removeIf(_.get == null)
    all.add(new WeakReference(cache))
    ()
  }

  /**
   * Forgets what all of them hold, as if this JVM had just begun: `DOVETAIL CLEAR CACHES`, for tests and fair
   * benchmarks. Returns the number of entries.
   */
  def clearAll(): Int = {
    var entries = 0
    all.forEach(r => Option(r.get).foreach { cache => entries += cache.size; cache.clear() })
    entries
  }
}
