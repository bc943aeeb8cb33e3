package org.apache.spark.sql.dovetail.log

import java.time.Instant
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}
import java.util.{Collections, WeakHashMap}

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Command,
  GlobalLimit,
  Join,
  LocalLimit,
  LogicalPlan,
  Project,
  Sort
}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.dovetail.base.{
  BoundedCache,
  DetachedThreads,
  DovetailConf,
  FailOpen,
  HeapLimit,
  LazyValue,
  QueryText,
  RecursiveStep
}
import org.apache.spark.sql.dovetail.report.{ActualRows, ExecutedPlan, GroupAtRun, Trace}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.internal.SQLConf

/**
 * The log of a session's last queries that Dovetail optimized: its decisions, and the results after the queries have
 * run (`dovetail_queries()`).
 *
 * The rule adds an entry, and a background thread fills it, so planning does not wait for it. [[RunListener]] adds the
 * rows of the query's joins. The rule tags the joins with the number of the entry, and Spark keeps the tags in the
 * executed plan. Columns cannot identify the entry, because queries of one table share them.
 */
final class QueryLog {
  import QueryLog._

  private val number  = logsMade.incrementAndGet()
  private var entries = Vector.empty[LoggedQuery]
  private var last    = 0L

  @volatile private var observers = Vector.empty[LoggedRun => Unit]

  /**
   * Registers an observer. It is called after the first run of a plan, if its rows could be counted or if it failed.
   */
  def observe(observer: LoggedRun => Unit): Unit = synchronized { observers = observers :+ observer }

  /** All entries, the oldest first. */
  def all: Vector[LoggedQuery] = synchronized(entries)

  /** The entries of a physical plan: of the query and of its subqueries. */
  def entriesOf(plan: SparkPlan): Vector[LoggedQuery] = {
    val found = places(plan); all.filter(e => found(Place(number, e.id)))
  }

  private def add(details: LazyValue[LoggedQuery.Details], millis: Double, most: Int): Place = {
    val id = synchronized {
      last += 1
      entries = (entries :+ LoggedQuery(last, Instant.now(), details, millis, 0, None)).takeRight(most)
      last
    }
    fill(details)
    Place(number, id)
  }

  /** Makes the text and the reports of an entry, in the log's thread. */
  private def fill(details: LazyValue[LoggedQuery.Details]): Unit = {
    waiting.incrementAndGet()
    try
      thread.execute { () =>
        // a query that starts waits for the details alone (PlanSection)
        try { details.value.groups.foreach(_.identity.value); bound() }
        finally { waiting.decrementAndGet(); () }
      }
    catch {
      // a driver without memory for a thread may have it for the next query
      case e: Throwable => waiting.decrementAndGet(); throw e
    }
  }

  /** Removes the oldest entries until the rest fits into the memory limit. The newest entry always stays. */
  private def bound(): Unit = {
    val number = logs.size
    val most   = MostBytes / math.max(1, number)
    // the logs of other sessions may have been allowed more when there were fewer of them
    if (sharedBy.getAndSet(number) < number)
      logs.synchronized(logs.values.toArray(Array.empty[QueryLog])).foreach(_.keep(most))
    keep(most)
  }

  private def keep(most: Long): Unit = synchronized {
    var bytes = 0L
    val kept  = entries.reverseIterator.takeWhile { e => bytes += e.bytes; bytes <= most }.size
    if (kept < entries.size) entries = entries.takeRight(math.max(1, kept))
  }

  /**
   * Adds the results of a plan that has run. Rows are counted only in the first run of the plan: another run does not
   * run its exchanges again.
   */
  def ran(execution: QueryExecution, action: String, nanos: Long): Unit = {
    val plan  = execution.executedPlan
    val found = entriesOf(plan)
    if (found.nonEmpty) {
      val first   = startsFirst(plan)
      val command = execution.logical.isInstanceOf[Command]
      val stops   = stopsEarly(execution.optimizedPlan)
      val results = found.map { e =>
        val counted =
          if (first && (command || Finished(action))) ActualRows.ofFirstRun(plan, e.groups) else None
        e.ran(counted.getOrElse(e.groups), nanos) -> counted.isDefined
      }
      val byId = results.map { case (e, _) => e.id -> e }.toMap
      synchronized { entries = entries.map(e => byId.getOrElse(e.id, e)) }
      bound()
      val name = named(execution.analyzed, action)
      tell(results.collect { case (e, true) => new LoggedRun(e, name, RunEnd.Finished, stops) })
    }
  }

  /** Notes that a plan has failed or was cancelled. */
  def failed(execution: QueryExecution, e: Throwable): Unit =
    ExecutedPlan.ofFailed(execution).foreach { plan =>
      val found = entriesOf(plan)
      if (found.nonEmpty && startsFirst(plan)) {
        val atRun = GroupAtRun.report(plan)
        // if Dovetail chose the method of a join, that is to blame first, and the next run does without it
        val short = Shortage(e).exists(s =>
          Shortage.dependsOnOrder(s) && (!Shortage.isOfJoinMethod(s) || ChosenJoin.in(plan).isEmpty)
        )
        val end = if (short) RunEnd.OutOfResources else RunEnd.Failed
        tell(found.map(q => new LoggedRun(q.reported(q.groups.map(atRun)), LoggedRun.Name.none, end, stops = true)))
      }
    }

  private def tell(runs: Vector[LoggedRun]): Unit = for (observer <- observers; run <- runs) observer(run)
}

object QueryLog {

  /**
   * Number of a log, and number of an entry in it. The number of the log is needed because a plan may run in another
   * session than the one that has planned it, whose log has its own entry numbers.
   */
  final private case class Place(log: Long, id: Long)

  /** Most queries of which it is known that they have run: about a hundred bytes each. */
  private val MostComputed = 10000L

  private val logsMade = new AtomicLong

  private val Entry = TreeNodeTag[Place]("dovetail.entry")

  /** Marks a physical plan that was reported as run. */
  private val HasRun = TreeNodeTag[Unit]("dovetail.has run")

  private def named(plan: LogicalPlan, action: String): LazyValue[LoggedRun.Name] = new LazyValue(() => {
    val computes = Computation(plan, action)
    LoggedRun.Name(computes, computes.exists(runBefore))
  })

  /** What has run in this application. */
  private val computed = new BoundedCache[String, Unit]("queries that have run", MostComputed)(_ => 1L)

  private def runBefore(computes: String): Boolean = {
    val before = computed.get(computes).isDefined
    computed.put(computes, ())
    before
  }

  /** Whether the plan has a LIMIT that does not need all rows of its input. */
  private def stopsEarly(plan: LogicalPlan): Boolean = plan.exists {
    case l @ (_: GlobalLimit | _: LocalLimit) => !needsAll(l.children.head)
    case _                                    => false
  }

  private def needsAll(plan: LogicalPlan): Boolean = plan match {
    case _: Sort | _: Aggregate                      => true
    case _: Project | _: GlobalLimit | _: LocalLimit => needsAll(plan.children.head)
    case _                                           => false
  }

  /** Whether this is the first report of a run of the plan. Spark reports the runs of a plan in their order. */
  private def startsFirst(plan: SparkPlan): Boolean = {
    val first = plan.getTagValue(HasRun).isEmpty
    plan.setTagValue(HasRun, ())
    first
  }

  /**
   * Names of the actions that have run all their jobs when Spark reports them. Others, such as `toLocalIterator`,
   * report success before the last stage has run, or leave it to a user's function how many rows it reads. Commands
   * have other names, and always run to their end.
   */
  private val Finished = Set(
    "cli",
    "collect",
    "collectAsList",
    "collectToPython",
    "collectAsArrowToPython",
    "collectAsArrowToR",
    "collectArrow",
    "count",
    "head",
    "isEmpty",
    "tail",
    "tailToPython"
  )

  /**
   * The entries that a plan and its subqueries are tagged with. Adaptive execution can remove joins at run time, so
   * this reads the initial plan, which has all of them.
   */
  private def places(plan: SparkPlan): Set[Place] = plan match {
    case a: AdaptiveSparkPlanExec => places(a.initialPlan)
    case other                    =>
      other.logicalLink.flatMap(_.getTagValue(Entry)).toSet ++ (other.children ++ other.subqueries).flatMap(places)
  }

  /** Bytes of the largest heap of this JVM per entry that may wait: an entry takes up to some megabytes. */
  private val PerWaiting = 16L * 1024 * 1024

  /**
   * Most entries that wait to be filled. Each keeps its plan and its join graph in memory, and they would pile up if a
   * file system did not answer. Further queries are not logged.
   */
  private val MostWaiting = HeapLimit(200L, part = PerWaiting)

  private val waiting = new AtomicInteger

  /** Whether entries wait to be filled, other than the one that is being filled. */
  def othersWait: Boolean = waiting.get > 1

  /** Most bytes of the entries of all logs together: a hundred queries of 300 joins. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 20L)

  /** Number of logs that shared these bytes when a log was last bounded. */
  private val sharedBy = new AtomicInteger

  /** Most characters of a query's text that are kept. */
  private val TextKept = 2000

  /** Seconds without a query after which the log's thread ends. */
  private val IdleSeconds = 10L

  private lazy val thread = {
    val queue = new LinkedBlockingQueue[Runnable]
    val pool  = new ThreadPoolExecutor(1, 1, IdleSeconds, TimeUnit.SECONDS, queue, new DetachedThreads("dovetail-log"))
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  // weak keys, so that a log is garbage collected with its session
  private val logs = Collections.synchronizedMap(new WeakHashMap[SparkSession, QueryLog])

  /** Waits until Spark has reported all runs that have ended: it does so in another thread, after the query. */
  def settle(session: SparkSession): Unit = {
    Try(session.sparkContext.listenerBus.waitUntilEmpty(WaitMillis))
    ()
  }

  /** Milliseconds to wait. Spark's listener bus is never farther behind, unless a listener hangs. */
  val WaitMillis = 2000L

  /** The session's log. The first call creates it, and the first one in a context registers a listener with Spark. */
  def apply(session: SparkSession): QueryLog = {
    // before the logs are locked: Spark's bus may be stopping, and waits until the listener is done with them
    RunListener.watch(session.sparkContext)
    logs.synchronized(of(session).getOrElse {
      val log = new QueryLog
      logs.put(session, log)
      log
    })
  }

  /** The session's log, if it has one. */
  private[log] def of(session: SparkSession): Option[QueryLog] = Option(logs.get(session))

  /**
   * Runs the rule on `plan`, and logs what it did. It does not log if a trace is already being collected, because
   * explain and profile report the trace themselves, nor a step of a recursion, of which a query may have hundreds.
   */
  def keeping(session: SparkSession, plan: LogicalPlan)(rule: => LogicalPlan): LogicalPlan = {
    val most =
      FailOpen("reading a setting", (_: String) => 0)(DovetailConf.LogQueries.get(session.sessionState.conf).toInt)
    if (most == 0 || Trace.isOn || waiting.get > MostWaiting) rule
    else {
      val (result, trace) = Trace.collecting(detailed = false)(rule)
      if (!trace.isEmpty && !RecursiveStep.isPlanned)
        FailOpen("logging a query", (_: String) => ()) {
          // a plan can be too deep for recursion; its entry has no text then
          def query = FailOpen("logging the text of a query", (_: String) => Option.empty[String])(text(plan))
          // the log's thread writes constants and names according to the session's settings
          val conf    = session.sessionState.conf
          val details = new LazyValue(() => SQLConf.withExistingConf(conf)(LoggedQuery.Details(query, trace.groups)))
          val place   = QueryLog(session).add(details, trace.millis.toMap.getOrElse("total", 0.0), most)
          // The tags may be set in place, because the optimizer works on its own copy of the plan. Plans inside
          // subquery expressions are not copied: a later query that shares such a plan takes over its tag.
          result.foreach { case j: Join => j.setTagValue(Entry, place); case _ => }
        }
      result
    }
  }

  private def text(plan: LogicalPlan): Option[String] =
    plan.collectFirst(Function.unlift((p: LogicalPlan) =>
      p.origin.sqlText.map(QueryText.written(_)).filter(_.nonEmpty)
    ))
      .map(_.take(TextKept))
}
