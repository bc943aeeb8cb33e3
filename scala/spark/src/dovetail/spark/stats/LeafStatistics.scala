package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile._
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.base.{DovetailConf, LazyValue}
import org.apache.spark.sql.dovetail.database.{DatabaseStatistics, PushedPredicates}
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.footers.FooterStatistics
import org.apache.spark.sql.dovetail.leaf.{
  ColumnarFormat,
  HiddenRows,
  LeafNames,
  LocalRows,
  MalformedRecords,
  SkippedFiles
}
import org.apache.spark.sql.dovetail.sample.{FileSamples, ReaderSettings, TextSamples}
import org.apache.spark.sql.dovetail.table.{PrivateColumns, TableSample, TableStatisticsSource}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/**
 * Rows and columns of a leaf of a plan. They come from the first source that has them: statistics that Dovetail
 * collected; the catalog, a data source or a cache; the footers of the files, or some of their lines; the size of the
 * files; an assumption.
 */
final class LeafStatistics(conf: SQLConf, histograms: Boolean, known: TableStatisticsSource) {

  private val footers = new FooterStatistics(conf, LeafNames.name)

  private val analyzed = new AnalyzedColumns(histograms)

  private val readers = new ReaderSettings

  private val files = new FileSamples(footers, readers, conf)

  private val texts = new TextSamples(footers, readers, conf)

  private val catalog = new CatalogCounts(conf, countedFiles)

  /** Columns by which the partitions of a relation were pruned. */
  private[stats] val pruned: PrunedPartitions = new PrunedPartitions(known, catalog, conf)

  private val visible = new VisibleColumns

  private val privacy = PrivateColumns(conf)

  // a database's statistics contain values, so those of private columns are not fetched
  private val databases = new DatabaseStatistics(conf, leaf => visible(leaf).filterNot(a => privacy(leaf, a.name)))

  /**
   * Reads in advance what `apply` and `sample` would otherwise read for one leaf after the other: footers of files for
   * which there is no better source, that have columns which the catalog lacks, or whose rows confirm the catalog's
   * count, and rows. From then on, the profiles of the plan's tables have only the columns that the plan sees.
   *
   * @param whole the plan with the plans that fill its cached relations
   */
  def readAhead(plan: LogicalPlan, whole: LogicalPlan): Unit = {
    // statistics are published for all columns
    if (!DovetailConf.StatsPublish.get(conf)) visible.learnFrom(plan)
    val leaves  = whole.collectLeaves().collect { case l: LeafNode => l }
    val sampled = WantedColumns(whole)
    known.findAll(leaves)
    val untried = sampled.tried.filter { case (leaf, _) => known.find(leaf).forall(_.sample.isEmpty) }
    val unknown = leaves.filter {
      case r: LogicalRelation          => known.find(r).isEmpty && (!catalog.fits(r) || lacking(r).nonEmpty)
      case _: DataSourceV2ScanRelation => true
      case _                           => false
    }
    val unconfirmed = leaves.collect { case r: LogicalRelation if catalog.asksFiles(r) && known.find(r).isEmpty => r }
    val counted     = unknown ++ unconfirmed
    if (counted.nonEmpty) footers.readAhead(counted, AttributeSet(whole.flatMap(_.references)))
    texts.readAhead(counted ++ untried.map(_._1).filterNot(l => counted.exists(_ eq l)))
    val keys = sampled.keys.filter { case (leaf, _) => unknown.exists(_ eq leaf) }.map {
      case (r: LogicalRelation, columns) if catalog.fits(r) => r    -> columns.intersect(AttributeSet(lacking(r)))
      case (leaf, columns)                                  => leaf -> columns
    }
    files.readAhead(untried, keys.filter(_._2.nonEmpty))
    databases.readAhead(unknown)
  }

  /** Rows of a leaf's files that `readAhead` has read. */
  def sample(leaf: LeafNode): Option[TableSample] =
    // a row count that the user has set replaces that of the files
    files(leaf).orElse(texts.sample(leaf)).map(s =>
      known.rows(leaf).fold(s)(n => s.copy(of = math.max(n.toLong, s.rows.length + 1L)))
    )

  /** Reads of the rows of a leaf that filters keep. */
  val filtered: FilteredLeaves = new FilteredLeaves(known, footers, files, pruned.apply)

  /** Ranges of columns in the row groups that predicates leave, if footers were read ([[FooterStatistics.implied]]). */
  def implied(
      leaf: LeafNode,
      ranges: Seq[(Attribute, (Double, Double))],
      columns: Seq[Attribute]
  ): Map[Attribute, ImpliedRange] = footers.implied(leaf, ranges, columns)

  /** Number of row groups that have the rows of a leaf, if the footers of all its files were read. */
  def rowGroups(leaf: LeafNode): Option[Int] = footers.rowGroups(leaf).filter(_.all).map(_.groups.size)

  /** Share of a leaf's rows in row groups that may have values of a column between two numbers, if it is known. */
  def between(leaf: LeafNode, column: Attribute, low: Double, high: Double): Option[Double] =
    footers.between(leaf, column, low, high)

  /** The smallest and the largest value of a column, if the footers of all files of a leaf tell. */
  def range(leaf: LeafNode, column: Attribute): Option[(Double, Double)] = footers.range(leaf, column)

  def learnFrom(leaf: LeafNode): Unit = leaf match {
    case r: LogicalRelation   => catalog.learnFrom(r.catalogTable)
    case r: HiveTableRelation => catalog.learnFrom(Some(r.tableMeta))
    case _                    =>
  }

  /** A number that changes if the statistics of a leaf's table are collected anew, and are others then. */
  def version(leaf: LeafNode): LazyValue[Long] = known.find(leaf) match {
    case Some(t) => LazyValue.made(t.collectedAt)
    case None    =>
      val table = leaf match {
        case r: LogicalRelation   => r.catalogTable
        case r: HiveTableRelation => Some(r.tableMeta)
        case _                    => None
      }
      catalog.version(LeafNames.name(leaf), table)
  }

  /** Rows of a relation's files, if all of them were counted. */
  private def countedFiles(r: LogicalRelation): Option[Double] = {
    footers.readAhead(Seq(r), r.outputSet)
    footers.rowGroups(r).filter(_.all).map(_.rows.toDouble)
      .orElse(texts(r).collect { case (_, table) if table.whole => table.rows })
  }

  def apply(leaf: LeafNode): RelationProfile = {
    val name    = LeafNames.name(leaf)
    val columns = visible(leaf)
    val found   =
      known.find(leaf).map(t =>
        asRead(leaf, columns, pruned.listed(leaf, t, analyzed.collected(name, leaf, columns, t)))
      ).getOrElse(leaf match {
        case r: LogicalRelation =>
          catalog(r).map(c => completed(r, columns, c, asRead(leaf, columns, analyzed.ofCatalog(name, columns, c))))
            .orElse(footers(r, columns).map(withSample(r, columns, _)))
            .orElse(texts(r).map { case (text, table) => TextProfile(columns, text, table) })
            .orElse(databases(r).map(DatabaseProfile(columns, _, Nil, conf)))
            .getOrElse(fromSize(r.output, r.relation.sizeInBytes, expansion(r)))
        case r: HiveTableRelation =>
          catalog.statistics(name, Some(r.tableMeta)).fold(reported(name, r))(s =>
            analyzed.ofCatalog(name, columns, CatalogCount(s, certain = false))
          )
        case other => reported(name, other)
      })
    val table   = LeafNames.identity(leaf)
    val profile = known.rows(leaf).fold(found) { n =>
      if (known.find(leaf).isDefined) found.ofRows(found.rows.value)
      else if (found.rows.value < n && !LeafStatistics.Guesses(found.rows.source) && PushedPredicates.mayBe(leaf)) found
      else found.ofRows(n)
    }
    val input = leaf.output.map(_.exprId.id).reduceOption(_ min _).map(InputRows(_, profile.rows.value))
    profile.copy(columns = columns.map { a =>
      a.exprId.id -> profile.column(a.exprId.id).copy(origin = table.map(t => s"$t ${a.name}"), input = input)
    }.toMap)
  }

  /**
   * Drops the bounds that do not hold for the rows that queries see. If reading the files may leave out some of their
   * rows, the counted rows are an upper bound. If it may add rows of other files, or if the count itself may have left
   * out rows that another query sees, there is no bound.
   */
  private def asRead(leaf: LeafNode, columns: Seq[Attribute], counted: RelationProfile): RelationProfile =
    if (HiddenRows.mayAdd(leaf) || MalformedRecords.areDropped(leaf) || SkippedFiles.possible(leaf))
      WithoutBounds(counted, columns)
    else if (HiddenRows.possible(leaf)) counted.copy(rows = counted.rows.copy(lower = 0.0))
    else counted

  /** The columns of a relation that the catalog has no statistics of, although it has its row count. */
  private def lacking(r: LogicalRelation): Seq[Attribute] =
    catalog.statistics(LeafNames.name(r), r.catalogTable).toSeq.flatMap(UnanalyzedColumns(r, _, visible(r)))

  /** Takes the columns that the catalog has no statistics of from the files ([[UnanalyzedColumns]]). */
  private def completed(
      r: LogicalRelation,
      columns: Seq[Attribute],
      count: CatalogCount,
      profile: RelationProfile
  ): RelationProfile = {
    val missing = UnanalyzedColumns(r, count.statistics, columns)
    def inText  = texts(r).map { case (text, table) => TextProfile(missing, text, table) }
    if (missing.isEmpty) profile
    else footers(r, missing).map(withSample(r, missing, _)).orElse(inText)
      .fold(profile)(UnanalyzedColumns.filled(profile, _))
  }

  /** Adds what the rows of a table that were read tell of its columns. */
  private def withSample(r: LogicalRelation, columns: Seq[Attribute], profile: RelationProfile): RelationProfile =
    files(r).fold(profile)(SampledColumns(profile, columns, _))

  /** Profile of a local relation, a range, a cached relation or a scan of a data source. */
  private def reported(name: String, leaf: LeafNode): RelationProfile = leaf match {
    case r: DataSourceV2ScanRelation =>
      databases(r).map(DatabaseProfile(r.output, _, PushedPredicates(r), conf)).getOrElse(bySpark(name, r))
    case other => bySpark(name, other)
  }

  private def bySpark(name: String, leaf: LeafNode): RelationProfile = {
    val stats =
      try asked(name, leaf)
      catch { case Survivable(_) => Statistics(BigInt(conf.defaultSizeInBytes)) }
    val rows = exactRows(leaf).map(n => Estimate.exactly(n.toDouble, Source.Exact))
      .orElse(CatalogCounts.sensible(name, stats.rowCount).map(n => told(leaf, n.toDouble)))
    rows match {
      case Some(counted) =>
        // Spark's statistics of a plan are estimates, so the lengths of its values bound nothing
        WithoutBounds.ofWidths(analyzed.ofColumns(name, leaf.output, counted, stats.attributeStats.get), leaf.output)
      case None =>
        val expansion = leaf match { case _: DataSourceV2ScanRelation => Assumptions.ColumnarExpansion; case _ => 1.0 }
        val sized     = fromSize(leaf.output, stats.sizeInBytes.min(BigInt(Long.MaxValue)).toLong, expansion)
        footers(leaf, leaf.output).getOrElse(leaf match {
          // a checkpoint has the size of its plan, which for a join is the product of the inputs' sizes
          case _: LogicalRDD if sized.rows.value > Assumptions.Rows => assumed(leaf.output)
          case _                                                    => sized
        })
    }
  }

  /** Rows of a leaf whose data are part of the plan, or on the driver. A common table expression may have a LIMIT. */
  private def exactRows(leaf: LeafNode): Option[Long] = leaf match {
    case _: CTERelationRef => None
    case _                 => leaf.maxRows.orElse(LocalRows(leaf))
  }

  /** What a row count in Spark's statistics of a leaf means. */
  private def told(leaf: LeafNode, rows: Double): Estimate = leaf match {
    case r: InMemoryRelation if r.cacheBuilder.isCachedColumnBuffersLoaded => Estimate.exactly(rows, Source.Exact)
    case r: DataSourceV2ScanRelation                                       =>
      // some of the counted rows may have been deleted (by Iceberg's delete files)
      if (LeafStatistics.countsRows(r)) Estimate.upTo(rows, rows, Source.Connector)
      else Estimate.guess(rows, Source.Connector)
    // the estimate that Spark had for the plan of a checkpoint, or of a cache that is not filled yet
    case _ => Estimate.guess(rows, Source.Catalog)
  }

  /**
   * Spark's statistics of a leaf. If Spark itself asks a scan only for its size, all statistics are asked for in a
   * separate thread ([[Aside]]): a connector may read a catalog or many files for them. Spark may use the scan while
   * this thread still does, so it must be one that bears two threads.
   */
  private def asked(name: String, leaf: LeafNode): Statistics = leaf match {
    case r: DataSourceV2ScanRelation
        if !ScanStatistics.asksRows(conf) && LeafStatistics.Concurrent.exists(r.scan.getClass.getName.startsWith) =>
      val asking = conf.clone()
      asking.setConf(SQLConf.PLAN_STATS_ENABLED, true)
      Aside(s"the statistics of $name")(_ => SQLConf.withExistingConf(asking)(r.computeStats())).getOrElse(r.stats)
    case _ => leaf.stats
  }

  /**
   * Profile with rows estimated from bytes: files expand by the factor `expansion` in memory. If Spark does not know
   * the size either, the row count is an assumption.
   */
  private def fromSize(output: Seq[Attribute], bytes: Long, expansion: Double): RelationProfile =
    if (bytes < 0L || bytes >= conf.defaultSizeInBytes) assumed(output)
    else {
      val width = Assumptions.RowOverhead + output.map(_.dataType.defaultSize.toDouble).sum
      UnknownColumns.profile(output, Estimate.guess(math.max(1.0, bytes * expansion / width), Source.Size))
    }

  private def assumed(output: Seq[Attribute]): RelationProfile =
    UnknownColumns.profile(output, Estimate.guess(Assumptions.Rows, Source.Assumed))

  private def expansion(r: LogicalRelation): Double = r.relation match {
    case f: HadoopFsRelation if ColumnarFormat(f) => Assumptions.ColumnarExpansion
    case _                                        => 1.0
  }
}

object LeafStatistics {

  /** Sources of row counts that say nothing of a connector's rows. */
  private val Guesses = Set[Source](Source.Size, Source.Assumed)

  /**
   * Whether a data source adds up the counts of the files that it will read. Other sources report estimates, which is
   * all that Spark asks for (`SupportsReportStatistics`).
   */
  private def countsRows(r: DataSourceV2ScanRelation): Boolean = r.scan.getClass.getName.startsWith(IcebergScans)

  /** Packages of scans that several threads may ask at a time: Spark's own and Iceberg's. */
  private val Concurrent = Vector("org.apache.spark.", "org.apache.iceberg.")

  /** Package of Iceberg's scans, which count rows by its manifests. */
  private val IcebergScans = "org.apache.iceberg.spark.source."
}
