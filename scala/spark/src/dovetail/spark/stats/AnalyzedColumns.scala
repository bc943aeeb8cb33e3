package org.apache.spark.sql.dovetail.stats

import scala.util.control.NonFatal

import dovetail.kernel.profile._
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{ColumnStat, LeafNode}
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, Values, Widths}
import org.apache.spark.sql.dovetail.table.{ColumnStatistics, TableStatistics}
import org.apache.spark.sql.types.DataType

/**
 * Profiles of tables whose columns were counted, by Dovetail or by Spark. Numbers that make no sense are dropped
 * (`ColumnProfile.checked`), and one line is logged.
 *
 * @param histograms whether histograms are used
 */
final private[stats] class AnalyzedColumns(histograms: Boolean) {

  /** From Spark's statistics of a table in the catalog. */
  def ofCatalog(name: String, output: Seq[Attribute], count: CatalogCount): RelationProfile = {
    val stats                                        = count.statistics
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
    val counted = ofColumns(name, output, Estimate.exactly(rows, Source.Catalog), columnStat)
    if (count.certain) counted else WithoutBounds(counted, output)
  }

  /** From the statistics that Dovetail collected: exact counts, or guesses if the data has changed since. */
  def collected(
      name: String,
      leaf: LeafNode,
      columns: Seq[Attribute],
      table: TableStatistics
  ): RelationProfile = {
    val byName = table.columns.map(c => c.name -> c).toMap
    val rows   = if (table.fresh) Estimate.exactly(table.rows.toDouble, Source.Collected)
    else Estimate.guess(table.rows.toDouble, Source.Collected)
    val ids    = leaf.output.map(a => a.name -> a.exprId.id).toMap
    val groups = table.groups.filter(_.columns.forall(ids.contains)).map(g => g.columns.map(ids).toSet -> g.ndv).toMap
    profile(name, columns, rows) { a =>
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
            // values that are equal under a collation were counted apart
            val exact  = c.complete && table.fresh && JoinKeys.forType(a.dataType).isDefined
            val degree = c.heavyHitters.headOption.filter(_ => exact).map(_._2.toDouble)
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
   * Width of a column from the statistics that Dovetail collected. Its bounds hold only for the files that were read,
   * and for values of the type that they were read with.
   */
  private def width(dataType: DataType, c: ColumnStatistics, fresh: Boolean): Width =
    if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType)
    else if (fresh && Widths.covers(c.dataType, dataType)) Width.measured(
      c.width,
      Some(c.maxWidth.toDouble),
      Some(Width.padded(c.values.toDouble, c.values * c.width)),
      Source.Collected
    )
    else Width.unknown(c.width)

  /** From Spark's statistics of the columns. */
  def ofColumns(
      name: String,
      output: Seq[Attribute],
      rows: Estimate,
      statOf: Attribute => Option[ColumnStat]
  ): RelationProfile =
    profile(name, output, rows) { a =>
      statOf(a).map { stat =>
        ColumnProfile.checked(
          ndv = stat.distinctCount.map(_.toDouble),
          nulls = stat.nullCount.map(_.toDouble),
          rows = Some(rows.value),
          min = stat.min.flatMap(Values.number(_)),
          max = stat.max.flatMap(Values.number(_)),
          histogram = if (!histograms) None
          else stat.histogram.filter(_.bins.nonEmpty).map(h =>
            Histogram(h.bins.toVector.map(b => Bucket(b.lo, b.hi, b.ndv.toDouble)))
          ),
          width = Some(width(a.dataType, stat, rows))
        )
      }
    }

  private def width(dataType: DataType, stat: ColumnStat, rows: Estimate): Width =
    stat.avgLen.map(_.toDouble) match {
      case Some(mean) if Widths.fixed(dataType).isEmpty =>
        val total = Width.padded(rows.value, rows.value * mean)
        Width.measured(mean, stat.maxLen.map(_.toDouble), Some(total), rows.source)
      case Some(mean) => Widths.ofType(dataType).copy(mean = mean)
      case None       => Widths.ofType(dataType)
    }

  private def profile(
      name: String,
      output: Seq[Attribute],
      rows: Estimate
  )(known: Attribute => Option[(ColumnProfile, Seq[String])]): RelationProfile = {
    val columns = output.map { a =>
      val (column, faults) = known(a).getOrElse((UnknownColumns(a), Nil))
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
}
