package org.apache.spark.sql.dovetail.store

import java.util.concurrent.{ExecutionException, FutureTask, TimeoutException, TimeUnit}

import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.Aside

/**
 * Modification time and length of all statistics files in a directory that is not on a local disk. There, a listing
 * costs as much as a look at one file, so one listing serves all look-ups for a while.
 *
 * The first look-up waits for the listing. When it has become old, look-ups wait a moment for a new one, and then use
 * the old one: a directory of thousands of files takes a second to list, which planning does not have. The moment
 * begins with the listing, so that a query of many tables waits once and not for each table.
 *
 * @param list        lists the directory
 * @param checkMillis how long a listing is used without another look, in milliseconds
 * @param clock       a clock in milliseconds
 * @param start       runs a listing in another thread
 */
final private[dovetail] class StoreListing(
    list: () => StoreListing.Stamps,
    checkMillis: Long,
    clock: () => Long = StoreListing.millis,
    start: Runnable => Unit = StoreListing.inThread
) {
  import StoreListing._

  private var known    = Option.empty[Stamps]
  private var at       = 0L
  private var underWay = Option.empty[Listing]

  // doubled with each listing that is given up, so that few threads hang in a directory that never answers
  private var patience = GiveUpMillis

  /** The files. Throws what the file system throws if there is no earlier listing. */
  def now(): Stamps = {
    val (older, listing, mine) = synchronized {
      if (known.isDefined && clock() - at <= checkMillis) (known, None, false)
      else {
        val mine = underWay.forall(clock() - _.begunAt > patience)
        if (mine) begin()
        (known, underWay, mine)
      }
    }
    (older, listing) match {
      case (Some(stamps), None)    => stamps
      case (Some(stamps), Some(l)) => if (!mine || started(l)) soon(l).getOrElse(stamps) else stamps
      case (None, Some(l))         => if (mine) l.task.run(); Aside.result(l.task)
      case (None, None)            => Map.empty
    }
  }

  /** Notes what a file is that was opened, if it was replaced since the listing and nothing newer is known of it. */
  def note(name: String, listed: Stamp, found: Stamp): Unit = synchronized {
    known = known.map(stamps => if (stamps.get(name).contains(listed)) stamps.updated(name, found) else stamps)
  }

  /** Notes what a file is that this JVM has changed, or that it is gone. A listing that runs now may not have that. */
  def changed(name: String, stamp: Option[Stamp]): Unit = synchronized {
    known = known.map(patched(_, name, stamp))
    underWay.foreach(l => l.changed = l.changed.updated(name, stamp))
  }

  /** The next look-up lists the directory again and waits for it: this JVM has changed a file and cannot look at it. */
  def forget(): Unit = synchronized { known = None; underWay = None }

  private def begin(): Unit = {
    if (underWay.isDefined) patience *= 2L
    underWay = Some(new Listing)
  }

  /** Starts a listing, and returns whether that was possible. */
  private def started(listing: Listing): Boolean =
    try { start(listing.task); true }
    catch {
      // the operating system has no more threads
      case Survivable(_) =>
        synchronized(if (underWay.exists(_ eq listing)) underWay = None)
        false
    }

  /** Keeps a listing with what was changed meanwhile, unless it was given up; returns what is known then. */
  private def done(listing: Listing, stamps: Stamps): Stamps = synchronized {
    if (underWay.exists(_ eq listing)) {
      known = Some(listing.changed.foldLeft(stamps) { case (all, (name, stamp)) => patched(all, name, stamp) })
      at = clock()
      underWay = None
      patience = GiveUpMillis
    }
    known.getOrElse(stamps)
  }

  private def patched(stamps: Stamps, name: String, stamp: Option[Stamp]): Stamps =
    stamp.fold(stamps - name)(stamps.updated(name, _))

  private def soon(listing: Listing): Option[Stamps] = {
    val left = math.max(0L, WaitMillis - (clock() - listing.begunAt))
    try Some(listing.task.get(left, TimeUnit.MILLISECONDS))
    catch { case _: TimeoutException | _: ExecutionException => None }
  }

  /** One listing of the directory. */
  final private class Listing {
    val begunAt: Long = clock()

    /** Files that this JVM has changed since the listing began; None for those that are gone. */
    var changed = Map.empty[String, Option[Stamp]]

    val task: FutureTask[Stamps] = new FutureTask(() =>
      try done(this, list())
      catch { case e: Throwable => done(this, earlier); throw e }
    )
  }

  private def earlier: Stamps = synchronized(known.getOrElse(Map.empty))
}

private[dovetail] object StoreListing {

  /** Modification time in milliseconds and length in bytes. */
  type Stamp  = (Long, Long)
  type Stamps = Map[String, Stamp]

  /** Milliseconds that look-ups wait for a new listing: a part of the time that planning gives them (250 ms). */
  private val WaitMillis = 100L

  /**
   * Milliseconds after which a listing counts as hanging and another one is tried: as long as after other calls that
   * hang ([[Aside]]).
   */
  private[dovetail] val GiveUpMillis = TimeUnit.NANOSECONDS.toMillis(Aside.TriedAgainAfter)

  private def millis: () => Long = () => TimeUnit.NANOSECONDS.toMillis(System.nanoTime())

  private def inThread: Runnable => Unit = task => { Aside.start("dovetail-store", task); () }
}
