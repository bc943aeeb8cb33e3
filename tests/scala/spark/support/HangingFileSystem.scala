package org.apache.spark.sql.dovetail

import java.net.URI
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.fs._

/**
 * The local file system under the scheme `hanging`: as long as it is told to, whoever asks it for something below a
 * directory of a certain name waits.
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

  /** Much longer than any planning may take, and yet the test comes to an end. */
  private val LongestSeconds = 120L

  /** Nothing below a directory of this name is answered meanwhile. */
  def during[A](directory: String)(body: => A): A = {
    val release = new CountDownLatch(1)
    held = Some(directory -> release)
    try body
    finally { held = None; release.countDown() }
  }
}
