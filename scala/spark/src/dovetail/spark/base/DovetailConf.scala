package org.apache.spark.sql.dovetail.base

import dovetail.kernel.cost.CostText

/**
 * All settings, in one list: type, default, range, documentation, version ([[Setting]]). `docs/reference/configs.md`
 * and the Python class `Config` are generated from it.
 */
object DovetailConf {
  import Setting.{boolean, choice, double, long, text}

  val Enabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.enabled",
      true,
      "Whether Dovetail changes plans: join orders, also at run time, broadcasts, hash joins, Bloom filters, key " +
        "ranges, semi joins, early groupings, the order of conditions in filters, and published statistics. If " +
        "false, Spark plans as it does without Dovetail."
    )

  val CostModel: Setting[String] = choice(
    "spark.dovetail.cost.model",
    "physical",
    Seq("physical", "cardWeight"),
    "The model that rates join orders. 'physical' prices exchanges, sorts, hash tables, broadcasts and produced " +
      "rows. 'cardWeight' is weight * rows + (1 - weight) * bytes, summed over the joins."
  )

  val CardWeight: Setting[Double] =
    double(
      "spark.dovetail.cost.cardWeight",
      0.7,
      0.0,
      1.0,
      "Weight of rows against bytes if spark.dovetail.cost.model is 'cardWeight'."
    )

  val CostConstants: Setting[String] = text(
    "spark.dovetail.cost.constants",
    "Constants of the cost model 'physical', as name=nanoseconds, separated by commas: exchangeByte=2.5, merge=40. " +
      "They replace the constants that DOVETAIL CALIBRATE has measured, and the built-in ones. Names: " +
      s"${CostText.names.mkString(", ")}.",
    t => CostText.read(t, dovetail.kernel.cost.CostConstants()).left.toOption
  )

  val HistogramEnabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.histogram.enabled",
      true,
      "Whether estimates use the equi-height histograms of tables that have them, and whether DOVETAIL ANALYZE " +
        "collects the quantiles from which it makes histograms."
    )

  val FootersEnabled: Setting[Boolean] = boolean(
    "spark.dovetail.footers.enabled",
    true,
    "Whether Dovetail takes rows, NULLs, ranges and estimates of distinct counts from the footers of Parquet " +
      "and ORC files, for tables without better statistics. If false, no rows of these files are read either."
  )

  val FootersMaxMs: Setting[Long] = long(
    "spark.dovetail.footers.maxMs",
    100L,
    0L,
    "Milliseconds that one query may wait for footers and rows of files. A query waits once for each 256 MiB of the " +
      "files that it reads: at least once, at most five times. The first queries of a JVM, which have " +
      "to load and compile the readers, may wait longer: in total, 20 times this limit for each kind of reader. " +
      "Footers stay in memory for later queries, which continue where this one stopped. If only a part of a " +
      "table's footers was read, its rows are extrapolated. The default suffices for a few hundred files on a local " +
      "disk, or for one file each of a dozen tables on an object store, where a read takes about 50 ms. 0 uses only " +
      "footers in memory."
  )

  val PlanningMaxMs: Setting[Long] = long(
    "spark.dovetail.planning.maxMs",
    2000L,
    1L,
    "Milliseconds that Dovetail may add to the planning of one query, including its subqueries: statistics, " +
      "footers, rows, predicates on rows, estimates and search. Reading may use half of it. After that, the best " +
      "plan so far is taken, the rest stays as written, and explain lists what was cut. " +
      "spark.dovetail.footers.maxMs and " +
      "spark.dovetail.reorder.maxPlanningMs are parts of this time and end with it. The first query of a JVM, which " +
      "has to load classes, has twice as long."
  )

  val MaxPlanningMs: Setting[Long] = long(
    "spark.dovetail.reorder.maxPlanningMs",
    500L,
    1L,
    "Milliseconds that each step of the search for one group of joins may take: the exact search, the improvement of " +
      "an approximate plan, and the search for Bloom filters. After that, the best plan so far is taken. All steps " +
      "end with spark.dovetail.planning.maxMs."
  )

  val ExactPairs: Setting[Long] = long(
    "spark.dovetail.reorder.exactPairs",
    300000L,
    0L,
    "Pairs of sub-plans that the exact search may consider for one group of joins. Beyond this number, a " +
      "linearized and a greedy search take over, and their plan is improved piece by piece. 0 searches greedily " +
      "only. A star of 16 relations has 245760 pairs, a clique of 12 has 261625."
  )

  val MinGain: Setting[Double] = double(
    "spark.dovetail.reorder.minGain",
    0.1,
    0.0,
    1.0,
    "Share of the estimated cost of the written order that another order must save to be taken. An order that has " +
      "run before must only cost less. With 1.0, Dovetail takes only orders that the user has asked for."
  )

  val Order: Setting[String] = text(
    "spark.dovetail.reorder.order",
    "A join order for groups with exactly these relations, in the notation of explain: ((a b) c). It is taken " +
      "regardless of its cost, unless outer or semi joins forbid it. For one query, use the SQL hint /*+ " +
      "DOVETAIL_ORDER('((a b) c)') */."
  )

  val SemiJoins: Setting[Boolean] = boolean(
    "spark.dovetail.reorder.semiJoins",
    true,
    "Whether a grouping that is joined with a small restricted table is computed only for the keys of that table, " +
      "by a semi join below the grouping, if this saves the share of its work that spark.dovetail.reorder.minGain " +
      "requires."
  )

  val Reducers: Setting[Boolean] = boolean(
    "spark.dovetail.reducers.enabled",
    true,
    "Whether the search may add Bloom filters to inputs, built from the keys of other inputs that they are " +
      "joined with, if this saves at least three tenths of the estimated cost. The filters drop rows without a " +
      "partner before these are exchanged and sorted."
  )

  val ReducersRanges: Setting[Boolean] = boolean(
    "spark.dovetail.reducers.ranges",
    true,
    "Whether a scan of Parquet files may be filtered by the smallest and the largest key of an input that it is " +
      "joined with, if the scan then skips enough row groups to save twice what this costs. From Spark 4.0 on."
  )

  val ReducersAlways: Setting[Boolean] = boolean(
    "spark.dovetail.reducers.always",
    false,
    "For tests: whether Bloom filters and key ranges are added to inputs wherever this is legal, regardless of their " +
      "cost."
  )

  val MoveAll: Setting[Boolean] = boolean(
    "spark.dovetail.expressions.moveAll",
    false,
    "For measurements: whether expressions that may fail on some rows are moved like those that cannot. A query that " +
      "Spark answers may then fail."
  )

  val FiltersOrder: Setting[Boolean] = boolean(
    "spark.dovetail.filters.order",
    true,
    "Whether a filter tests a cheap condition before conditions that take at least ten times as long, such as " +
      "patterns and functions of the user. Conditions that may fail on some rows keep their places."
  )

  val EarlyGrouping: Setting[Boolean] = boolean(
    "spark.dovetail.grouping.early",
    true,
    "Whether rows are grouped below joins, and below the copies of rows that ROLLUP, CUBE and GROUPING SETS " +
      "make, if many rows form few groups and this saves three tenths of the cost, or " +
      "spark.dovetail.reorder.minGain if that is more. The query's own grouping merges the groups. Applies only to " +
      "count, sum, min, max and avg of types whose sums do not depend on the order of additions."
  )

  val EarlyGroupingAlways: Setting[Boolean] = boolean(
    "spark.dovetail.grouping.always",
    false,
    "For tests: whether rows are grouped below joins wherever this is legal, regardless of the cost."
  )

  val GroupingExchanges: Setting[Boolean] = boolean(
    "spark.dovetail.grouping.exchanges",
    true,
    "Whether the search for a join order counts the exchange of the grouping or the window that reads the joined " +
      "rows. Rows that the joins have partitioned by some of its columns need no exchange for it."
  )

  val BroadcastEnabled: Setting[Boolean] = boolean(
    "spark.dovetail.broadcast.enabled",
    true,
    "Whether Dovetail broadcasts small inputs that Spark does not recognize as small: their estimate is below " +
      "Spark's own threshold, and they fit into the memory of driver and executors even if the estimate is wrong. " +
      "spark.sql.autoBroadcastJoinThreshold=-1 also turns this off."
  )

  val AdaptiveHash: Setting[Boolean] = boolean(
    "spark.dovetail.adaptive.shuffledHash",
    true,
    "Whether a shuffled join builds a hash table of its smaller input instead of sorting both inputs, after " +
      "adaptive execution has measured them, if that input is at most half as large as the other and every task has " +
      "the memory."
  )

  val AdaptiveReorder: Setting[Boolean] = boolean(
    "spark.dovetail.adaptive.reorder",
    false,
    "Whether consecutive joins are reordered while the query runs, if the counted rows of their inputs differ from " +
      "the estimates by a factor of 1.5 and another order saves the share of the joins' work that " +
      "spark.dovetail.reorder.minGain requires. Spark accepts an order with one more exchange only if " +
      "spark.sql.adaptive.customCostEvaluatorClass is dovetail.DovetailCostEvaluator. Needs " +
      "spark.sql.adaptive.enabled."
  )

  val ExcludeTables: Setting[String] = text(
    "spark.dovetail.reorder.excludeTables",
    "Tables, separated by commas: t, db.t, catalog.db.t, or a pattern with *. A group of joins that reads one of them " +
      "stays as written. For one query, use the SQL hint /*+ DOVETAIL_OFF */."
  )

  val StatsPublish: Setting[Boolean] = boolean(
    "spark.dovetail.stats.publish",
    false,
    "Whether Spark's own optimizer sees Dovetail's statistics: rows, size and columns of tables of files whose " +
      "rows were all counted, from footers or by DOVETAIL ANALYZE. EXPLAIN COST shows them, and Spark's CBO uses " +
      "them if it is on. Physical planning and adaptive execution use Spark's own sizes. Publishing takes " +
      "planning time, also in queries without joins."
  )

  val StorePath: Setting[String] = text(
    "spark.dovetail.store.path",
    "Directory of the statistics store, on any file system that Hadoop supports: statistics of DOVETAIL ANALYZE, " +
      "pins, the history, failed joins, and measured cost constants. If empty: .dovetail/statistics in " +
      "spark.sql.warehouse.dir."
  )

  val StoreValues: Setting[Boolean] = boolean(
    "spark.dovetail.store.values",
    true,
    "Whether DOVETAIL ANALYZE stores values of the data: bounds, quantiles, frequent values, and a sample of rows. " +
      "If false, it stores counts only."
  )

  val StoreWriteBack: Setting[Boolean] = boolean(
    "spark.dovetail.store.writeBack",
    true,
    "Whether DOVETAIL ANALYZE also writes statistics to Spark's catalog, as far as the catalog can hold them, for " +
      "tables of the session catalog. It leaves out columns on which Spark's own estimator fails (TIMESTAMP_NTZ)."
  )

  val SampleEnabled: Setting[Boolean] =
    boolean(
      "spark.dovetail.sample.enabled",
      true,
      "Whether DOVETAIL ANALYZE stores a sample of rows, on which predicates are tested."
    )

  val SampleRows: Setting[Long] =
    long(
      "spark.dovetail.sample.rows",
      20000L,
      1L,
      "Number of rows of a table that DOVETAIL ANALYZE samples; fewer if rows are long.",
      1000000L
    )

  val SampleFiles: Setting[Boolean] = boolean(
    "spark.dovetail.sample.files",
    true,
    "Whether Dovetail reads some rows of Parquet, ORC, CSV and JSON tables without a collected sample " +
      "while it plans a query, in the time that spark.dovetail.footers.maxMs leaves. It tests predicates on these " +
      "rows, counts join keys of small Parquet and ORC tables, and estimates the number of rows of CSV and JSON " +
      "tables. The rows stay in the driver's memory for later queries. Parquet and ORC also need " +
      "spark.dovetail.footers.enabled."
  )

  val JdbcStatistics: Setting[Boolean] = boolean(
    "spark.dovetail.jdbc.statistics",
    true,
    "Whether Dovetail asks PostgreSQL for its own statistics of tables that are read over JDBC, while it plans " +
      "a query: one query per table on pg_class and pg_stats, over the connection options of the table. The " +
      "answer stays in the driver's memory for ten minutes."
  )

  val SampleCounts: Setting[Boolean] = boolean(
    "spark.dovetail.sample.counts",
    true,
    "Whether Dovetail counts the rows of a filtered Parquet or ORC table while it plans a query, if the estimate of " +
      "these rows is uncertain and decides between join orders. It reads the columns of the filter from all files, " +
      "within the planning time, if the order can save several times the work of counting. If a sample of the table " +
      "has too few of the rows that pass, Dovetail reads these rows with their join keys, up to 20,000 rows of a " +
      "table of up to 2,000,000, and keeps them in the driver's memory. Needs spark.dovetail.sample.files and " +
      "spark.dovetail.footers.enabled."
  )

  val SampleUserFunctions: Setting[Boolean] = boolean(
    "spark.dovetail.sample.userFunctions",
    false,
    "Whether predicates with user-defined functions are tested on rows while a query is planned, within its " +
      "planning time. If false, only Spark's own functions run then: a user-defined function may be slow or have " +
      "side effects."
  )

  val PrivateColumns: Setting[String] = text(
    "spark.dovetail.privateColumns",
    "Columns, separated by commas, named as in SQL: column, table.column or database.table.column, with " +
      "backticks where SQL needs them. Letter case does not matter. DOVETAIL ANALYZE stores counts of these " +
      "columns but no values. Dovetail reads no rows of these columns while it plans, fetches none of their values " +
      "from a database's statistics, and does not show their bounds. In a table that is read by its path, a column " +
      "is private if any entry has its name. DOVETAIL ANALYZE " +
      "reports names that no table has."
  )

  val LogQueries: Setting[Long] = long(
    "spark.dovetail.log.queries",
    100L,
    0L,
    "Number of queries of this session that dovetail_queries() keeps in the driver's memory, with their text if " +
      "they came from SQL. 0 keeps none, and Spark's explain then shows nothing of Dovetail.",
    10000L
  )

  val HistoryEnabled: Setting[Boolean] = boolean(
    "spark.dovetail.history.enabled",
    true,
    "Whether Dovetail remembers how many rows the sub-plans of a query returned when it ran, and plans later " +
      "queries with these numbers. They are kept beside the statistics in spark.dovetail.store.path, with names " +
      "of tables and hashes, but without values and query texts. Nothing is remembered if " +
      "spark.dovetail.log.queries is 0."
  )

  /** All settings, in the order of the documentation. */
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
    Reducers,
    ReducersRanges,
    ReducersAlways,
    MoveAll,
    FiltersOrder,
    EarlyGrouping,
    EarlyGroupingAlways,
    GroupingExchanges,
    Order,
    BroadcastEnabled,
    AdaptiveHash,
    AdaptiveReorder,
    ExcludeTables,
    StatsPublish,
    StorePath,
    StoreValues,
    StoreWriteBack,
    SampleEnabled,
    SampleRows,
    SampleFiles,
    JdbcStatistics,
    SampleCounts,
    SampleUserFunctions,
    PrivateColumns,
    LogQueries,
    HistoryEnabled
  )

  /** Loads this object, which registers the settings with Spark. */
  def register(): Unit = all.foreach(_.key)
}
