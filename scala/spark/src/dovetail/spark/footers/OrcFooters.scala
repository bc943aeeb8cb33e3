package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc._
import org.apache.spark.sql.catalyst.util.DateTimeUtils

/**
 * Footers of ORC files: rows, and per column the values that are not NULL, their ends, and the length of texts. Of distinct values they say nothing: the
 * sizes of dictionaries are in the footers of the stripes, all over the file, and only texts have dictionaries.
 */
object OrcFooters extends FooterFormat {

  override def footer(file: FileStatus, conf: Configuration): FileFooter = {
    val options = OrcFile.readerOptions(conf).filesystem(file.getPath.getFileSystem(conf)).maxLength(file.getLen)
    val reader  = OrcFile.createReader(file.getPath, options)
    try {
      val schema     = reader.getSchema
      val statistics = reader.getStatistics
      val names      = schema.getFieldNames.toArray(Array.empty[String]).toVector
      val types      = schema.getChildren.toArray(Array.empty[TypeDescription]).toVector
      // statistics are numbered as the schema is, depth first
      val columns = names.zip(types).map { case (name, t) => name -> columnOf(name, statistics(t.getId), reader.getNumberOfRows, flat = t.getChildren == null) }
      FileFooter(reader.getNumberOfRows, columns.toMap)
    } finally reader.close()
  }

  override def distinct(file: FileStatus, conf: Configuration, columns: Seq[ColumnFooter], goOn: () => Boolean): Seq[(String, Option[Distinct])] =
    columns.map(_.name -> None)

  private def columnOf(name: String, s: ColumnStatistics, rows: Long, flat: Boolean): ColumnFooter = {
    val values       = s.getNumberOfValues
    val (kind, ends) = if (flat) range(s) else (Kind.Other, None)
    val width        = s match {
      case t: StringColumnStatistics if values > 0L => Some(t.getSum.toDouble / values)
      case b: BinaryColumnStatistics if values > 0L => Some(b.getSum.toDouble / values)
      case _                                        => None
    }
    ColumnFooter(name, values, if (flat) Some(math.max(0L, rows - values)) else None, kind, if (values > 0L) ends else None, s.getBytesOnDisk, width)
  }

  /** Statistics without ends answer with null, or with the ends of nothing, which are in the wrong order. */
  private def range(s: ColumnStatistics): (Kind, Option[Ends]) = {
    def numbers(low: Double, high: Double): Option[Ends] = if (low <= high && !low.isInfinite && !high.isInfinite) Some(Numbers(low, high)) else None
    s match {
      case i: IntegerColumnStatistics => (Kind.Number, numbers(i.getMinimum.toDouble, i.getMaximum.toDouble))
      case d: DoubleColumnStatistics  => (Kind.Number, numbers(d.getMinimum, d.getMaximum))
      case d: DecimalColumnStatistics =>
        (Kind.Number, for (l <- Option(d.getMinimum); h <- Option(d.getMaximum); n <- numbers(l.doubleValue, h.doubleValue)) yield n)
      case d: DateColumnStatistics =>
        (Kind.Date, numbers(d.getMinimumDayOfEpoch.toDouble, d.getMaximumDayOfEpoch.toDouble).filter(_ => d.getMinimumDayOfEpoch >= GregorianDay))
      case t: TimestampColumnStatistics =>
        def micros(v: java.sql.Timestamp) = DateTimeUtils.fromJavaTimestamp(v).toDouble
        (Kind.Timestamp, for (l <- Option(t.getMinimum); h <- Option(t.getMaximum); n <- numbers(micros(l), micros(h))) yield n)
      case b: BooleanColumnStatistics =>
        (Kind.Number, numbers(if (b.getFalseCount > 0L) 0.0 else 1.0, if (b.getTrueCount > 0L) 1.0 else 0.0))
      case _ => (Kind.Other, None)
    }
  }

  /** 15 October 1582, in days since the epoch: earlier dates are those of another calendar in some files, and in statistics it is not said in which. */
  private val GregorianDay = -141427L
}
