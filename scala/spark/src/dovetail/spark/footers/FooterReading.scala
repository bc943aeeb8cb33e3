package org.apache.spark.sql.dovetail.footers

import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.dovetail.FailOpen

/** Files of a table to be looked at, in the order in which to do it; `columns` finds those of a file whose distinct values are wanted. */
final class FooterRequest(val format: FooterFormat, val files: Vector[FileStatus], hadoop: => Configuration, val columns: FileFooter => Seq[ColumnFooter]) {
  lazy val conf: Configuration = hadoop
}

/**
 * Reads into the [[FooterCache]] what is not there yet, in parallel and only for so long: one object serves one run of the rule, whose queries wait for it.
 *
 * First the footers of all tables, file by file in turn, so that none goes empty because another has many files; then the distinct values, in the same order.
 * What is not read in time is left to the next query. A read that is under way is not interrupted (some file systems close their channels then); it
 * ends in the cache.
 */
final class FooterReading(maxMillis: Long) {
  private lazy val allowed = TimeUnit.MILLISECONDS.toNanos(maxMillis) * (if (FooterReading.warm.getAndSet(true)) 1 else FooterReading.FirstTime)
  private var spent        = 0L

  def read(requests: Seq[FooterRequest]): Unit = {
    val inTurn = for (i <- 0 until requests.map(_.files.size).foldLeft(0)(math.max); r <- requests if i < r.files.size) yield (r, r.files(i))
    run(inTurn.filter { case (_, file) => FooterCache.get(FileKey(file)).isEmpty }.map { case (r, file) => (_: Long) => footer(r, file) })
    run(inTurn.flatMap { case (r, file) => missing(r, file).map { case (entry, columns) => (deadline: Long) => distinct(r, file, entry, columns, deadline) } })
  }

  private def footer(request: FooterRequest, file: FileStatus): Unit = {
    val footer =
      try Some(request.format.footer(file, request.conf))
      catch { case e: Throwable if NonFatal(e) || e.isInstanceOf[LinkageError] => warn(file, e); None }
    FooterCache.put(FileKey(file), new FooterEntry(footer))
  }

  private def missing(request: FooterRequest, file: FileStatus): Option[(FooterEntry, Seq[ColumnFooter])] =
    for {
      entry   <- FooterCache.get(FileKey(file))
      footer  <- entry.footer
      columns <- Some(request.columns(footer).filterNot(c => entry.distinct.containsKey(c.name))) if columns.nonEmpty
    } yield (entry, columns)

  private def distinct(request: FooterRequest, file: FileStatus, entry: FooterEntry, columns: Seq[ColumnFooter], deadline: Long): Unit =
    try request.format.distinct(file, request.conf, columns, () => System.nanoTime() < deadline).foreach { case (name, d) => entry.distinct.put(name, d) }
    catch { case e: Throwable if NonFatal(e) || e.isInstanceOf[LinkageError] => warn(file, e); columns.foreach(c => entry.distinct.put(c.name, None)) }

  private def warn(file: FileStatus, e: Throwable): Unit =
    FailOpen.warnOnce(s"footer ${file.getPath.getParent}", s"The footer of ${file.getPath} cannot be read, and the sizes of other files stand in for it: $e")

  /** Runs the tasks until they are done or time is up; each gets the time at which it should stop. */
  def run(tasks: Seq[Long => Unit]): Unit = if (tasks.nonEmpty && spent < allowed) {
    val start    = System.nanoTime()
    val deadline = start + allowed - spent
    val queue    = tasks.toVector
    val next     = new AtomicInteger
    val workers  = math.min(FooterReading.Threads, queue.size)
    val done     = new CountDownLatch(workers)
    // threads of this query, which run as its user, and not a pool, whose threads run as the one who came first
    (1 to workers).foreach { i =>
      val thread = new Thread(
        () =>
          try {
            var task = next.getAndIncrement()
            while (task < queue.size && System.nanoTime() < deadline) { queue(task)(deadline); task = next.getAndIncrement() }
          } finally done.countDown(),
        s"dovetail-footers-$i"
      )
      thread.setDaemon(true)
      thread.start()
    }
    done.await(allowed - spent, TimeUnit.NANOSECONDS)
    spent += System.nanoTime() - start
  }
}

object FooterReading {

  /** Parallel reads: enough to hide an object store's 50 ms per request behind each other; on a local disk parsing takes most of the time, and all cores. */
  private val Threads = 8

  /** Loading and warming up the readers' classes takes half a second, once in the life of a JVM: what the first reading may take, in times of the others. */
  private val FirstTime = 10

  private val warm = new AtomicBoolean
}
