package org.apache.spark.sql.dovetail.store

import java.util.concurrent.{ExecutionException, FutureTask, TimeoutException, TimeUnit}

import org.apache.spark.sql.dovetail.deadline.Aside

/**
 * Modification time and length of all statistics files in a directory that is not on a local disk. There, a listing
 * costs as much as a look at one file, so one listing serves all look-ups for a while.
 *
 * The first look-up waits for the listing. When it has become old, look-ups wait a moment for a new one, and then use
 * the old one: a directory of thousands of files takes a second to list, which planning does not have.
 *
 * @param checkMillis how long a listing is used without another look, in milliseconds
 */
final private[store] class StoreListing(files: StoreFiles, checkMillis: Long) {
  private type Stamps = Map[String, (Long, Long)]

  private var known    = Option.empty[Stamps]
  private var at       = 0L
  private var underWay = Option.empty[FutureTask[Stamps]]

  /** The files. Throws what the file system throws if there is no earlier listing. */
  def now(): Stamps = {
    val (older, task, mine) = synchronized {
      if (known.isDefined && millis - at <= checkMillis) (known, None, false)
      else {
        val mine = underWay.isEmpty
        if (mine) begin()
        (known, underWay, mine)
      }
    }
    (older, task) match {
      case (Some(stamps), None)    => stamps
      case (Some(stamps), Some(t)) => if (mine) Aside.start("dovetail-store", t); soon(t).getOrElse(stamps)
      case (None, Some(t))         => if (mine) t.run(); Aside.result(t)
      case (None, None)            => Map.empty
    }
  }

  /** Notes what a file is that was opened: it may have been replaced since the listing. */
  def note(name: String, stamp: (Long, Long)): Unit = synchronized { known = known.map(_.updated(name, stamp)) }

  /** The next look-up lists the directory again, and waits for it: this JVM has changed it. */
  def forget(): Unit = synchronized { known = None; underWay = None }

  private def begin(): Unit = {
    lazy val task: FutureTask[Stamps] = new FutureTask(() =>
      try done(task, files.list())
      catch { case e: Throwable => done(task, synchronized(known).getOrElse(Map.empty)); throw e }
    )
    underWay = Some(task)
  }

  /** Keeps the listing, unless the directory was changed meanwhile. */
  private def done(task: FutureTask[Stamps], stamps: Stamps): Stamps = synchronized {
    if (underWay.exists(_ eq task)) { known = Some(stamps); at = millis; underWay = None }
    stamps
  }

  private def soon(task: FutureTask[Stamps]): Option[Stamps] =
    try Some(task.get(StoreListing.WaitMillis, TimeUnit.MILLISECONDS))
    catch { case _: TimeoutException | _: ExecutionException => None }

  private def millis: Long = System.nanoTime() / 1000000L
}

private object StoreListing {

  /** Milliseconds that a look-up waits for a new listing: a part of the time that planning gives it (250 ms). */
  private val WaitMillis = 100L
}
