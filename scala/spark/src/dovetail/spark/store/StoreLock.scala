package org.apache.spark.sql.dovetail.store

import java.io.{FileNotFoundException, IOException}
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.concurrent.locks.ReentrantLock

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}

/**
 * A lock between JVMs for a read-modify-write of a file. Without it, a second writer could overwrite what the first one
 * has added.
 *
 * On local disks it is a lock of the operating system, which is released when its process ends in any way. On other
 * file systems it is a file that only one process can create; if the same file stays for longer than the longest write
 * takes, its writer was killed. Object stores have neither, so the last writer wins there.
 *
 * The lock is best effort: a writer that does not get it in time writes without it.
 *
 * @param clock a clock in nanoseconds
 */
final class StoreLock(
    fs: FileSystem,
    directory: Path,
    local: Boolean,
    clock: () => Long = () => System.nanoTime()
) {
  import StoreLock._

  private val path = new Path(directory, Name)

  def apply[A](body: => A): A = {
    val until = clock() + TimeUnit.MILLISECONDS.toNanos(PatienceMillis)
    inThisJvm(key) { inside =>
      // who does not get in must not even open the lock's file: closing it would release the lock of the other thread
      if (!inside.tryLock(PatienceMillis, TimeUnit.MILLISECONDS)) body
      else
        try {
          val held =
            try taken(until, FirstPauseMillis, None)
            // there can be no lock here
            catch { case _: IOException | _: UnsupportedOperationException => None }
          try body
          finally held.foreach(release =>
              try release()
              catch { case NonFatal(_) => () }
            )
        } finally inside.unlock()
    }
  }

  /** The place of the lock. A local directory has one, by whatever symbolic links sessions reach it. */
  private def key: String =
    if (!local) path.toString
    else
      try StoreFiles.onDisk(directory).toRealPath().toString
      catch { case _: IOException => directory.toUri.getPath }

  /**
   * Acquires the lock, and returns how to release it; None if it cannot be acquired in time.
   *
   * @param other the lock file of another writer, as it was seen last
   */
  private def taken(until: Long, pause: Long, other: Option[OtherLock]): Option[() => Unit] = {
    val (held, seen) = if (local) (ofSystem(), None) else ofFile(other)
    if (held.isDefined || clock() - until > 0L) held
    else { Thread.sleep(pause); taken(until, math.min(2L * pause, LastPauseMillis), seen) }
  }

  private def ofSystem(): Option[() => Unit] = {
    val channel        = FileChannel.open(StoreFiles.onDisk(path), CREATE, WRITE)
    val lock: FileLock =
      try channel.tryLock()
      catch {
        // another copy of this class in this JVM holds the lock
        case _: OverlappingFileLockException => null
        case e: IOException                  => channel.close(); throw e
      }
    if (lock == null) { channel.close(); None }
    else Some(() => channel.close())
  }

  private def ofFile(other: Option[OtherLock]): (Option[() => Unit], Option[OtherLock]) =
    try {
      fs.create(path, false).close()
      val mine =
        try modified()
        catch { case e: IOException => fs.delete(path, false); throw e }
      // if this writer took too long, another one may hold the lock by now
      (Some(() => if (modified() == mine) { fs.delete(path, false); () }), None)
    } catch {
      case _: FileAlreadyExistsException => (None, watched(other))
      // HDFS has an exception of its own until the other writer has closed the file
      case _: IOException if fs.exists(path) => (None, watched(other))
    }

  /**
   * Looks at the lock file of another writer, and removes it if its writer was killed. The age is that which this
   * writer has observed, because the clock of the file system may be another one.
   */
  private def watched(before: Option[OtherLock]): Option[OtherLock] = {
    val now   = clock()
    val found = modified().map(at => before.filter(_.modified == at).getOrElse(OtherLock(at, now)))
    if (found.exists(now - _.since > TimeUnit.MILLISECONDS.toNanos(AbandonedMillis))) {
      fs.delete(path, false)
      None
    } else found
  }

  /** None if the lock has just been released. */
  private def modified(): Option[Long] =
    try Some(fs.getFileStatus(path).getModificationTime)
    catch { case _: FileNotFoundException => None }
}

object StoreLock {

  /**
   * The lock file of another writer.
   *
   * @param modified its modification time, which tells it from the lock files before and after it
   * @param since    when it was seen first, on the clock of the writer that waits
   */
  final private case class OtherLock(modified: Long, since: Long)

  /** A lock with the number of threads that hold it or wait for it. */
  final private class SharedLock extends ReentrantLock { var users = 0 }

  /**
   * Locks between the threads of this JVM, by the place of the lock, while threads use them. A lock of the
   * operating system belongs to the whole process, and the process loses it when any of its threads closes the file.
   */
  private val locks = new ConcurrentHashMap[String, SharedLock]

  private def inThisJvm[A](place: String)(body: ReentrantLock => A): A = {
    def used(lock: SharedLock, by: Int) = { lock.users += by; lock }
    val lock                            = locks.compute(place, (_, l) => used(Option(l).getOrElse(new SharedLock), 1))
    try body(lock)
    finally {
      locks.computeIfPresent(place, (_, l) => Some(used(l, -1)).filter(_.users > 0).orNull)
      ()
    }
  }

  /** Name of the lock's file. Other programs may use the directory, and a `.lock` in it. */
  private val Name = ".dovetail.lock"

  /** How long a writer waits for others, in milliseconds. One write takes some hundreds of milliseconds. */
  private val PatienceMillis = 20000L

  /**
   * Milliseconds between two attempts: at first a fraction of one write, later longer, because each attempt is a
   * request to the file system.
   */
  private val FirstPauseMillis = 10L
  private val LastPauseMillis  = 500L

  /**
   * Milliseconds after which the owner of a lock file that stays is considered dead: longer than the longest write, and
   * shorter than other writers wait.
   */
  private val AbandonedMillis = 10000L
}
