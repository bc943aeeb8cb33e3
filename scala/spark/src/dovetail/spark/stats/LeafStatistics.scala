package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.util.control.NonFatal

import dovetail.kernel.profile.{Assumptions, Bucket, ColumnProfile, Estimate, Histogram, RelationProfile, Source, Width}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, LeafNode, Statistics}
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.database.{DatabaseStatistics, PushedPredicates}
import org.apache.spark.sql.dovetail.footers.FooterStatistics
import org.apache.spark.sql.dovetail.leaf.{HiddenRows, LeafNames, LocalRows}
import org.apache.spark.sql.dovetail.predicates.{Values, Widths}
import org.apache.spark.sql.dovetail.sample.{FileSamples, RowCount, TextSamples}
import org.apache.spark.sql.dovetail.table.{ColumnStatistics, TableSample, TableStatistics, TableStatisticsSource}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, DateType, NumericType, TimestampType}

/**
 * Rows and columns of a leaf of a plan. They come from the first source that has them: statistics that Dovetail
 * collected; the catalog, a data source or a cache; the footers of the files, or some of their lines; the size of the
 * files; an assumption.
 *
 * Numbers are used only if they make sense (`ColumnProfile.checked`). Numbers that do not are dropped, and one line is
 * logged.
 */
final class LeafStatistics(conf: SQLConf, histograms: Boolean, known: TableStatisticsSource) {

  // statistics of tables from before Spark pruned partitions: after that, the plan only has a size
  private val whole = mutable.HashMap.empty[TableIdentifier, CatalogStatistics]

  // bytes and number of files, added up once because a table may have very many files
  private val sizes = new IdentityHashMap[LogicalRelation, Option[(Long, Int)]]

  private val footers = new FooterStatistics(conf, LeafNames.name)

  private val files = new FileSamples(footers, conf)

  private val texts = new TextSamples(footers, conf)

  private val databases = new DatabaseStatistics(conf)

  /**
   * Reads in advance what `apply` and `sample` would otherwise read for one leaf after the other: footers of files for
   * which there is no better source, and rows.
   *
   * @param wanted  columns that the plan references
   * @param sampled columns, by leaf, whose values are worth reading from the data
   */
  def readAhead(leaves: Seq[LeafNode], wanted: AttributeSet, sampled: WantedColumns): Unit = {
    known.findAll(leaves)
    val untried = sampled.tried.filter { case (leaf, _) => known.find(leaf).forall(_.sample.isEmpty) }
    val unknown = leaves.filter {
      case r: LogicalRelation          => believable(r).isEmpty && known.find(r).isEmpty
      case _: DataSourceV2ScanRelation => true
      case _                           => false
    }
    footers.readAhead(unknown, wanted)
    texts.readAhead(unknown ++ untried.map(_._1).filterNot(l => unknown.exists(_ eq l)))
    files.readAhead(untried, sampled.keys.filter { case (leaf, _) => unknown.exists(_ eq leaf) })
    databases.readAhead(unknown)
  }

  /** Rows of a leaf's files that `readAhead` has read. */
  def sample(leaf: LeafNode): Option[TableSample] =
    // a row count that the user has set replaces that of the files
    files(leaf).orElse(texts.sample(leaf)).map(s =>
      known.rows(leaf).fold(s)(n => s.copy(of = math.max(n.toLong, s.rows.length + 1L)))
    )

  /**
   * A count of the rows of a leaf that conjuncts keep; None if its files cannot be read, or if the number of its rows
   * does not come from them. Predicates by which partitions were pruned hold for all rows that are read.
   */
  def count(leaf: LeafNode, conjuncts: Vector[Expression]): Option[RowCount] = leaf match {
    case r: LogicalRelation if known.rows(r).isEmpty && !HiddenRows.possible(r) =>
      val pruned = prunedBy(r)
      conjuncts.filterNot(c => c.references.nonEmpty && c.references.subsetOf(pruned)).reduceOption(And(_, _))
        .flatMap(files.count(r, _))
    case _ => None
  }

  def learnFrom(leaf: LeafNode): Unit = leaf match {
    case r: LogicalRelation   => learnFrom(r.catalogTable)
    case r: HiveTableRelation => learnFrom(Some(r.tableMeta))
    case _                    =>
  }

  private def learnFrom(table: Option[CatalogTable]): Unit =
    for (t <- table; s <- t.stats if s.rowCount.isDefined) whole.getOrElseUpdate(t.identifier, s)

  def apply(leaf: LeafNode): RelationProfile = {
    val name  = LeafNames.name(leaf)
    val found = known.find(leaf).map(t => atMost(leaf, collected(name, leaf.output, t))).getOrElse(leaf match {
      case r: LogicalRelation =>
        believable(r).map(s => atMost(leaf, fromCatalog(name, r.output, s)))
          .orElse(footers(r).map(withCounts(r, _)))
          .orElse(texts(r).map { case (text, table) => TextProfile(r.output, text, table) })
          .orElse(databases(r).map(DatabaseProfile(r.output, _, Nil, conf)))
          .getOrElse(fromSize(r.output, r.relation.sizeInBytes, expansion(r)))
      case r: HiveTableRelation =>
        statistics(name, Some(r.tableMeta)).fold(reported(name, r))(fromCatalog(name, r.output, _))
      case other => reported(name, other)
    })
    val table   = LeafNames.identity(leaf)
    val profile =
      known.rows(leaf).fold(found)(n => found.ofRows(if (known.find(leaf).isDefined) found.rows.value else n))
    profile.copy(columns =
      leaf.output.map(a =>
        a.exprId.id -> profile.column(a.exprId.id).copy(origin = table.map(t => s"$t ${a.name}"))
      ).toMap
    )
  }

  /**
   * Sets the lower bound of the rows to 0 if reading the files may leave out some of their rows: the counted rows are
   * then an upper bound.
   */
  private def atMost(leaf: LeafNode, counted: RelationProfile): RelationProfile =
    if (HiddenRows.possible(leaf)) counted.copy(rows = counted.rows.copy(lower = 0.0)) else counted

  /** Replaces column profiles by exact counts if all rows of a small table were read. */
  private def withCounts(relation: LogicalRelation, profile: RelationProfile): RelationProfile =
    files(relation).fold(profile)(sample =>
      profile.copy(columns = profile.columns ++ (for {
        a     <- relation.output
        field <- sample.schema.find(_.name == a.name) if field.dataType == a.dataType
        c     <- sample.counts.get(a.name)
      } yield a.exprId.id -> c.onto(profile.column(a.exprId.id))))
    )

  /**
   * Partition columns by which Spark has pruned `relation`, if its row count comes from the size of the remaining
   * partitions. This row count already accounts for the predicates on these columns.
   */
  def prunedBy(relation: LogicalRelation): AttributeSet = relation.relation match {
    case f: HadoopFsRelation if !f.location.isInstanceOf[CatalogFileIndex] && ofWhatIsLeft(relation) =>
      AttributeSet(relation.output.filter(a => relation.catalogTable.exists(_.partitionColumnNames.contains(a.name))))
    case _ => AttributeSet.empty
  }

  private def ofWhatIsLeft(relation: LogicalRelation): Boolean =
    known.find(relation).exists(s => s.fresh || known.rows(relation).isEmpty) || (known.rows(
      relation
    ).isEmpty && believable(relation).isEmpty)

  /**
   * Statistics of the whole table. The predicates that pruned its partitions are still in the plan, and are estimated
   * like all others.
   */
  private def statistics(name: String, table: Option[CatalogTable]): Option[CatalogStatistics] =
    table.flatMap(t => whole.get(t.identifier).orElse(t.stats)).filter(s => sensible(name, s.rowCount).isDefined)

  /**
   * Catalog statistics of a table, unless its files are larger than that many rows can be. In this case the table has
   * grown since it was analyzed, and its footers are the better source.
   */
  private def believable(r: LogicalRelation): Option[CatalogStatistics] =
    statistics(LeafNames.name(r), r.catalogTable).filter { s =>
      // the lengths of strings and arrays are unknown if these have no statistics
      val widths =
        r.output.map(a => s.colStats.get(a.name).flatMap(_.avgLen).orElse(LeafStatistics.fixedWidth(a.dataType)))
      val fits = widths.contains(None) || sizes.computeIfAbsent(r, LeafStatistics.files(_)).forall {
        case (bytes, files) =>
          bytes <= s.rowCount.get.toDouble * (Assumptions.RowOverhead + widths.flatten.sum) +
            LeafStatistics.EmptyFileBytes * files
      }
      val name = LeafNames.name(r)
      if (!fits)
        FailOpen.warnOnce(
          s"$name old",
          s"Statistics of $name are not used: its files are too large for the ${s.rowCount.get} rows in " +
            "them. Analyze the table again"
        )
      fits
    }

  private def sensible(name: String, rows: Option[BigInt]): Option[BigInt] = {
    rows.filter(_ < 0).foreach(n =>
      FailOpen.warnOnce(s"$name rows", s"Statistics of $name are invalid and ignored: $n rows")
    )
    rows.filter(_ >= 0)
  }

  private def fromCatalog(name: String, output: Seq[Attribute], stats: CatalogStatistics): RelationProfile = {
    val rows                                         = stats.rowCount.get.toDouble
    def columnStat(a: Attribute): Option[ColumnStat] = stats.colStats.get(a.name).flatMap { c =>
      try Some(c.toPlanStat(a.name, a.dataType))
      catch {
        case NonFatal(e) =>
          FailOpen.warnOnce(
            s"$name.${a.name}",
            s"Statistics of column ${a.name} of $name cannot be read and are ignored: ${e.getMessage}"
          )
          None
      }
    }
    profile(name, output, rows, Source.Catalog, columnStat)
  }

  /** Profile of a local relation, a range, a cached relation or a scan of a data source. */
  private def reported(name: String, leaf: LeafNode): RelationProfile = leaf match {
    case r: DataSourceV2ScanRelation =>
      databases(r).map(DatabaseProfile(r.output, _, PushedPredicates(r), conf)).getOrElse(bySpark(name, r))
    case other => bySpark(name, other)
  }

  private def bySpark(name: String, leaf: LeafNode): RelationProfile = {
    val stats =
      try asked(leaf)
      catch { case NonFatal(_) => Statistics(BigInt(conf.defaultSizeInBytes)) }
    val source = leaf match {
      // a cache that is not filled yet has the statistics of the plan that will fill it
      case r: InMemoryRelation if r.cacheBuilder.isCachedColumnBuffersLoaded => Source.Exact
      case _: DataSourceV2ScanRelation                                       => Source.Connector
      case _                                                                 => Source.Catalog
    }
    (leaf.maxRows.map(_.toLong).orElse(LocalRows(leaf)), sensible(name, stats.rowCount)) match {
      case (Some(n), _)    => profile(name, leaf.output, n.toDouble, Source.Exact, stats.attributeStats.get)
      case (_, Some(rows)) => profile(name, leaf.output, rows.toDouble, source, stats.attributeStats.get)
      case _               =>
        val expansion = leaf match { case _: DataSourceV2ScanRelation => Assumptions.ColumnarExpansion; case _ => 1.0 }
        footers(leaf).getOrElse(fromSize(leaf.output, stats.sizeInBytes.min(BigInt(Long.MaxValue)).toLong, expansion))
    }
  }

  /**
   * Spark's statistics of a leaf. From Spark 4.3 on, a scan reports only its size unless plan statistics are enabled.
   */
  private def asked(leaf: LeafNode): Statistics = leaf match {
    case r: DataSourceV2ScanRelation if r.stats.rowCount.isEmpty && !conf.planStatsEnabled && !conf.cboEnabled =>
      val asking = conf.clone()
      asking.setConf(SQLConf.PLAN_STATS_ENABLED, true)
      SQLConf.withExistingConf(asking)(r.computeStats())
    case _ => leaf.stats
  }

  /** Profile from the statistics that Dovetail collected: exact counts, or guesses if the data has changed since. */
  private def collected(name: String, output: Seq[Attribute], table: TableStatistics): RelationProfile = {
    val byName = table.columns.map(c => c.name -> c).toMap
    val rows   = if (table.fresh) Estimate.exactly(table.rows.toDouble, Source.Collected)
    else Estimate.guess(table.rows.toDouble, Source.Collected)
    val ids    = output.map(a => a.name -> a.exprId.id).toMap
    val groups = table.groups.filter(_.columns.forall(ids.contains)).map(g => g.columns.map(ids).toSet -> g.ndv).toMap
    profile(name, output, rows) { a =>
      byName.get(a.name).map { c =>
        ColumnProfile.checked(
          ndv = Some(c.ndv),
          nulls = Some(c.nulls.toDouble),
          rows = Some(table.rows.toDouble),
          min = c.min.flatMap(Values.number(_)),
          max = c.max.flatMap(Values.number(_)),
          histogram = if (histograms && c.quantiles.size > 1) Some(c.histogram) else None,
          width = Some(width(a.dataType, c, table.fresh))
        ) match {
          case (column, faults) =>
            val degree = c.heavyHitters.headOption.filter(_ => c.complete && table.fresh).map(_._2.toDouble)
            (
              column.copy(
                frequent = if (a.dataType == c.dataType) c.frequencies else None,
                degree = degree,
                unseen = table.unread.fold(0.0)(_.share)
              ),
              faults
            )
        }
      }
    }.copy(groups = groups)
  }

  /**
   * Width of a column from the statistics that Dovetail collected. Its bounds hold only for the files that were read.
   */
  private def width(dataType: DataType, c: ColumnStatistics, fresh: Boolean): Width =
    if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType)
    else if (fresh) Width.measured(
      c.width,
      Some(c.maxWidth.toDouble),
      Some(Width.padded(c.values.toDouble, c.values * c.width)),
      Source.Collected
    )
    else Width.unknown(c.width)

  private def profile(
      name: String,
      output: Seq[Attribute],
      rows: Double,
      source: Source,
      statOf: Attribute => Option[ColumnStat]
  ): RelationProfile =
    // a data source counts the rows of its files, and some of these may have been deleted (by Iceberg's delete files)
    profile(
      name,
      output,
      if (source == Source.Connector) Estimate.upTo(rows, rows, source) else Estimate.exactly(rows, source)
    ) { a =>
      statOf(a).map { stat =>
        ColumnProfile.checked(
          ndv = stat.distinctCount.map(_.toDouble),
          nulls = stat.nullCount.map(_.toDouble),
          rows = Some(rows),
          min = stat.min.flatMap(Values.number(_)),
          max = stat.max.flatMap(Values.number(_)),
          histogram = if (!histograms) None
          else stat.histogram.filter(_.bins.nonEmpty).map(h =>
            Histogram(h.bins.toVector.map(b => Bucket(b.lo, b.hi, b.ndv.toDouble)))
          ),
          width = Some(width(a.dataType, stat, rows, source))
        )
      }
    }

  private def width(dataType: DataType, stat: ColumnStat, rows: Double, source: Source): Width =
    stat.avgLen.map(_.toDouble) match {
      case Some(mean) if Widths.fixed(dataType).isEmpty =>
        Width.measured(mean, stat.maxLen.map(_.toDouble), Some(Width.padded(rows, rows * mean)), source)
      case Some(mean) => Widths.ofType(dataType).copy(mean = mean)
      case None       => Widths.ofType(dataType)
    }

  private def profile(
      name: String,
      output: Seq[Attribute],
      rows: Estimate
  )(known: Attribute => Option[(ColumnProfile, Seq[String])]): RelationProfile = {
    val columns = output.map { a =>
      val (column, faults) = known(a).getOrElse((ColumnProfile(width = Widths.ofType(a.dataType)), Nil))
      faults.foreach(f =>
        FailOpen.warnOnce(
          s"$name.${a.name} $f",
          s"Statistics of column ${a.name} of $name are invalid and ignored: $f"
        )
      )
      a.exprId.id -> column
    }
    RelationProfile(rows, columns.toMap, rows.value)
  }

  /**
   * Profile with rows estimated from bytes: files expand by the factor `expansion` in memory. If Spark does not know
   * the size either, the row count is an assumption.
   */
  private def fromSize(output: Seq[Attribute], bytes: Long, expansion: Double): RelationProfile = {
    val columns = output.map(a => a.exprId.id -> ColumnProfile(width = Widths.ofType(a.dataType))).toMap
    val width   = Assumptions.RowOverhead + output.map(_.dataType.defaultSize.toDouble).sum
    val rows    =
      if (bytes < 0L || bytes >= conf.defaultSizeInBytes) Estimate.guess(Assumptions.Rows, Source.Assumed)
      else Estimate.guess(math.max(1.0, bytes * expansion / width), Source.Size)
    RelationProfile(rows, columns, rows.value)
  }

  private def expansion(r: LogicalRelation): Double = r.relation match {
    case f: HadoopFsRelation if LeafStatistics.columnar(f.fileFormat.getClass.getSimpleName) =>
      Assumptions.ColumnarExpansion
    case _ => 1.0
  }
}

object LeafStatistics {

  /**
   * Largest number of bytes that a file in a columnar format takes besides its rows: footer, page headers, schema. The
   * rows take less space in the file than in memory.
   */
  private val EmptyFileBytes = 16384.0

  /**
   * Bytes and number of the files that a leaf reads, if Spark has listed them. The partition names of a catalog say
   * nothing about their files.
   */
  private def files(r: LogicalRelation): Option[(Long, Int)] = r.relation match {
    case f: HadoopFsRelation => f.location match {
        case listed: PartitioningAwareFileIndex if columnar(f.fileFormat.getClass.getSimpleName) =>
          Some((listed.sizeInBytes, listed.allFiles().size))
        case _ => None
      }
    case _ => None
  }

  private def fixedWidth(t: DataType): Option[Long] = t match {
    case _: NumericType | BooleanType | DateType | TimestampType => Some(t.defaultSize.toLong)
    case _                                                       => None
  }

  private def columnar(format: String): Boolean =
    format.startsWith("Parquet") || format.startsWith("Orc") || format.startsWith("Delta")
}
