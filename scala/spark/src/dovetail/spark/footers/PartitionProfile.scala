package org.apache.spark.sql.dovetail.footers

import scala.collection.mutable

import dovetail.kernel.profile.{ColumnProfile, Frequencies, FrequentValue, Source, Width}
import org.apache.spark.sql.dovetail.deadline.ListedFiles
import org.apache.spark.sql.dovetail.predicates.{JoinKeys, Values, Widths}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** Profile of a partition column of a table of files. Its values are known without reading a file. */
object PartitionProfile {

  /**
   * @param files the column's value in each file, with a number that is proportional to the rows of the file
   * @param rows  number of rows of the table
   */
  def apply(
      dataType: DataType,
      files: Vector[(Any, Double)],
      rows: Double,
      source: Source
  ): (ColumnProfile, Seq[String]) = {
    val weights = mutable.LinkedHashMap.empty[Any, Double]
    files.foreach { case (value, weight) => weights(value) = weights.getOrElse(value, 0.0) + weight }
    val values           = weights.keys.toVector
    val numbers          = values.flatMap(v => Option(v)).flatMap(Values.number(_))
    val all              = weights.values.sum
    val (column, faults) = ColumnProfile.checked(
      ndv = Some(values.count(_ != null).toDouble),
      nulls = Some(if (all > 0.0) weights.getOrElse(null, 0.0) / all * rows else 0.0),
      rows = Some(rows),
      min = numbers.reduceOption(_ min _),
      max = numbers.reduceOption(_ max _),
      histogram = None,
      width = Some(width(dataType, values, source))
    )
    (column.copy(frequent = frequencies(dataType, weights.toVector.filter(_._1 != null))), faults)
  }

  /**
   * The profile if the rows of a file are in proportion to its bytes.
   *
   * @param files the files with their values of the partition columns
   * @param i     place of the column among these
   */
  def byBytes(
      dataType: DataType,
      i: Int,
      files: Vector[ListedFiles.File],
      rows: Double,
      source: Source
  ): ColumnProfile =
    apply(
      dataType,
      files.map { case (file, values) => values.get(i, dataType) -> file.getLen.toDouble },
      rows,
      source
    )._1

  /** The share of the rows that each value has, if there are not too many values. */
  private def frequencies(dataType: DataType, weights: Vector[(Any, Double)]): Option[Frequencies] = {
    val all = weights.map(_._2).sum
    if (weights.size > MostValues || all <= 0.0) None
    else
      JoinKeys.forType(dataType).map { key =>
        val values = weights.map { case (v, weight) => FrequentValue(key(v), Values.number(v), weight / all) }
        Frequencies(values.sortBy(v => (-v.share, v.key)), complete = true)
      }
  }

  /** Most values whose shares are kept: as many as a collection of statistics keeps. */
  private val MostValues = 512

  private def width(dataType: DataType, values: Vector[Any], source: Source): Width = {
    def longest = values.collect {
      case s: UTF8String => s.numBytes.toDouble; case b: Array[Byte] => b.length.toDouble
    }.foldLeft(0.0)(math.max)
    if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType)
    else Width.measured(dataType.defaultSize.toDouble, Some(longest), None, source)
  }
}
