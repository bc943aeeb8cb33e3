package org.apache.spark.sql.dovetail.footers

import dovetail.kernel.profile.{ColumnProfile, Source, Width}
import org.apache.spark.sql.dovetail.predicates.{Values, Widths}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** Profile of a partition column of a table of files. Its values are known without reading a file. */
object PartitionProfile {

  /**
   * @param files the column's value for each file
   * @param nulls share of the rows whose value is NULL
   * @param rows  number of rows of the table
   */
  def apply(
      dataType: DataType,
      files: Vector[Any],
      nulls: Double,
      rows: Double,
      source: Source
  ): (ColumnProfile, Seq[String]) = {
    val values  = files.distinct
    val numbers = values.flatMap(v => Option(v)).flatMap(Values.number(_))
    ColumnProfile.checked(
      ndv = Some(values.count(_ != null).toDouble),
      nulls = Some(nulls * rows),
      rows = Some(rows),
      min = numbers.reduceOption(_ min _),
      max = numbers.reduceOption(_ max _),
      histogram = None,
      width = Some(width(dataType, values, source))
    )
  }

  private def width(dataType: DataType, values: Vector[Any], source: Source): Width = {
    def longest = values.collect {
      case s: UTF8String => s.numBytes.toDouble; case b: Array[Byte] => b.length.toDouble
    }.foldLeft(0.0)(math.max)
    if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType)
    else Width.measured(dataType.defaultSize.toDouble, Some(longest), None, source)
  }
}
