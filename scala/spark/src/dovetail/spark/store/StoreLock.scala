package org.apache.spark.sql.dovetail.store

import java.io.{File, IOException}
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileAlreadyExistsException, FileSystem, Path}

/**
 * Keeps writers in several JVMs apart while one of them makes a file of what is there: without it the second would
 * write over what the first has added.
 *
 * On local disks it is a lock of the operating system, which ends with its process, however that ends. On other file
 * systems it is a file that only one can create; one that is older than any writer takes is of a writer that was
 * killed. Object stores have neither: there the last one wins.
 *
 * It helps, and is not needed: who does not get it in time writes without it.
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

  /** How to give it back; None where it cannot be had. */
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
        // another store object of this JVM has it
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

  /** How long a writer waits for others, in milliseconds: what they do meanwhile takes some hundreds. */
  private val PatienceMillis = 20000L

  private val PauseMillis = 10L

  /**
   * After so long its owner no longer lives, in milliseconds: longer than the longest write, shorter than others wait.
   */
  private val AbandonedMillis = 10000L
}
