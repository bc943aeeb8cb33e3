package org.apache.spark.sql.dovetail.store

import java.io.{File, IOException, OutputStream, SyncFailedException}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files => JavaFiles, Path => JavaPath}
import java.security.PrivilegedExceptionAction
import java.util.UUID
import java.util.regex.Pattern

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.dovetail.base.ErrorCondition
import org.apache.spark.sql.dovetail.base.ErrorCondition.StoreNotWritable
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable

/**
 * The store's directory, on any file system that Hadoop supports. Files are replaced atomically.
 *
 * A file is written under another name and then renamed, so a reader sees either the old file or the new one, and of
 * two writers the last one wins. Object stores have no rename, but show a file only when it is complete, so files are
 * written in place there.
 *
 * All files are read and written as the user who opened the store, in whatever thread: a server may act for its
 * clients in the threads of their queries, and those threads start others.
 *
 * @param isPrivate whether on local disks only the owner may read the files
 */
final class StoreFiles(val directory: Path, hadoop: Configuration, isPrivate: Boolean = true) {
  import StoreFiles._

  private val owner = UserGroupInformation.getCurrentUser

  private def asOwner[A](body: => A): A =
    if (UserGroupInformation.getCurrentUser == owner) body
    else owner.doAs(new PrivilegedExceptionAction[A] { override def run(): A = body })

  /** Name of the store in messages that it does not answer. */
  val place: String = s"the statistics store $directory"

  // without Hadoop's checksum files, because the statistics format has its own checksums. Hadoop keeps the object, and
  // makes a new one if a program has closed it. If Hadoop keeps none, each call would make one that nobody closes.
  private def fs: FileSystem          = if (kept) StoreFiles.fileSystem(directory, hadoop) else single
  private lazy val single: FileSystem = StoreFiles.fileSystem(directory, hadoop)
  private lazy val kept: Boolean      = {
    val scheme = Option(directory.toUri.getScheme).getOrElse(FileSystem.getDefaultUri(hadoop).getScheme)
    !hadoop.getBoolean(s"fs.$scheme.impl.disable.cache", false)
  }

  lazy val local: Boolean      = asOwner(fs.getUri.getScheme == LocalScheme)
  private lazy val objectStore = asOwner(ObjectStores.contains(fs.getUri.getScheme))

  /** Modification time and length of all statistics files, by name. Empty if the directory does not exist. */
  def list(): Map[String, (Long, Long)] = asOwner {
    try fs.listStatus(directory).filter(s => s.isFile && s.getPath.getName.endsWith(Suffix)).map(s =>
        s.getPath.getName -> ((s.getModificationTime, s.getLen))
      ).toMap
    catch { case _: java.io.FileNotFoundException => Map.empty }
  }

  /**
   * Modification time and length of one file. On a local disk this is cheaper than a listing, which looks at each file.
   */
  def stamp(name: String): Option[(Long, Long)] = asOwner {
    try Some(fs.getFileStatus(new Path(directory, name))).map(s => (s.getModificationTime, s.getLen))
    catch { case _: java.io.FileNotFoundException => None }
  }

  def open[A](name: String)(read: FSDataInputStream => A): A = asOwner {
    val in = fs.open(new Path(directory, name))
    try read(in)
    finally in.close()
  }

  /** Fails with a message for the user if nothing can be written. Called before work whose result would be lost. */
  def checkWritable(): Unit = asOwner {
    try {
      makeDirectory()
      removeAbandoned()
      val probe = temporary(s"probe$Suffix")
      create(probe).close()
      fs.delete(probe, false)
      ()
    } catch {
      case Survivable(e) => throw notWritable(directory, e)
    }
  }

  /** Replaces the file completely, or leaves it unchanged. */
  def replace(name: String)(write: OutputStream => Unit): Unit = asOwner {
    val target = new Path(directory, s"./$name") // the name may have a colon, which would end a scheme
    val path   = if (objectStore) target else temporary(name)
    try {
      makeDirectory()
      try {
        val out = create(path)
        try { write(out); if (local) sync(out) }
        catch { case e: Throwable => abandon(out); throw e }
        out.close()
      } catch { case NonFatal(e) => discard(path); throw e }
      if (!objectStore)
        try rename(path, target)
        catch { case NonFatal(e) => keepOne(path, target); throw e }
    } catch { case e: IOException => throw notWritable(directory, e) }
  }

  /**
   * Runs code that reads a file and replaces it, while no other JVM does so. The lock is in the directory, so two first
   * writers need the directory before they write.
   */
  def locked[A](body: => A): A = asOwner {
    if (objectStore) body
    else {
      try makeDirectory()
      catch { case Survivable(e) => throw notWritable(directory, e) }
      new StoreLock(fs, directory, local).apply(body)
    }
  }

  def delete(name: String): Boolean = asOwner {
    try fs.delete(new Path(directory, name), false)
    catch { case Survivable(e) => throw notWritable(directory, e) }
  }

  private def makeDirectory(): Unit =
    if (!fs.exists(directory)) {
      if (!fs.mkdirs(directory)) throw new IOException("the directory could not be created")
      permit(directory, "rwx------")
    } else if (!fs.getFileStatus(directory).isDirectory) throw new IOException(s"$directory is a file")

  /**
   * Ends a failed write. Closing the stream on an object store would replace the complete file by an incomplete one, so
   * the write is aborted there.
   */
  private def abandon(out: FSDataOutputStream): Unit =
    try {
      if (objectStore) { out.abort(); () }
      else out.close()
    } catch { case NonFatal(_) => () }

  private def create(path: Path): FSDataOutputStream = {
    val out = fs.create(path, true)
    // permissions are set while the file is still empty
    try permit(path, "rw-------")
    catch { case NonFatal(e) => out.close(); throw e }
    out
  }

  /**
   * Writes the content to the disk before the file is renamed. Otherwise a local file system may keep the rename and
   * lose the content when the power fails. Some file systems do not support it.
   */
  private def sync(out: FSDataOutputStream): Unit =
    try out.hsync()
    catch { case _: UnsupportedOperationException | _: SyncFailedException => () }

  /** Sets permissions by Java's API, because Hadoop without its native library starts a process for each call. */
  private def permit(path: Path, permissions: String): Unit =
    try {
      if (isPrivate && local) {
        JavaFiles.setPosixFilePermissions(onDisk(path), PosixFilePermissions.fromString(permissions)); ()
      }
    } catch { case _: UnsupportedOperationException => () }

  private def rename(from: Path, to: Path): Unit =
    if (local) move(from, to)
    else
      try FileContext.getFileContext(fs.getUri, hadoop).rename(from, to, Options.Rename.OVERWRITE)
      catch { case _: UnsupportedFileSystemException => exchange(from, to) }

  private def move(from: Path, to: Path): Unit =
    if (!fs.rename(from, to)) throw new IOException(s"$from could not be renamed to $to")

  /**
   * Replaces a file where the file system cannot do that in one step, so for a moment there is no file. The old one
   * comes back if the new one cannot take its place.
   */
  private def exchange(from: Path, to: Path): Unit = {
    val aside = temporary(to.getName)
    val old   = fs.exists(to) && fs.rename(to, aside)
    try move(from, to)
    catch { case e: IOException => if (old) fs.rename(aside, to); throw e }
    if (old) fs.delete(aside, false)
    ()
  }

  private def discard(path: Path): Unit =
    try { if (!objectStore) fs.delete(path, false); () }
    catch { case NonFatal(_) => () }

  /** Removes the new file after a failed rename, unless it is the only one: the rename may have removed the old one. */
  private def keepOne(path: Path, target: Path): Unit =
    try {
      // a file that finds no place stays for a day
      if (fs.exists(target)) fs.delete(path, false) else fs.rename(path, target)
      ()
    } catch { case NonFatal(_) => () }

  /** Removes temporary files of writers that were killed. The directory may have files of other programs, too. */
  def removeAbandoned(): Unit = asOwner {
    try {
      val before = System.currentTimeMillis() - AbandonedMillis
      fs.listStatus(directory).filter(s =>
        s.isFile && OwnTemporary.matcher(s.getPath.getName).matches() && s.getModificationTime < before
      ).foreach(s => fs.delete(s.getPath, false))
    } catch { case Survivable(_) => () }
  }

  private def temporary(name: String): Path = new Path(directory, s"./.$name.${UUID.randomUUID()}$Temporary")
}

object StoreFiles {
  val Suffix            = ".stats"
  private val Temporary = ".tmp"

  /** Names of [[StoreFiles.temporary]]: a file of the store and a random UUID. */
  private val OwnTemporary = Pattern.compile(
    "\\..+\\.(stats|json|costs)\\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}" + Pattern.quote(Temporary)
  )

  private val LocalScheme = "file"

  /**
   * Age of an abandoned temporary file in milliseconds: a day, because no ANALYZE takes that long to write its result.
   */
  private val AbandonedMillis = 24L * 60 * 60 * 1000

  /**
   * URI schemes of object stores, in which a file appears when it is complete, and a rename copies it. Azure's are none
   * of them: a file that is written anew is empty there until it is closed.
   */
  private val ObjectStores = Set("s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs")

  /** A path of the local disk. `Paths.get` would not read the URI's form of a Windows path. */
  private[store] def onDisk(path: Path): JavaPath = new File(path.toUri.getPath).toPath

  /** The store's directory, from the text of the setting. */
  def path(text: String): Path =
    try new Path(text)
    catch { case e: IllegalArgumentException => throw notWritable(text, e) }

  /**
   * One text for all ways to write a directory: `/a`, `/a/` and `file:/a`. It does not ask the file system, which may
   * not answer. So a relative path, which depends on the user's directory, is only completed on local disks.
   */
  def qualified(path: Path, hadoop: Configuration): String = {
    val root  = FileSystem.getDefaultUri(hadoop)
    val other = Option(path.toUri.getScheme).exists(_ != root.getScheme)
    if (!other && (path.isAbsolute || root.getScheme == LocalScheme))
      path.makeQualified(root, new Path(System.getProperty("user.dir"))).toString
    else path.toString
  }

  /**
   * The file system of a path. For local files it does not use Hadoop's checksum files, with which files changed by
   * other programs could not be read.
   */
  def fileSystem(path: Path, hadoop: Configuration): FileSystem =
    try path.getFileSystem(hadoop) match {
        case local: LocalFileSystem => local.getRaw
        case other                  => other
      }
    catch {
      case e @ (_: IOException | _: IllegalArgumentException) => throw e
      // Hadoop raises errors of many types if the jar of a file system is missing, or one that it needs
      case Survivable(e) =>
        throw new IOException(
          s"its file system cannot be loaded ($e): add the jars of the file system to the session",
          e
        )
    }

  private def notWritable(directory: Any, e: Throwable): IOException = StoreNotWritable.ofPlace(
    e,
    s"Dovetail cannot write statistics to $directory: ${ErrorCondition.text(e)}. Set spark.dovetail.store.path to a " +
      "directory that this user may write to.",
    "path" -> directory.toString
  )
}
