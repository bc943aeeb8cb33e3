package org.apache.spark.sql.dovetail.deadline

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.execution.datasources.FileIndex

/**
 * Tables whose files were listed in vain, because queries did not wait for the end of it. Spark lists the files of the
 * query itself, so each query would list such a table twice.
 */
private[deadline] object SlowListings {

  /** Whether the table is not to be listed now. */
  def has(index: FileIndex): Boolean = found.get(key(index)).exists(l => l.times >= MostLate && !l.isOver)

  /** Notes that a listing came too late. */
  def late(index: FileIndex): Unit = {
    val times = found.get(key(index)).fold(0)(_.times)
    found.put(key(index), Late(times + 1, System.nanoTime() + LeftOut))
  }

  /** Notes that a listing came in time. */
  def inTime(index: FileIndex): Unit = found.remove(key(index))

  /** @param until end of the time for which the table is left out, on the clock of `System.nanoTime` */
  final private case class Late(times: Int, until: Long) {
    def isOver: Boolean = until - System.nanoTime() <= 0L
  }

  /** A hash code stands for many paths. A wrong hit costs a query the statistics of a table. */
  private def key(index: FileIndex): (String, Int, Int) = {
    val paths = index.rootPaths
    (paths.headOption.fold("")(_.toString), paths.size, paths.hashCode)
  }

  /**
   * Number of late listings in a row after which a table is left out. The first one may have been late because the
   * client of its storage was started, and it fills Spark's cache of file statuses.
   */
  private val MostLate = 2

  /**
   * Nanoseconds for which the table is not listed again: so long that the second listing of one query in hundreds costs
   * nothing, and so short that a table whose storage was slow has its statistics again in the same session.
   */
  private val LeftOut = TimeUnit.MINUTES.toNanos(5L)

  /** Most tables that are remembered: more than a warehouse has in use, at a few hundred bytes each. */
  private val MostTables = 1000L

  private val found = new BoundedCache[(String, Int, Int), Late]("slow listings", MostTables)(_ => 1L)
}
