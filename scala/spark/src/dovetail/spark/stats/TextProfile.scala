package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, RelationProfile, Source, Width}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.footers.{Lengths, PartitionProfile}
import org.apache.spark.sql.dovetail.predicates.Widths
import org.apache.spark.sql.dovetail.sample.{TextColumn, TextFiles, TextTable}
import org.apache.spark.sql.types.DataType

/**
 * Rows and columns of CSV and JSON files, from lines that were read from them. If not all lines were read, neither rows
 * nor widths have an upper bound: such a table is not broadcast before Spark has seen its size.
 */
private[stats] object TextProfile {
  def apply(output: Seq[Attribute], text: TextFiles, table: TextTable): RelationProfile = {
    val rows =
      if (table.whole) Estimate.exactly(table.rows, Source.Sample)
      else Estimate(table.rows, if (text.certain) table.counted.toDouble else 0.0, Estimate.Ceiling, Source.Sample)
    val partition = text.relation.partitionSchema.fieldNames.zipWithIndex.toMap
    val sampled   = text.schema.fieldNames.zip(table.columns).toMap
    val columns   = output.map { a =>
      a.exprId.id -> partition.get(a.name)
        .map(PartitionProfile.byBytes(a.dataType, _, text.files, rows.value, Source.Sample))
        .orElse(sampled.get(a.name).map(ofLines(a.dataType, _, table)))
        .getOrElse(UnknownColumns(a))
    }
    RelationProfile(rows, columns.toMap, rows.value)
  }

  private def ofLines(dataType: DataType, c: TextColumn, table: TextTable): ColumnProfile = {
    val nonNull = table.rows * (1.0 - c.nulls)
    val ndv     = c.ndv.map(math.min(_, math.max(nonNull, 1.0)))
    ColumnProfile.checked(
      ndv = ndv,
      nulls = Some(c.nulls * table.rows),
      rows = Some(table.rows),
      min = None,
      max = None,
      histogram = None,
      width = Some(width(dataType, c.lengths))
    )._1.copy(repetition = ndv.fold(0.0)(Assumptions.repetition(_, nonNull)))
  }

  private def width(dataType: DataType, lengths: Option[Lengths]): Width = lengths match {
    case Some(l) if Widths.fixed(dataType).isEmpty => Width.measured(l.mean, l.longest, l.total, Source.Sample)
    case _                                         => Widths.ofType(dataType)
  }
}
