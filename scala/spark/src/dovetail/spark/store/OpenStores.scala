package org.apache.spark.sql.dovetail.store

import java.util.{LinkedHashMap => LinkedMap}
import java.util.concurrent.TimeUnit

/**
 * The statistics stores that sessions of this JVM use, one per directory, for [[StatisticsStore]].
 *
 * A server may have a store for each of its users. So if there are many, those are closed that no session has used for
 * a while, the least recently used first. A store with state that is only in memory stays, because its file may not be
 * writable. Closing waits for nothing: the history and the failed joins are written some seconds after they change.
 *
 * @param most      number of stores that stay open in any case
 * @param idleNanos time without use after which a store may be closed
 * @param clock     a clock in nanoseconds
 */
final private[dovetail] class OpenStores(most: Int, idleNanos: Long, clock: () => Long = () => System.nanoTime()) {
  import OpenStores.Used

  private val stores = new LinkedMap[String, Used](OpenStores.InitialStores, OpenStores.LoadFactor, true)

  /** The store of a directory. */
  def apply(directory: String)(open: => StatisticsStore): StatisticsStore = synchronized {
    val used = Option(stores.get(directory)).getOrElse {
      val opened = new Used(open)
      stores.put(directory, opened)
      opened
    }
    used.at = clock()
    if (stores.size > most) close()
    used.store
  }

  /** All stores, the least recently used first. */
  def all: Vector[StatisticsStore] = synchronized(stores.values.toArray(Array.empty[Used]).toVector.map(_.store))

  private def close(): Unit = {
    val oldest = stores.values.iterator
    while (stores.size > most && oldest.hasNext) {
      val next = oldest.next()
      if (clock() - next.at >= idleNanos && next.store.states.forall(_.isSaved)) oldest.remove()
    }
  }
}

private[dovetail] object OpenStores {
  final private class Used(val store: StatisticsStore) { var at = 0L }

  /** Number of stores that stay open in any case: more than most servers have. Most of them take some kilobytes. */
  val Most = 100

  /** Time without use, in nanoseconds, after which a store may be closed: far more than a query needs from it. */
  val IdleNanos: Long = TimeUnit.MINUTES.toNanos(10L)

  private val InitialStores = 16
  private val LoadFactor    = 0.75f
}
