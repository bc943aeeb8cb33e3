package org.apache.spark.sql.dovetail.store

import java.util.{LinkedHashMap => LinkedMap}

import org.apache.spark.sql.dovetail.base.HeapLimit

/**
 * The statistics stores that sessions of this JVM use, for [[StatisticsStore]]: one per directory and credentials.
 *
 * A server may have a store for each of its users, and a job one for each token that it was given. Each store may have
 * a history in memory, so if there are many, the least recently used one is closed. A session that asks for it again
 * reads its files again. A store with state that is only in memory stays, because its file may not be writable; but
 * among twice as many it is closed, too, before the driver runs out of memory. Closing waits for nothing: the history
 * and the failed joins are written some seconds after they change.
 *
 * @param most number of stores that stay open in any case
 */
final private[dovetail] class OpenStores(most: Int) {
  private val stores = new LinkedMap[String, StatisticsStore](OpenStores.InitialStores, OpenStores.LoadFactor, true)

  /** The store of a directory. */
  def apply(directory: String)(open: => StatisticsStore): StatisticsStore = synchronized {
    Option(stores.get(directory)).getOrElse {
      val opened = open
      close()
      stores.put(directory, opened)
      opened
    }
  }

  /** All stores, the least recently used first. */
  def all: Vector[StatisticsStore] =
    synchronized(stores.values.toArray(Array.empty[StatisticsStore]).toVector)

  /** Makes room for one more store. */
  private def close(): Unit = {
    remove(most)(_.states.forall(_.isSaved))
    remove(OpenStores.Unsaved * most)(_ => true)
  }

  private def remove(upTo: Int)(which: StatisticsStore => Boolean): Unit = {
    val oldest = stores.values.iterator
    while (stores.size >= upTo && oldest.hasNext) if (which(oldest.next())) oldest.remove()
  }
}

private[dovetail] object OpenStores {

  /** Bytes of the largest heap of this JVM per store that stays open: a full history takes some ten megabytes. */
  private val PerStore = 100L << 20

  /** Number of stores that stay open in any case: as many users as a server has at a time, or fewer on a small heap. */
  val Most: Int = math.max(2L, HeapLimit(100L, part = PerStore)).toInt

  /** How many times as many stores may be open if some of them are not saved. */
  private val Unsaved = 2

  private val InitialStores = 16
  private val LoadFactor    = 0.75f
}
