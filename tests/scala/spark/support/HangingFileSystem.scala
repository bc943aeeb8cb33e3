package org.apache.spark.sql.dovetail

import java.net.URI
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.fs._

/**
 * The local file system under the scheme `hanging`. While a test asks for it, every call for a path below a directory
 * of a certain name waits.
 */
class HangingFileSystem extends RawLocalFileSystem {
  import HangingFileSystem._

  override def getScheme: String           = Scheme
  override def getUri: URI                 = URI.create(s"$Scheme:///")
  override def checkPath(path: Path): Unit = ()

  override def open(path: Path, buffer: Int): FSDataInputStream = { hang(path); super.open(path, buffer) }
  override def listStatus(path: Path): Array[FileStatus]        = { hang(path); super.listStatus(path) }
  override def getFileStatus(path: Path): FileStatus            = { hang(path); super.getFileStatus(path) }

  private def hang(path: Path): Unit = held.foreach { case (directory, release) =>
    if (path.toString.contains(s"/$directory/") || path.getName == directory) {
      release.await(LongestSeconds, TimeUnit.SECONDS); ()
    }
  }
}

object HangingFileSystem {
  val Scheme                    = "hanging"
  val setting: (String, String) = s"fs.$Scheme.impl" -> classOf[HangingFileSystem].getName

  @volatile private var held = Option.empty[(String, CountDownLatch)]

  /** Much longer than planning may take, but the test ends in any case. */
  private val LongestSeconds = 120L

  /** Runs `body` while the calls for paths below a directory of this name wait. */
  def during[A](directory: String)(body: => A): A = {
    val release = new CountDownLatch(1)
    held = Some(directory -> release)
    try body
    finally { held = None; release.countDown() }
  }
}
