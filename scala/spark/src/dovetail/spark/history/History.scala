package org.apache.spark.sql.dovetail.history

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, ScheduledExecutorService, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.store.{JsonList, StatisticsStore, StoreFiles}
import org.apache.spark.util.{ShutdownHookManager, ThreadUtils}

/**
 * What queries did: rows of their sub-plans, errors of their estimates, orders that have run. Shared by all
 * applications that use one statistics store, in its file `history.json`; of this application alone where the file
 * cannot be written.
 *
 * Planning looks into memory: [[now]] is an index that a thread of the history's own makes anew when a query has run or
 * another application has written the file. Only the first query of an application waits for the file to be read. What
 * runs tell is written some seconds later, together with what other runs tell meanwhile, and when the JVM ends; a JVM
 * that is killed loses these seconds.
 */
final class History(files: StoreFiles) {
  import History._

  private val list =
    new JsonList[HistoryEntry](files, "history.json", "Records of past queries", _.key)(
      HistoryFile.toJson,
      HistoryFile.fromJson
    )

  // these belong to the history's thread, and to whoever reads the file first
  private var told    = Map.empty[String, HistoryEntry]
  private var unsaved = Map.empty[String, HistoryEntry]
  private var writing = false

  @volatile private var index    = Option.empty[HistoryIndex]
  private val looking            = new AtomicBoolean
  @volatile private var lookedAt = 0L

  val file: String = list.file

  /** What is known. */
  def now: HistoryIndex = {
    if (index.isEmpty) Aside(files.place)(_ => load())
    else if (System.nanoTime() - lookedAt > LookEvery && !looking.getAndSet(true)) {
      lookedAt = System.nanoTime()
      later(0L) { looking.set(false); synchronized(load()) }
    }
    index.getOrElse(HistoryIndex.empty)
  }

  /** Tells of a run: `change` makes entries of those of the same keys, where there are any. To be called by [[later]]. */
  def add(keys: Seq[String])(change: (String, Option[HistoryEntry]) => HistoryEntry): Unit = synchronized {
    if (index.isEmpty) load()
    val entries = keys.map(k => k -> change(k, told.get(k)))
    told ++= entries
    unsaved ++= entries
    index = Some(HistoryIndex(bounded(told.values)))
    if (!writing) { writing = true; later(WriteAfterSeconds) { save() } }
  }

  /** Removes entries, and tells how many. */
  def forget(which: HistoryEntry => Boolean): Int = synchronized {
    load()
    val gone = told.values.filter(which).map(_.key).toSet
    told --= gone
    unsaved --= gone
    list.change(_.filterNot(e => gone(e.key)))
    index = Some(HistoryIndex(told.values))
    gone.size
  }

  /** Takes entries of another history. */
  def take(entries: Vector[HistoryEntry]): Unit = {
    val theirs = byKey(entries)
    add(entries.map(_.key))((key, mine) => mine.fold(theirs(key))(_.merged(theirs(key))))
  }

  /** Writes what is not written yet. */
  def save(): Unit = synchronized {
    writing = false
    if (unsaved.nonEmpty) {
      val mine = unsaved
      list.change(theirs => bounded(merged(byKey(theirs), mine).values).toVector).foreach(why =>
        FailOpen.warnOnce(s"history $file", s"History of queries is kept only in this application: $why")
      )
      unsaved = Map.empty
      told = byKey(list.all)
      index = Some(HistoryIndex(told.values))
    }
  }

  private def load(): Unit = synchronized {
    told = merged(byKey(list.all), unsaved)
    index = Some(HistoryIndex(told.values))
    lookedAt = System.nanoTime()
  }
}

object History {

  /** Bytes of the file: some thousand groups, which take ten times as much in memory. */
  private val MostBytes = 1L << 20

  /** Seconds in which the file is written once. */
  private val WriteAfterSeconds = 5L

  /** Nanoseconds after which a look is taken at what other applications have written. */
  private val LookEvery = 2000000000L

  /** A further run makes an entry as useful as one of so many seconds later: a day. */
  private val PerRun = 86400L

  /** Further runs that count. */
  private val MostRuns = 30

  /** Runs of queries that wait to be told. */
  private val MostWaiting = 200

  /** Milliseconds that the end of a JVM may wait for the file to be written. */
  private val EndMillis = 2000L

  private val waiting                               = new AtomicInteger
  private val stores                                = new ConcurrentHashMap[StatisticsStore, History]()
  private lazy val thread: ScheduledExecutorService =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("dovetail-history")

  def apply(session: SparkSession): History = stores.computeIfAbsent(
    StatisticsStore(session),
    s => {
      val history = new History(s.files)
      ShutdownHookManager.addShutdownHook(ShutdownHookManager.SPARK_CONTEXT_SHUTDOWN_PRIORITY - 1)(() =>
        // aside: a store that does not answer must not keep the JVM
        Aside.start(
          "dovetail-history-end",
          () => FailOpen("writing the history of queries", (_: String) => ())(history.save())
        ).join(EndMillis)
      )
      history
    }
  )

  /**
   * Runs in the history's thread, so that no query waits for it. Where that thread waits for a store, not more than
   * [[MostWaiting]] pieces of work pile up; what comes then is left out.
   */
  def later(seconds: Long)(body: => Unit): Unit =
    if (waiting.incrementAndGet() > MostWaiting) { waiting.decrementAndGet(); () }
    else {
      val work: Runnable = () => {
        waiting.decrementAndGet()
        FailOpen("keeping the history of queries", (_: String) => ())(body)
      }
      thread.schedule(work, seconds, TimeUnit.SECONDS)
      ()
    }

  /** Waits until all that was told so far is in the histories. */
  def settle(millis: Long): Unit = {
    val done = new CountDownLatch(1)
    later(0L)(done.countDown())
    done.await(millis, TimeUnit.MILLISECONDS)
    ()
  }

  private def byKey(entries: Iterable[HistoryEntry]): Map[String, HistoryEntry] = entries.map(e => e.key -> e).toMap

  /** Entries of both; what both know is told by both. */
  private def merged(
      theirs: Map[String, HistoryEntry],
      mine: Map[String, HistoryEntry]
  ): Map[String, HistoryEntry] = theirs ++ mine.map { case (key, e) => key -> theirs.get(key).fold(e)(_.merged(e)) }

  /** As many entries as the file may hold, the most useful: those of late, and those of many runs. */
  private def bounded(all: Iterable[HistoryEntry]): Iterable[HistoryEntry] = {
    var left = MostBytes
    if (all.iterator.map(_.size).sum <= left) all
    else all.toVector.sortBy(e => (-(e.at + PerRun * math.min(e.runs - 1, MostRuns)), e.key)).takeWhile { e =>
      left -= e.size; left >= 0L
    }
  }
}

/** Entries by what they are asked for. */
final class HistoryIndex private (all: Map[String, HistoryEntry], bySet: Map[String, Vector[(GroupRuns, Set[Int])]]) {
  def isEmpty: Boolean                         = all.isEmpty
  def entries: Vector[HistoryEntry]            = all.values.toVector.sortBy(e => (-e.at, e.key))
  def runs(form: String): Option[GroupRuns]    = all.get(form).collect { case g: GroupRuns => g }
  def errors(key: String): Option[GroupErrors] = all.get(key).collect { case g: GroupErrors => g }

  /** Sets whose first relation, by its key, is this one. */
  def sets(relation: String): Vector[(GroupRuns, Set[Int])] = bySet.getOrElse(relation, Vector.empty)
}

object HistoryIndex {
  val empty: HistoryIndex = apply(Nil)

  def apply(entries: Iterable[HistoryEntry]): HistoryIndex = {
    val groups = entries.toVector.collect { case g: GroupRuns => g }.sortBy(g => (-g.at, g.key))
    val sets   = for (g <- groups; (set, _) <- HistoryEntry.sorted(g.sets))
      yield set.map(g.relations(_).key).min -> ((g, set.toSet))
    new HistoryIndex(entries.map(e => e.key -> e).toMap, sets.groupBy(_._1).map { case (k, v) => k -> v.map(_._2) })
  }
}
