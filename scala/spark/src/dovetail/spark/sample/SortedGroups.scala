package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.{ColumnFooter, Ends, FileFooter, Numbers, RowGroups}
import org.apache.spark.sql.dovetail.predicates.Values
import org.apache.spark.sql.types.{DataType, StructField}

/**
 * Whether rows are sorted within row groups, while each group has values of a large part of the table: files that were
 * written with `sortWithinPartitions`, or sorted buckets. The first rows of all row groups then have the smallest
 * values, agree with each other, and say nothing of the rest. [[FileSample]] then reads further inside of the groups.
 *
 * A table that is sorted as a whole, such as by time, is no such table: each of its row groups has a small part of all
 * values, and its places differ from each other.
 */
private[sample] object SortedGroups {

  /**
   * Whether it is so for any column.
   *
   * @param files footer of the file of each place
   * @param rows  the first rows of each place, in their order in the file
   */
  def apply(
      groups: RowGroups,
      schema: Seq[StructField],
      files: Seq[FileFooter],
      rows: Seq[Seq[InternalRow]]
  ): Boolean =
    schema.zipWithIndex.exists { case (f, i) =>
      Values.ordered(f.dataType) && isSorted(groups, f, files, rows.map(values(_, i, f.dataType)))
    }

  private def isSorted(groups: RowGroups, f: StructField, files: Seq[FileFooter], places: Seq[Seq[Double]]): Boolean = {
    val ends = groups.files.map { case (_, footer) => groups.column(footer, f).flatMap(_.ends) }
    Ends.hull(ends) match {
      case Some(Numbers(low, high)) =>
        val sorted = files.zip(places).count { case (file, values) =>
          groups.column(file, f).flatMap(width).exists { group =>
            group > 0.0 && group >= (high - low) * LargePart && isBeginning(values, group)
          }
        }
        2 * sorted > places.size
      case _ => false
    }
  }

  /** Width of the range of values in a row group of a file: the median of those that are known. */
  private def width(column: ColumnFooter): Option[Double] = {
    val known = if (column.groups > 1) column.parts else column.ends.toVector.collect { case n: Numbers => n }
    if (known.isEmpty) None else Some(known.map(n => n.high - n.low).sorted.apply(known.size / 2))
  }

  /** Whether values are in order and have a small part of their group's range. */
  private def isBeginning(values: Seq[Double], group: Double): Boolean =
    values.size >= LeastValues && values.max - values.min <= group * SmallPart && {
      val steps       = values.zip(values.drop(1))
      val (up, down)  = (steps.count { case (a, b) => a < b }, steps.count { case (a, b) => a > b })
      val (more, few) = (math.max(up, down), math.min(up, down))
      more >= LeastSteps && few <= more * Strays
    }

  private def values(rows: Seq[InternalRow], column: Int, dataType: DataType): Seq[Double] =
    rows.filterNot(_.isNullAt(column)).flatMap(r => Values.number(r.get(column, dataType)))

  /** Share of a table's range from which on a row group is no part of a table that is sorted as a whole. */
  private val LargePart = 0.25

  /** Share of a group's range that values in random order exceed certainly. */
  private val SmallPart = 0.25

  /** Values of a place that tell an order: a hundred are in order by chance never. */
  private val LeastValues = 100

  /** Steps from one value to another: a column that has nearly always the same value is not sorted. */
  private val LeastSteps = 10

  /** Share of steps in the other direction: rows that were added later may follow the sorted ones. */
  private val Strays = 0.1
}
