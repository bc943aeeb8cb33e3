package org.apache.spark.sql.dovetail.store

import java.io.{File, IOException}
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}

/**
 * A lock between JVMs for a read-modify-write of a file. Without it, a second writer could overwrite what the first one
 * has added.
 *
 * On local disks it is a lock of the operating system, which is released when its process ends in any way. On other
 * file systems it is a file that only one process can create; if the file is older than the longest write takes, its
 * writer was killed. Object stores have neither, so the last writer wins there.
 *
 * The lock is best effort: a writer that does not get it in time writes without it.
 */
final class StoreLock(fs: FileSystem, directory: Path, local: Boolean) {
  import StoreLock._

  private val path = new Path(directory, Name)

  def apply[A](body: => A): A = {
    val held = taken(System.nanoTime() + PatienceMillis * 1000000L)
    try body
    finally held.foreach(release =>
        try release()
        catch { case NonFatal(_) => () }
      )
  }

  /** Acquires the lock, and returns how to release it; None if it cannot be acquired in time. */
  private def taken(until: Long): Option[() => Unit] = {
    val held =
      try if (local) ofSystem() else ofFile()
      catch { case _: IOException | _: UnsupportedOperationException => return None }
    if (held.isDefined || System.nanoTime() > until) held
    else { Thread.sleep(PauseMillis); taken(until) }
  }

  private def ofSystem(): Option[() => Unit] = {
    val channel        = FileChannel.open(new File(path.toUri.getPath).toPath, CREATE, WRITE)
    val lock: FileLock =
      try channel.tryLock()
      catch {
        // another store object of this JVM holds the lock
        case _: OverlappingFileLockException => null
        case e: IOException                  => channel.close(); throw e
      }
    if (lock == null) { channel.close(); None }
    else Some(() => channel.close())
  }

  private def ofFile(): Option[() => Unit] =
    try { fs.create(path, false).close(); Some(() => { fs.delete(path, false); () }) }
    catch {
      case _: FileAlreadyExistsException =>
        if (System.currentTimeMillis() - fs.getFileStatus(path).getModificationTime > AbandonedMillis)
          fs.delete(path, false)
        None
    }
}

object StoreLock {
  private val Name = ".lock"

  /** How long a writer waits for others, in milliseconds. One write takes some hundreds of milliseconds. */
  private val PatienceMillis = 20000L

  private val PauseMillis = 10L

  /**
   * Age of a lock file in milliseconds after which its owner is considered dead: longer than the longest write, and
   * shorter than other writers wait.
   */
  private val AbandonedMillis = 10000L
}
