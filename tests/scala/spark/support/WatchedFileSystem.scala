package org.apache.spark.sql.dovetail

import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.AccessControlException
import org.apache.hadoop.util.Progressable

/**
 * The local file system under the scheme `watched`. It records calls, and can refuse writes. Like some file systems of
 * other vendors, it is not of Hadoop's newer kind (`AbstractFileSystem`), so it does not replace a file in one step.
 * [[WatchedDisk]] is the same under the scheme of local files.
 */
class WatchedFileSystem extends RawLocalFileSystem {
  import WatchedFileSystem._

  override def getScheme: String           = Scheme
  override def getUri: URI                 = URI.create(s"$Scheme:///")
  override def checkPath(path: Path): Unit = ()

  override def open(path: Path, buffer: Int): FSDataInputStream = {
    calls.add(s"open ${path.getName}")
    beforeOpen(path)
    super.open(path, buffer)
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    calls.add("list")
    beforeList()
    super.listStatus(path)
  }

  override def mkdirs(path: Path): Boolean           = { refuse(path); super.mkdirs(path) }
  override def rename(from: Path, to: Path): Boolean = {
    refuse(to); calls.add(s"rename to ${to.getName}"); renames(to) && super.rename(from, to)
  }
  override def delete(path: Path, recursive: Boolean): Boolean = { refuse(path); super.delete(path, recursive) }

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    refuse(path); super.create(path, permission, overwrite, buffer, replication, block, progress)
  }

  override def create(
      path: Path,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    refuse(path)
    beforeCreate(path)
    new FSDataOutputStream(super.create(path, overwrite, buffer, replication, block, progress), null) {
      override def hsync(): Unit = { beforeSync(); super.hsync(); calls.add(s"sync of $getPos bytes"); () }
    }
  }

  private def refuse(path: Path): Unit = if (readOnly) throw new AccessControlException(s"Permission denied: $path")
}

object WatchedFileSystem {
  val Scheme                    = "watched"
  val setting: (String, String) = s"fs.$Scheme.impl" -> classOf[WatchedFileSystem].getName
  @volatile var readOnly        = false

  /** Called with the path of a file before the file is opened. */
  @volatile var beforeOpen: Path => Unit = (_: Path) => ()

  /** Called with the path of a file before the file is created. */
  @volatile var beforeCreate: Path => Unit = (_: Path) => ()

  /** Called before a file is written to the disk. */
  @volatile var beforeSync: () => Unit = () => ()

  /** Whether a file may be renamed to a path. */
  @volatile var renames: Path => Boolean = (_: Path) => true

  /** Called before a directory is listed. */
  @volatile var beforeList: () => Unit = () => ()

  private val calls = new ConcurrentLinkedQueue[String]()

  /** The calls to the file system while `body` runs: listings, files that were opened or synced, and renames. */
  def during[A](body: => A): (A, Vector[String]) = {
    calls.clear()
    val result = body
    (result, calls.toArray.toVector.map(_.toString))
  }
}

class WatchedDisk extends WatchedFileSystem {
  override def getScheme: String = "file"
  override def getUri: URI       = URI.create("file:///")
}

object WatchedDisk {

  /** A configuration in which this is the file system of local files. */
  def configuration: Configuration = {
    val conf = new Configuration()
    conf.set("fs.file.impl", classOf[WatchedDisk].getName)
    conf.setBoolean("fs.file.impl.disable.cache", true)
    conf
  }
}
