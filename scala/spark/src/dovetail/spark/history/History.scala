package org.apache.spark.sql.dovetail.history

import java.util.concurrent.{CountDownLatch, ScheduledExecutorService, ScheduledThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{DetachedThreads, FailOpen}
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.store.{JsonList, StoreFiles, StoreSlot, StoreState}

/**
 * The history of queries: rows of their sub-plans, errors of their estimates, join orders that have run. All
 * applications with the same statistics store share it, in the store's file `history.json`. If the file cannot be
 * written, the history exists only in this application.
 *
 * Planning reads only memory: [[now]] is an index that a background thread rebuilds when a query has run or another
 * application has written the file. Only the first query of an application waits for the file to be read. The results
 * of runs are written to the file in batches some seconds later, and when the JVM ends. A JVM that is killed loses the
 * results of these seconds.
 */
final class History(files: StoreFiles) extends StoreState {
  import History._

  private val list =
    new JsonList[HistoryEntry](files, "history.json", "Records of past queries", _.key)(
      HistoryFile.toJson,
      HistoryFile.fromJson
    )

  // used by the history's thread, and by the thread that reads the file first
  private var told              = Map.empty[String, HistoryEntry]
  @volatile private var unsaved = Map.empty[String, HistoryEntry]
  private var writing           = false

  /** What killed writers have left is removed once, by the first write of this application. */
  private lazy val cleaned: Unit = files.removeAbandoned()

  // when the index was made last, how long that took in nanoseconds, and whether it will be made again
  private var indexedAt       = 0L
  private var indexing        = 0L
  @volatile private var waits = false

  @volatile private var index    = Option.empty[HistoryIndex]
  private val looking            = new AtomicBoolean
  @volatile private var lookedAt = 0L

  val file: String = list.file

  /** Reason why the file is not used, or None if it is used. */
  def problem: Option[String] = list.problem

  /** An index of all entries. */
  def now: HistoryIndex = {
    if (index.isEmpty) Aside(files.place)(_ => load())
    else if (System.nanoTime() - lookedAt > LookEvery && !looking.getAndSet(true)) {
      lookedAt = System.nanoTime()
      if (!later(0L) { looking.set(false); synchronized(load()) }) looking.set(false)
    }
    index.getOrElse(HistoryIndex.empty)
  }

  /**
   * Records a run. Callers must run it by [[later]].
   *
   * @param keys   keys of the entries to add or replace
   * @param change makes the new entry from a key and the entries of this moment by their keys
   */
  def add(keys: Seq[String])(change: (String, String => Option[HistoryEntry]) => HistoryEntry): Unit = synchronized {
    if (index.isEmpty) load()
    val entries = keys.map(k => k -> change(k, told.get(_)))
    told ++= entries
    unsaved ++= entries
    if (indexing == 0L || System.nanoTime() - indexedAt >= indexing * Pause) reindex()
    else if (!waits) waits = later(IndexAfterSeconds)(catchUp())
    if (!writing) writing = later(WriteAfterSeconds)(save())
  }

  /** Makes the index now if it waits. */
  private def catchUp(): Unit = if (waits) synchronized(if (waits) reindex())

  /** Makes the index of all entries anew: a full history has ten thousand sets, and a server many runs per second. */
  private def reindex(): Unit = {
    val began = System.nanoTime()
    waits = false
    index = Some(HistoryIndex(bounded(told.values)))
    indexedAt = System.nanoTime()
    indexing = indexedAt - began
  }

  /**
   * Removes entries.
   *
   * @return how many, and the reason why the next application still has them, or None if the file does not have them
   */
  def forget(which: HistoryEntry => Boolean): (Int, Option[String]) = synchronized {
    load()
    val gone = told.values.filter(which).map(_.key).toSet
    told --= gone
    unsaved --= gone
    val why = list.remove(e => gone(e.key))
    index = Some(HistoryIndex(told.values))
    (gone.size, why)
  }

  /**
   * Adds the entries of another history, and writes them.
   *
   * @return reason why they exist only in this application, or None if they were saved
   */
  def take(entries: Vector[HistoryEntry]): Option[String] = synchronized {
    val theirs = byKey(entries)
    add(entries.map(_.key))((key, mine) => mine(key).fold(theirs(key))(_.merged(theirs(key))))
    write()
  }

  override def isSaved: Boolean = unsaved.isEmpty && list.isSaved

  /** Writes all entries that are not written yet. */
  override def save(): Unit = write().foreach(why =>
    FailOpen.warnOnce(s"history $file", s"History of queries is kept only in this application: $why")
  )

  /** The same, and returns the reason why they exist only in this application, or None if they were saved. */
  private def write(): Option[String] = synchronized {
    writing = false
    if (unsaved.isEmpty) None
    else {
      val mine = unsaved
      cleaned
      val why = list.change(theirs => bounded(merged(byKey(theirs), mine).values).toVector)
      unsaved = Map.empty
      told = byKey(list.all)
      index = Some(HistoryIndex(told.values))
      why
    }
  }

  private def load(): Unit = synchronized {
    told = merged(byKey(list.all), unsaved)
    index = Some(HistoryIndex(told.values))
    lookedAt = System.nanoTime()
  }
}

object History {

  /** Most bytes of the file: a few thousand groups, which take ten times as much in memory. */
  private val MostBytes = 1L << 20

  /** Seconds between the first unsaved run and the write of the file, so that it is written once for several runs. */
  private val WriteAfterSeconds = 5L

  /** The index is made again when this many times as long has passed as it took: a twentieth of one core's time. */
  private val Pause = 20L

  /** Seconds after which the index has the runs that came before it was made again. */
  private val IndexAfterSeconds = 1L

  /** Nanoseconds between checks of what other applications have written to the file. */
  private val LookEvery = 2000000000L

  /**
   * When entries are ranked by usefulness, each further run counts as if the last run were this many seconds (a day)
   * later.
   */
  private val PerRun = 86400L

  /** Most further runs that count in this ranking. */
  private val MostRuns = 30

  /** Most pieces of work that wait for the history's thread. */
  private val MostWaiting = 200

  private val waiting                               = new AtomicInteger
  private val ofStores                              = new StoreSlot(new History(_))
  private lazy val thread: ScheduledExecutorService =
    new ScheduledThreadPoolExecutor(1, new DetachedThreads("dovetail-history"))

  def apply(session: SparkSession): History = ofStores(session)

  /**
   * Runs `body` in the history's thread, so that no query waits for it. If that thread is blocked by a store, at most
   * [[MostWaiting]] pieces of work pile up, and further ones are dropped.
   *
   * @return whether `body` will run
   */
  def later(seconds: Long)(body: => Unit): Boolean =
    if (waiting.incrementAndGet() > MostWaiting) { waiting.decrementAndGet(); false }
    else {
      val work: Runnable = () => {
        waiting.decrementAndGet()
        FailOpen("keeping the history of queries", (_: String) => ())(body)
      }
      thread.schedule(work, seconds, TimeUnit.SECONDS)
      true
    }

  /** Waits until the indexes of all histories contain all runs that were reported so far, at most this long. */
  def settle(millis: Long): Unit = {
    val done   = new CountDownLatch(1)
    def work() =
      try ofStores.all.foreach(_.catchUp())
      finally done.countDown()
    if (later(0L)(work())) done.await(millis, TimeUnit.MILLISECONDS)
    ()
  }

  private def byKey(entries: Iterable[HistoryEntry]): Map[String, HistoryEntry] = entries.map(e => e.key -> e).toMap

  /** The entries of both maps. Entries with the same key are merged. */
  private def merged(
      theirs: Map[String, HistoryEntry],
      mine: Map[String, HistoryEntry]
  ): Map[String, HistoryEntry] = theirs ++ mine.map { case (key, e) => key -> theirs.get(key).fold(e)(_.merged(e)) }

  /**
   * The most useful entries, as many as fit into the file. Useful entries are recent or have many runs. A half of the
   * file is for the latest ones, whatever their runs: entries of past dates had as many runs as the dashboards that
   * showed them, and would push out a query that runs once in a night.
   */
  private def bounded(all: Iterable[HistoryEntry]): Iterable[HistoryEntry] =
    if (all.iterator.map(_.size).sum <= MostBytes) all
    else {
      val latest = first(all.toVector.sortBy(e => (-e.at, -e.runs, e.key)), MostBytes / 2)
      val kept   = latest.map(_.key).toSet
      val others = all.toVector.filterNot(e => kept(e.key))
      latest ++ first(
        others.sortBy(e => (-(e.at + PerRun * math.min(e.runs - 1, MostRuns)), e.key)),
        MostBytes - latest.map(_.size).sum
      )
    }

  /** The first entries of a list, as many as fit into so many bytes. */
  private def first(of: Vector[HistoryEntry], bytes: Long): Vector[HistoryEntry] = {
    var left = bytes
    of.filter { e =>
      val fits = e.size <= left
      if (fits) left -= e.size
      fits
    }
  }
}

/** Index of the history's entries, by key and by the relations of their sets. */
final class HistoryIndex private (all: Map[String, HistoryEntry], bySet: Map[String, Vector[(GroupRuns, Set[Int])]]) {
  def isEmpty: Boolean                         = all.isEmpty
  def entries: Vector[HistoryEntry]            = all.values.toVector.sortBy(e => (-e.at, e.key))
  def runs(form: String): Option[GroupRuns]    = all.get(form).collect { case g: GroupRuns => g }
  def errors(key: String): Option[GroupErrors] = all.get(key).collect { case g: GroupErrors => g }

  /** Sets of relations in which this key is the smallest key of a relation. */
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
