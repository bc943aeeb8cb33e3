package org.apache.spark.sql.dovetail.base

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import dovetail.kernel.cost.CostText
import org.apache.spark.internal.config.{ConfigEntry, TypedConfigBuilder}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

/**
 * All settings, in one list: type, default, range, documentation, version. `docs/reference/configs.md` and the Python
 * class `Config` are generated from it.
 *
 * Entries are registered with Spark, so `SET spark.dovetail.…` checks a value when it is set. Spark checks the values
 * of configuration files as well, when it builds a session, and a wrong one would cost the user the session: there it
 * gives the default and one warning.
 */
object DovetailConf {

  final case class Setting[T](entry: ConfigEntry[T], kind: String, range: String) {
    def key: String = entry.key

    def get(conf: SQLConf): T =
      try conf.getConf(entry)
      catch {
        case NonFatal(e) =>
          warn(key, entry.defaultValueString, e)
          entry.defaultValue.get
      }
  }

  private def warn(key: String, default: String, e: Throwable): Unit =
    if (warned.add(key))
      log.warn(s"$key has a value that cannot be used, the default $default is taken. ${ErrorCondition.text(e)}")

  // before the settings, which are built with it
  private val Since  = "0.1.0"
  private val log    = LoggerFactory.getLogger("dovetail")
  private val warned = ConcurrentHashMap.newKeySet[String]()

  val Enabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.enabled",
      true,
      "Whether Dovetail reorders joins. When false, Spark plans as if Dovetail were not there."
    )

  val CostModel: Setting[String] = choice(
    "spark.dovetail.cost.model",
    "physical",
    Seq("physical", "cardWeight"),
    "What a join order is judged by. 'physical': the work of exchanges, sorts, hash tables, broadcasts and rows " +
      "produced. 'cardWeight': Spark's formula " +
      "weight * rows + (1 - weight) * bytes."
  )

  val CardWeight: Setting[Double] =
    double(
      "spark.dovetail.cost.cardWeight",
      0.7,
      0.0,
      1.0,
      "Weight of the rows against the bytes when spark.dovetail.cost.model is 'cardWeight'."
    )

  val CostConstants: Setting[String] = text(
    "spark.dovetail.cost.constants",
    "Constants of the cost model 'physical', as name=nanoseconds, separated by commas: exchangeByte=2.5, merge=40. " +
      "They take the place of those that " +
      s"DOVETAIL CALIBRATE has measured, or else of Dovetail's own. Names: ${CostText.names.mkString(", ")}.",
    t => CostText.read(t, dovetail.kernel.cost.CostConstants()).left.toOption
  )

  val HistogramEnabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.histogram.enabled",
      true,
      "Whether equi-height histograms are used for estimates where a table has them, and whether DOVETAIL ANALYZE " +
        "collects the quantiles that they are made of."
    )

  val FootersEnabled: Setting[Boolean] = boolean(
    "spark.dovetail.footers.enabled",
    true,
    "Whether rows, NULLs, ranges and hints of distinct counts come from the footers of Parquet and ORC files, for " +
      "tables of which nothing better is known."
  )

  val FootersMaxMs: Setting[Long] = long(
    "spark.dovetail.footers.maxMs",
    100L,
    0L,
    "Milliseconds that one query may wait for footers of files; the first of a JVM, which has to load classes, ten " +
      "times as long. What is read is kept for later queries, which go on where this one stopped; of a table that " +
      "has been read in part, rows are extrapolated. The default is a delay that is not felt, and enough for some " +
      "hundred files on a local disk; on an " +
      "object store, where a read takes about 50 ms, it is enough for one of each of a dozen tables. 0 uses only " +
      "what has been read already."
  )

  val PlanningMaxMs: Setting[Long] = long(
    "spark.dovetail.planning.maxMs",
    2000L,
    1L,
    "Milliseconds that Dovetail may add to the planning of one query, with all its subqueries: statistics looked up, " +
      "footers and rows read, predicates tried, " +
      "estimates, search. Then the best plan so far is taken, the rest is left as it is written, and explain says " +
      "what was cut. " +
      "spark.dovetail.footers.maxMs and spark.dovetail.reorder.maxPlanningMs are shares of it: they end where it " +
      "does. The first query of a JVM, which has " +
      "to load classes, has twice as long. The default is above all that was measured of TPC-DS and TPC-H (half of " +
      "their queries take 50 ms, 95 in a hundred 320, the slowest 1,600 on a loaded machine): it " +
      "ends what is out of the ordinary."
  )

  val MaxPlanningMs: Setting[Long] = long(
    "spark.dovetail.reorder.maxPlanningMs",
    500L,
    1L,
    "Milliseconds that the search for one group of joins may take, of those that spark.dovetail.planning.maxMs " +
      "leaves. Then the best plan found so far is taken."
  )

  val ExactPairs: Setting[Long] = long(
    "spark.dovetail.reorder.exactPairs",
    300000L,
    0L,
    "Pairs of sub-plans that the exact search may consider for one group of joins; beyond them a linearized and a " +
      "greedy one, improved piece by piece, take over. 0 is greedy only. " +
      "A star of 16 relations has 245760 pairs, a clique of 12 has 261625."
  )

  val MinGain: Setting[Double] = double(
    "spark.dovetail.reorder.minGain",
    0.1,
    0.0,
    1.0,
    "Share of the estimated cost of the written order that another order must save to be taken."
  )

  val Order: Setting[String] = text(
    "spark.dovetail.reorder.order",
    "An order for groups with just these relations, as explain writes it: ((a b) c). It is taken whatever it costs, " +
      "unless outer or semi joins forbid it. " +
      "In SQL a hint does the same for one query: /*+ DOVETAIL_ORDER('((a b) c)') */."
  )

  val SemiJoins: Setting[Boolean] = boolean(
    "spark.dovetail.reorder.semiJoins",
    true,
    "Whether a grouping that is joined with a small restricted table is computed for that table's keys alone, by a " +
      "semi join below it, where that saves " +
      "the share of its work that spark.dovetail.reorder.minGain asks for."
  )

  val BroadcastEnabled: Setting[Boolean] = boolean(
    "spark.dovetail.broadcast.enabled",
    true,
    "Whether Dovetail broadcasts small inputs that Spark cannot see to be small: estimated under Spark's own " +
      "threshold, and within the memory that driver and executors have for it however " +
      "wrong the estimate is. spark.sql.autoBroadcastJoinThreshold=-1 turns this off as well."
  )

  val AdaptiveHash: Setting[Boolean] = boolean(
    "spark.dovetail.adaptive.shuffledHash",
    true,
    "Whether a shuffled join hashes its smaller input instead of sorting both, once adaptive execution has counted " +
      "them and every task has the memory."
  )

  val ExcludeTables: Setting[String] = text(
    "spark.dovetail.reorder.excludeTables",
    "Tables, separated by commas, as t, db.t or a pattern with *: a group of joins that reads one of them is left as " +
      "it is written. In SQL the hint " +
      "/*+ DOVETAIL_OFF */ does so for one query."
  )

  val StorePath: Setting[String] = text(
    "spark.dovetail.store.path",
    "Directory of the statistics that DOVETAIL ANALYZE collects, on any file system that Hadoop knows. Empty: " +
      ".dovetail/statistics in spark.sql.warehouse.dir."
  )

  val StoreValues: Setting[Boolean] = boolean(
    "spark.dovetail.store.values",
    true,
    "Whether DOVETAIL ANALYZE keeps values of the data: bounds, quantiles, frequent values, a sample of rows. When " +
      "false, it keeps counts only."
  )

  val StoreWriteBack: Setting[Boolean] = boolean(
    "spark.dovetail.store.writeBack",
    true,
    "Whether DOVETAIL ANALYZE also writes what Spark has a place for to Spark's catalog, for tables of the session " +
      "catalog. Columns on which Spark's own " +
      "estimator fails (TIMESTAMP_NTZ) are left out."
  )

  val SampleEnabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.sample.enabled",
      true,
      "Whether DOVETAIL ANALYZE keeps a sample of rows, on which predicates are tried."
    )

  val SampleRows: Setting[Long] =
    long(
      "spark.dovetail.sample.rows",
      20000L,
      1L,
      "Rows that DOVETAIL ANALYZE samples of a table; fewer where rows are long.",
      1000000L
    )

  val SampleFiles: Setting[Boolean] = boolean(
    "spark.dovetail.sample.files",
    true,
    "Whether predicates on Parquet and ORC tables of which no sample was collected are tried on some thousand rows " +
      "that are read when the query is planned, " +
      "in the time that spark.dovetail.footers.maxMs leaves. The rows stay in the driver's memory for later queries."
  )

  val SampleUserFunctions: Setting[Boolean] = boolean(
    "spark.dovetail.sample.userFunctions",
    false,
    "Whether predicates with functions of the user's are tried on rows while a query is planned, in its time. When " +
      "false, no function is run that is not Spark's " +
      "own: it may be slow, or do more than to compute."
  )

  val PrivateColumns: Setting[String] = text(
    "spark.dovetail.privateColumns",
    "Columns, separated by commas, as SQL names them: column, table.column or database.table.column, with backticks " +
      "where SQL needs them; letter case does not " +
      "matter. DOVETAIL ANALYZE keeps counts of them but no values, no rows of them are read for estimates, and " +
      "their bounds are not shown. In a table that is read " +
      "by its path, every column is private that some entry names. A name that no table has is said by DOVETAIL " +
      "ANALYZE."
  )

  val LogQueries: Setting[Long] = long(
    "spark.dovetail.log.queries",
    100L,
    0L,
    "Queries that dovetail_queries() remembers, of this session, in the driver's memory; with their text, where they " +
      "came from SQL. 0 remembers none.",
    10000L
  )

  /** In the order of the documentation. */
  val all: Seq[Setting[_]] = Seq(
    Enabled,
    CostModel,
    CardWeight,
    CostConstants,
    HistogramEnabled,
    FootersEnabled,
    FootersMaxMs,
    PlanningMaxMs,
    MaxPlanningMs,
    ExactPairs,
    MinGain,
    SemiJoins,
    Order,
    BroadcastEnabled,
    AdaptiveHash,
    ExcludeTables,
    StorePath,
    StoreValues,
    StoreWriteBack,
    SampleEnabled,
    SampleRows,
    SampleFiles,
    SampleUserFunctions,
    PrivateColumns,
    LogQueries
  )

  /** Loads this object, which registers the settings with Spark. */
  def register(): Unit = all.foreach(_.key)

  private def boolean(key: String, default: Boolean, doc: String): Setting[Boolean] =
    Setting(entry(SQLConf.buildConf(key).doc(doc).version(Since).booleanConf, default), "boolean", "true | false")

  private def double(key: String, default: Double, low: Double, high: Double, doc: String): Setting[Double] = {
    val range = s"$low to $high"
    val conf  = SQLConf.buildConf(key).doc(doc).version(Since).doubleConf.checkValue(
      v => v >= low && v <= high,
      s"$key must be from $range."
    )
    Setting(entry(conf, default), "double", range)
  }

  private def long(key: String, default: Long, low: Long, doc: String, high: Long = Long.MaxValue): Setting[Long] = {
    val range = if (high == Long.MaxValue) s"at least $low" else s"$low to $high"
    val conf  = SQLConf.buildConf(key).doc(doc).version(Since).longConf.checkValue(
      v => v >= low && v <= high,
      s"$key must be $range."
    )
    Setting(entry(conf, default), "long", range)
  }

  /** Any text, none by default; or one in which `wrong` finds nothing. */
  private def text(key: String, doc: String, wrong: String => Option[String] = _ => None): Setting[String] = {
    val conf = SQLConf.buildConf(key).doc(doc).version(Since).stringConf
    Setting(
      entry(
        conf.transform(t => {
          wrong(t).foreach(why => throw ErrorCondition.InvalidSetting(s"$key: $why.", "key" -> key)); t
        }),
        ""
      ),
      "string",
      ""
    )
  }

  private def choice(key: String, default: String, allowed: Seq[String], doc: String): Setting[String] =
    Setting(
      entry(SQLConf.buildConf(key).doc(doc).version(Since).stringConf.checkValues(allowed.toSet), default),
      "enum",
      allowed.mkString(" | ")
    )

  /** An entry that refuses a wrong value, except while a session is built. */
  private def entry[T](conf: TypedConfigBuilder[T], default: T): ConfigEntry[T] = {
    def parse(value: String): T =
      try conf.converter(value)
      catch { case NonFatal(e) if buildingSession => warn(conf.parent.key, default.toString, e); default }
    new TypedConfigBuilder[T](conf.parent, parse, conf.stringConverter).createWithDefault(default)
  }

  /**
   * Asked only about wrong values. Spark does not say where a value comes from, and the call stack does: configuration
   * files and options of a builder are merged in while the session's state is built, and from Spark 4.2 on, when the
   * session's settings are first asked for.
   */
  private def buildingSession: Boolean = Thread.currentThread.getStackTrace.exists { f =>
    f.getClassName.endsWith(
      "SessionStateBuilder"
    ) || (f.getClassName.endsWith(".SQLConf$") && f.getMethodName.contains("merge"))
  }
}
