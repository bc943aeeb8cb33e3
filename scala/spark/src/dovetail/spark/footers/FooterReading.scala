package org.apache.spark.sql.dovetail.footers

import java.util.HashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicReferenceArray}
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.orc.FileFormatException
import org.apache.spark.sql.dovetail.base.{FailOpen, SharedMemory}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, Retry}

/**
 * Files of a table to read, in reading order. `columns` finds the columns of a file whose distinct values are wanted.
 *
 * @param bytes size of all files of the table
 */
final class FooterRequest(
    val format: FooterFormat,
    val files: Vector[CachedFile],
    val bytes: Long,
    hadoop: => Configuration,
    val columns: FileFooter => Seq[ColumnFooter]
) {
  lazy val conf: Configuration = hadoop
}

/**
 * Reads missing entries into the [[FooterCache]], in parallel and for a limited time. One object serves one run of the
 * rule, whose query waits for it.
 *
 * First it reads the footers of all tables. It takes one file of each table in turn, so that no table goes without
 * footers because another table has many files. Then it reads the distinct values in the same order. The next query
 * reads what was not read in time. A read that is under way is not interrupted, because some file systems would close
 * their channels; its result still goes to the cache. Tables whose files do not answer are skipped for a while
 * ([[Aside]]).
 */
final class FooterReading(maxMillis: Long) {
  private var spent = 0L
  private var bytes = 0L

  /** Readers that have served an earlier query, with the extra time that they have taken. */
  private val met = new HashMap[String, java.lang.Long](FooterReading.beyond)

  def read(requests: Seq[FooterRequest]): Unit = {
    bytes += requests.map(_.bytes).sum
    val inTurn  = wanted(requests)
    val footers = inTurn.filter { case (file, _) => file.entry.isEmpty }
    run(footers.map { case (file, rs) => task(rs.head, file)(footer(rs.head, file, _)) })
    val unread = footers.count { case (file, _) => file.entry.isEmpty }
    if (unread > 0 && maxMillis > 0L)
      PlanningTime.cut(s"$unread of ${footers.size} file footers were not read in time")
    val large = inTurn.count { case (file, _) => file.entry.exists(_.isTooLarge) }
    if (large > 0)
      PlanningTime.cut(s"$large of ${inTurn.size} file footers were not read: they take too much memory of the driver")
    run(inTurn.flatMap { case (file, rs) =>
      missing(rs, file).map { case (entry, columns) =>
        task(rs.head, file, reads = rs.head.format.readsFor(columns))(distinct(rs.head, file, entry, columns, _))
      }
    })
    ()
  }

  /** The files of all requests in turn, each once: a query may read a table many times. */
  private def wanted(requests: Seq[FooterRequest]): Vector[(CachedFile, Vector[FooterRequest])] = {
    val found = mutable.LinkedHashMap.empty[FileKey, (CachedFile, Vector[FooterRequest])]
    for (i <- 0 until requests.map(_.files.size).foldLeft(0)(math.max); r <- requests if i < r.files.size) {
      PlanningTime.check()
      val file      = r.files(i)
      val (one, by) = found.getOrElse(file.key, (file, Vector.empty))
      found(file.key) = (one, by :+ r)
    }
    found.values.toVector
  }

  private def task(request: FooterRequest, file: CachedFile, reads: Boolean = true)(body: Long => Unit) =
    new FooterReading.Task(Aside.table(file.status.getPath), request.format.getClass, body, reads)

  private def footer(request: FooterRequest, file: CachedFile, deadline: Long): Unit = {
    def put(entry: FooterEntry): Unit = FooterCache.put(file.key, entry)
    def read: FileFooter              = FooterMemory.within(deadline) { take =>
      var size   = 0L
      val footer = request.format.footer(file.status, request.conf, bytes => { take(bytes); size += bytes })
      footer.copy(size = size)
    }
    // another query may have read it meanwhile
    try if (FooterCache.get(file.key).isEmpty) put(new FooterEntry(Some(read)))
    catch {
      // the next query reads it
      case SharedMemory.NoFreeMemory => ()
      case SharedMemory.TooLarge     => warn(file, SharedMemory.TooLarge); put(new FooterEntry(None, isTooLarge = true))
      case Survivable(e)             =>
        warn(file, e)
        put(new FooterEntry(None, until = FooterReading.retry(e)))
    }
  }

  private def missing(requests: Seq[FooterRequest], file: CachedFile): Option[(FooterEntry, Seq[ColumnFooter])] = {
    PlanningTime.check()
    for {
      entry  <- file.entry
      footer <- entry.footer
      named   = mutable.LinkedHashMap(requests.flatMap(_.columns(footer)).map(c => c.name -> c): _*)
      columns = named.values.filterNot(c => entry.distinct.containsKey(c.name)).toVector if columns.nonEmpty
    } yield (entry, columns)
  }

  private def distinct(
      request: FooterRequest,
      file: CachedFile,
      entry: FooterEntry,
      columns: Seq[ColumnFooter],
      deadline: Long
  ): Unit =
    try {
      request.format.distinct(file.status, request.conf, columns, () => System.nanoTime() - deadline < 0L).foreach {
        case (name, d) => entry.distinct.put(name, d)
      }
      FooterCache.put(file.key, entry.without(columns.map(_.name).filter(entry.distinct.containsKey(_)).toSet))
    } catch {
      case Survivable(e) =>
        warn(file, e)
        if (FooterReading.retry(e).isEmpty) columns.foreach(c => entry.distinct.put(c.name, None))
    }

  private def warn(file: CachedFile, e: Throwable): Unit = {
    val path = file.status.getPath
    FailOpen.warnOnce(
      s"footer ${Aside.table(path)} ${e.getClass.getName}",
      s"The footer of $path cannot be read. The sizes of other files are used instead: $e"
    )
  }

  /**
   * Runs the tasks until they are done or time is up. Each task gets the time at which it should stop.
   *
   * @param urgent  whether the query also waits beyond its budget for readers that serve their first query
   * @param patient whether it waits beyond its budget at all
   * @return number of tasks that were not done
   */
  def run(all: Seq[FooterReading.Task], urgent: Boolean = true, patient: Boolean = true): Int = {
    val hung             = all.map(_.place).distinct.filter(Aside.hangs)
    val (hanging, tasks) = all.partition(t => hung.contains(t.place))
    hung.foreach(Aside.cutOff)
    val readers = tasks.map(_.reader).filter(reader => patient && (urgent || met.containsKey(reader)))
    val most    = math.max(0L, budget - spent) + readers.map(allowance).foldLeft(0L)(math.max)
    val time    = math.min(most, PlanningTime.toRead / FooterReading.PartOfReading)
    hanging.size + (if (tasks.isEmpty || time <= 0L) tasks.size else undone(time, tasks))
  }

  /** Runs the tasks and returns how many were not done. Only reads need other threads. */
  private def undone(time: Long, tasks: Seq[FooterReading.Task]): Int = {
    val (reads, others) = tasks.partition(_.reads)
    others.foreach(_.body(System.nanoTime() + time))
    if (reads.isEmpty) 0 else within(time, reads.toVector)
  }

  private def budget: Long = FooterReading.budget(maxMillis, bytes)

  /** What is left of the extra time for slow readers, beyond the budgets of their queries. */
  private def allowance(reader: String): Long =
    FooterReading.budget(
      maxMillis,
      0L
    ) * FooterReading.SlowStart - Option(FooterReading.beyond.get(reader)).fold(0L)(_.longValue)

  /** Charges time beyond the budget of the query to the allowances of the readers. */
  private def spend(nanos: Long, tasks: Seq[FooterReading.Task]): Unit = {
    def over   = math.max(0L, spent - budget)
    val before = over
    spent += nanos
    tasks.map(_.reader).distinct.foreach(FooterReading.beyond.merge(_, over - before, (a, b) => a + b))
  }

  private def within(time: Long, tasks: Vector[FooterReading.Task]): Int = {
    val start    = System.nanoTime()
    val deadline = start + time
    val next     = new AtomicInteger
    val ended    = new AtomicInteger
    val workers  = math.min(FooterReading.Threads, tasks.size)
    val done     = new CountDownLatch(workers)
    val at       = new AtomicReferenceArray[String](workers)
    val threads  = (0 until workers).map { i =>
      Aside.start(
        s"dovetail-footers-${i + 1}",
        () =>
          try {
            var task = next.getAndIncrement()
            while (task < tasks.size && System.nanoTime() - deadline < 0L) {
              at.set(i, tasks(task).place)
              tasks(task).body(deadline)
              ended.incrementAndGet()
              task = next.getAndIncrement()
            }
          } finally {
            at.set(i, null)
            done.countDown()
          }
      )
    }
    def leave() = threads.indices.foreach(i => Option(at.get(i)).foreach(Aside.leave(_, threads(i))))
    try if (!done.await(time, TimeUnit.NANOSECONDS)) leave()
    catch { case e: InterruptedException => leave(); throw e }
    finally spend(System.nanoTime() - start, tasks)
    tasks.size - ended.get
  }
}

object FooterReading {

  /**
   * A read at a place, with a deadline on the clock of `System.nanoTime`.
   *
   * @param by    class that reads
   * @param reads false if the result is known without a look at the place
   */
  final class Task(val place: String, by: Class[_], val body: Long => Unit, val reads: Boolean = true) {

    /** What the JVM has to load for this task: the class that reads, and the client of the file system. */
    val reader: String = s"${by.getName} ${place.takeWhile(_ != ':')}"
  }

  /**
   * Nanoseconds that a query waits which reads files of so many bytes. A plan without footers costs a large query far
   * more than waiting for them does: on a busy driver, 100 ms are too short for a dozen files.
   */
  private[dovetail] def budget(maxMillis: Long, bytes: Long): Long =
    math.min(TimeUnit.MILLISECONDS.toNanos(maxMillis), LongestNanos) * math.max(
      1L,
      math.min(bytes / BytesPerBudget, MostBudgets)
    )

  /**
   * Bytes of files for which a query waits for `spark.dovetail.footers.maxMs` once more. Scanning them takes at least
   * ten times the default of 100 ms on one core.
   */
  private val BytesPerBudget = 256L * 1024 * 1024

  /** Most waits of one query: with the default settings, the time for reading ends here, too ([[PartOfReading]]). */
  private val MostBudgets = 5L

  /**
   * Number of parallel reads. They are enough to hide the 50 ms per request of an object store. On a local disk,
   * parsing takes most of the time and all cores.
   */
  private val Threads = 8

  /**
   * The footers take at most half of the time that is left for reading, so that a hanging file system leaves the other
   * half to rows and predicates.
   */
  private val PartOfReading = 2L

  /**
   * Extra time for the reads of one reader in the life of a JVM, beyond the budgets of their queries, in budgets of one
   * query. Loading the classes of a reader takes half a second, loading those of an object store's client takes more,
   * and until the reader's code is compiled it runs at a tenth of its speed. The first query has most to wait for, so
   * it uses the extra time only for urgent reads.
   */
  private val SlowStart = 20L

  /** Extra time that each reader has taken, in nanoseconds. A reader that has not served a query is not in the map. */
  private val beyond = new ConcurrentHashMap[String, java.lang.Long]

  /** Longest budget in nanoseconds, about a century: its sums and its multiples do not overflow. */
  private val LongestNanos = Long.MaxValue / 64

  /** When to read a footer again; None if its contents are the fault, for which ORC has an IOException of its own. */
  private def retry(e: Throwable): Option[Long] = e match {
    case _: FileFormatException => None
    case _                      => Retry.after(e)
  }

  /** Resets the extra time after a warm-up, whose reads served no query of a user. */
  def startAgain(): Unit = beyond.clear()
}
