package org.apache.spark.sql.dovetail.stats

import java.util.IdentityHashMap

import scala.collection.mutable

import dovetail.kernel.cost.{BroadcastMemory, ClusterFacts}
import dovetail.kernel.profile.Assumptions
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStatistics, CatalogTable}
import org.apache.spark.sql.dovetail.base.{FailOpen, LazyValue}
import org.apache.spark.sql.dovetail.deadline.FilesInMemory
import org.apache.spark.sql.dovetail.leaf.{ColumnarFormat, LeafNames, MalformedRecords}
import org.apache.spark.sql.dovetail.report.ReportNumbers
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, DateType, NumericType, TimestampType}

/**
 * Row counts in the session catalog (ANALYZE TABLE), and whether the data of their tables confirms them.
 *
 * A count is as old as the last ANALYZE, and any program may have added files since. So the count of a table that may
 * be broadcast has bounds only if all rows of the files were counted while the query is planned: files may be small
 * because their rows compress well. Any other count is an estimate: the search uses its value, and no broadcast depends
 * on it.
 *
 * @param counted rows of all files of a relation; None if not all of them were counted. It may read files.
 */
final private[stats] class CatalogCounts(conf: SQLConf, counted: LogicalRelation => Option[Double]) {
  import CatalogCounts._

  // statistics of tables from before Spark pruned partitions: after that, the plan only has a size
  private val whole = mutable.HashMap.empty[TableIdentifier, CatalogStatistics]

  // added up once because a table may have very many files
  private val sizes = new IdentityHashMap[LogicalRelation, Option[DataSize]]

  // the same verdict for the whole of planning, although files may be read meanwhile
  private val verdicts = new IdentityHashMap[LogicalRelation, Option[CatalogCount]]

  def learnFrom(table: Option[CatalogTable]): Unit =
    for (t <- table; s <- t.stats if s.rowCount.isDefined) whole.getOrElseUpdate(t.identifier, s)

  /**
   * Statistics of the whole table, if they have a row count. The predicates that pruned its partitions are still in the
   * plan, and are estimated like all others.
   *
   * @param name name of the table for messages
   */
  def statistics(name: String, table: Option[CatalogTable]): Option[CatalogStatistics] =
    table.flatMap(t => whole.get(t.identifier).orElse(t.stats)).filter(s => sensible(name, s.rowCount).isDefined)

  /**
   * A number that changes if another ANALYZE changes the statistics of a table; 0 without statistics. It leaves out the
   * size in bytes, which Spark also sets without an ANALYZE, and is the same in every JVM. It is computed at the first
   * use because a table may have very many columns.
   */
  def version(name: String, table: Option[CatalogTable]): LazyValue[Long] = statistics(name, table) match {
    case Some(s) => new LazyValue(() => (s.rowCount, s.colStats).hashCode.toLong)
    case None    => LazyValue.made(0L)
  }

  /** Statistics of a relation, and whether their count is certain; None if the data of the table refutes the count. */
  def apply(r: LogicalRelation): Option[CatalogCount] = verdicts.computeIfAbsent(r, judged(_))

  private def judged(r: LogicalRelation): Option[CatalogCount] = statistics(LeafNames.name(r), r.catalogTable).flatMap {
    s =>
      bySize(r, s) match {
        case Confirmed => Some(CatalogCount(s, certain = true))
        case Possible  => atMost(r, s)
        case Refuted   => None
        case Open      => byCount(r, s)
      }
  }

  /** The count as a bound, unless the files have more rows; certain if their rows were counted. */
  private def atMost(r: LogicalRelation, s: CatalogStatistics): Option[CatalogCount] = counted(r) match {
    case Some(n) if n > s.rowCount.get.toDouble => byCount(r, s)
    case n                                      => Some(CatalogCount(s, certain = n.isDefined))
  }

  /** Whether the relation has statistics that the size of its data does not refute. */
  def fits(r: LogicalRelation): Boolean =
    statistics(LeafNames.name(r), r.catalogTable).exists(bySize(r, _) != Refuted)

  /** Whether a count of the rows in the files would make the catalog's count certain, or refute it. */
  def asksFiles(r: LogicalRelation): Boolean =
    statistics(LeafNames.name(r), r.catalogTable).exists(s =>
      bySize(r, s) match {
        case Confirmed | Refuted => false
        case Possible            => true
        case Open                => worthCounting(r, s)
      }
    )

  private def bySize(r: LogicalRelation, s: CatalogStatistics): Verdict =
    sizes.computeIfAbsent(r, sizeOf(_)).fold[Verdict](Open) { size =>
      // the lengths of strings and arrays are unknown if these have no statistics
      val widths = r.output.map(a => s.colStats.get(a.name).flatMap(_.avgLen).orElse(fixedWidth(a.dataType)))
      val rows   = s.rowCount.get.toDouble
      val bytes  = rows * (Assumptions.RowOverhead + widths.flatten.sum)
      // so many rows fill at most so many files: other files may have been added
      if (size.bytes <= bytes + math.min(size.besides, EmptyFileBytes * math.max(rows, 1.0)))
        if (size.ofFiles && worthCounting(r, s)) Possible else Confirmed
      else if (size.ofFiles && !widths.contains(None) && size.bytes > bytes + size.besides) {
        refuted(r, s"its files are too large for the ${s.rowCount.get} rows in them")
        Refuted
      } else Open
    }

  private def byCount(r: LogicalRelation, s: CatalogStatistics): Option[CatalogCount] = {
    val rows = s.rowCount.get.toDouble
    (if (worthCounting(r, s)) counted(r) else None) match {
      case None                                                 => Some(CatalogCount(s, certain = false))
      case Some(n) if n == rows || (n < rows && mayBePruned(r)) => Some(CatalogCount(s, certain = true))
      case Some(n)                                              =>
        refuted(r, s"its files have ${ReportNumbers.whole(n)} rows, not ${s.rowCount.get}")
        None
    }
  }

  private def refuted(r: LogicalRelation, why: String): Unit = {
    val name = LeafNames.name(r)
    FailOpen.warnOnce(s"$name old", s"Statistics of $name are not used: $why. Analyze the table again")
  }

  /**
   * Whether so few rows may be broadcast. A bound on more rows changes no decision, so a large table is not listed only
   * to confirm its count.
   */
  private def worthCounting(r: LogicalRelation, s: CatalogStatistics): Boolean =
    r.relation.isInstanceOf[HadoopFsRelation] && !MalformedRecords.areDropped(r) &&
      BroadcastMemory(s.rowCount.get.toDouble, 0.0) <= ClusterFacts.riskLimit(conf.autoBroadcastJoinThreshold.toDouble)

  /** Whether Spark may have left only some partitions of the table. */
  private def mayBePruned(r: LogicalRelation): Boolean =
    r.catalogTable.exists(_.partitionColumnNames.nonEmpty) && (r.relation match {
      case f: HadoopFsRelation => !f.location.isInstanceOf[CatalogFileIndex]
      case _                   => false
    })

  private def sizeOf(r: LogicalRelation): Option[DataSize] = r.relation match {
    case f: HadoopFsRelation => f.location match {
        // an index of a catalog only has the names of partitions, which say nothing about the files
        case FilesInMemory(listed) if ColumnarFormat(f) =>
          Some(DataSize(listed.sizeInBytes, EmptyFileBytes * listed.allFiles().size, ofFiles = true))
        case _ => None
      }
    // Spark broadcasts by this size. A source should report rather too many bytes, so a larger size refutes nothing
    case other => Some(DataSize(other.sizeInBytes, 0.0, ofFiles = false)).filter(s =>
        s.bytes > 0L && s.bytes < conf.defaultSizeInBytes
      )
  }
}

/** @param certain whether the row count is a bound */
final private[stats] case class CatalogCount(statistics: CatalogStatistics, certain: Boolean)

private[stats] object CatalogCounts {

  /**
   * Bytes of the data of a relation.
   *
   * @param besides maximum bytes that are not rows
   */
  final private case class DataSize(bytes: Long, besides: Double, ofFiles: Boolean)

  /** What the data of a table says about the catalog's count. */
  sealed private trait Verdict
  private case object Confirmed extends Verdict

  /** Files are small enough for the count, but may have more rows than that: rows that compress well. */
  private case object Possible extends Verdict
  private case object Refuted  extends Verdict
  private case object Open     extends Verdict

  /**
   * Largest number of bytes that a file in a columnar format takes besides its rows: footer, page headers, schema. The
   * rows take less space in the file than in memory.
   */
  private val EmptyFileBytes = 16384.0

  /** The count, unless it is negative. */
  def sensible(name: String, rows: Option[BigInt]): Option[BigInt] = {
    rows.filter(_ < 0).foreach(n =>
      FailOpen.warnOnce(s"$name rows", s"Statistics of $name are invalid and ignored: $n rows")
    )
    rows.filter(_ >= 0)
  }

  private def fixedWidth(t: DataType): Option[Long] = t match {
    case _: NumericType | BooleanType | DateType | TimestampType => Some(t.defaultSize.toLong)
    case _                                                       => None
  }
}
