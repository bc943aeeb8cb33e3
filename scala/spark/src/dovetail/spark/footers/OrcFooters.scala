package org.apache.spark.sql.dovetail.footers

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.dovetail.base.SharedMemory

/**
 * Footers of ORC files: rows and, per column, the number of non-null values, their ends, and the length of strings.
 * They say nothing about distinct values: the sizes of dictionaries are in the footers of the stripes, all over the
 * file, and only strings have dictionaries. The tail of a file also has the statistics of each column of each stripe.
 * They are fetched with the footer, so the tail as a whole asks for memory ([[AdmittedReads]]).
 */
object OrcFooters extends FooterFormat {

  override def footer(file: FileStatus, conf: Configuration, admit: Long => Unit): FileFooter = {
    val files  = new AdmittedReads(file.getPath.getFileSystem(conf), admit)
    val reader = opened(file, OrcFile.readerOptions(conf).filesystem(files).maxLength(file.getLen))
    try {
      val schema     = reader.getSchema
      val statistics = reader.getStatistics
      val names      = schema.getFieldNames.toArray(Array.empty[String]).toVector
      val types      = schema.getChildren.toArray(Array.empty[TypeDescription]).toVector
      // statistics are numbered like the schema, depth first
      val columns = names.zip(types).map { case (name, t) =>
        val bytes =
          if (t.getChildren == null) None else Some(nestedBytes(t, statistics, reader.getNumberOfRows.toDouble))
        name -> columnOf(name, statistics(t.getId), reader.getNumberOfRows, bytes).copy(leaves = leaves(t))
      }
      FileFooter(
        reader.getNumberOfRows,
        columns.toMap,
        groups(reader.getStripes.toArray(Array.empty[StripeInformation]).toVector)
      )
    } finally reader.close()
  }

  /**
   * Stripes as row groups, small ones together: a reader of a part of a file reads the stripes that begin in it. Each
   * row group that is read needs a reader of its own.
   */
  private def groups(stripes: Vector[StripeInformation]): Vector[RowGroup] =
    stripes.foldLeft(Vector.empty[RowGroup]) { (groups, s) =>
      groups.lastOption.filter(_.rows + s.getNumberOfRows <= GroupRows) match {
        case Some(g) =>
          groups.init :+ g.copy(
            bytes = s.getOffset + s.getLength - g.start,
            rows = g.rows + s.getNumberOfRows,
            parts = g.parts.map(math.max(_, s.getNumberOfRows))
          )
        case None => groups :+ RowGroup(s.getOffset, s.getLength, s.getNumberOfRows, Some(s.getNumberOfRows))
      }
    }

  /** Most rows of stripes that are taken together: a place of a large table is read in fewer rows. */
  private val GroupRows = 100000L

  /** Opens a file. ORC wraps what it does not know into an exception of its own, as if the file was faulty. */
  private def opened(file: FileStatus, options: OrcFile.ReaderOptions): Reader =
    try OrcFile.createReader(file.getPath, options)
    catch {
      case e: IOException => e.getCause match {
          case SharedMemory.TooLarge | SharedMemory.NoFreeMemory => throw e.getCause
          case _                                                 => throw e
        }
    }

  override def distinct(
      file: FileStatus,
      conf: => Configuration,
      columns: Seq[ColumnFooter],
      goOn: () => Boolean
  ): Seq[(String, Option[Distinct])] =
    columns.map(_.name -> None)

  override def readsFor(columns: Seq[ColumnFooter]): Boolean = false

  private def leaves(t: TypeDescription): Int =
    if (t.getChildren == null) 1 else (0 until t.getChildren.size).map(i => leaves(t.getChildren.get(i))).sum

  /** @param nested None for a flat column; for a nested one, the upper bound of its bytes in memory, if it is known */
  private def columnOf(name: String, s: ColumnStatistics, rows: Long, nested: Option[Option[Double]]): ColumnFooter = {
    val values       = s.getNumberOfValues
    val flat         = nested.isEmpty
    val (kind, ends) = if (flat) range(s) else (Kind.Other, None)
    val lengths      = nested match {
      case Some(bytes) => bytes.map(Lengths.nested(rows.toDouble, _))
      case None        => texts(s).map(Lengths.flat(values.toDouble, _))
    }
    ColumnFooter(
      name,
      values,
      if (flat) Some(math.max(0L, rows - values)) else None,
      kind,
      if (values > 0L) ends else None,
      s.getBytesOnDisk,
      lengths,
      unpacked = if (flat) unpacked(s) else 0.0
    )
  }

  /**
   * Upper bound of the bytes of `n` values of a type in memory, NULLs included; None if the number of elements of a
   * list is unknown.
   */
  private def nestedBytes(t: TypeDescription, statistics: Array[ColumnStatistics], n: Double): Option[Double] = {
    def all(parts: Seq[Option[Double]]): Option[Double] =
      if (parts.forall(_.isDefined)) Some(parts.flatten.sum) else None
    def children = (0 until t.getChildren.size).map(t.getChildren.get(_))
    // NULL elements are not counted; the statistics of list lengths are wrong (ORC 2.2 adds up the allocated capacity
    // instead)
    def elements(of: TypeDescription): Option[Double] =
      Some(statistics(of.getId)).filterNot(_.hasNull).map(_.getNumberOfValues.toDouble)
    def ofList = all(
      children.map(c => elements(c).flatMap(nestedBytes(c, statistics, _)))
    ).map(_ + children.size * NestedBytes.containers(n))
    t.getCategory match {
      case TypeDescription.Category.STRUCT =>
        all(children.map(nestedBytes(_, statistics, n))).map(_ + NestedBytes.containers(n))
      case TypeDescription.Category.LIST | TypeDescription.Category.MAP => ofList
      case TypeDescription.Category.UNION                               => None
      case _                                                            =>
        statistics(t.getId) match {
          case s @ (_: StringColumnStatistics | _: BinaryColumnStatistics) =>
            if (s.getNumberOfValues == 0L) Some(NestedBytes.elements(n)) else texts(s).map(NestedBytes.texts(n, _))
          case _: DecimalColumnStatistics => Some(NestedBytes.texts(n, n * LongDecimal))
          case _                          => Some(NestedBytes.elements(n))
        }
    }
  }

  /** Bytes of a decimal of more than 18 digits, in addition to its word. */
  private val LongDecimal = 16.0

  /** A reader unpacks the texts of a batch, or a dictionary of up to all texts, which it then copies. */
  private def unpacked(s: ColumnStatistics): Double = s match {
    case _: StringColumnStatistics | _: BinaryColumnStatistics => texts(s).fold(Double.PositiveInfinity)(_ * Copies)
    case _                                                     => 0.0
  }

  /** Times that the reader of ORC files has a dictionary in memory. */
  private val Copies = 2.0

  private def texts(s: ColumnStatistics): Option[Double] = s match {
    // a writer that has counted nothing also leaves 0
    case t: StringColumnStatistics => Some(t.getSum.toDouble).filter(_ > 0.0 || Option(t.getMaximum).forall(_.isEmpty))
    case b: BinaryColumnStatistics => Some(b.getSum.toDouble).filter(_ > 0.0)
    case _                         => None
  }

  /**
   * Kind and ends of a column. Statistics without ends return null, or the initial ends, which are in the wrong order.
   */
  private def range(s: ColumnStatistics): (Kind, Option[Ends]) = {
    def numbers(low: Double, high: Double): Option[Ends] =
      if (low <= high && !low.isInfinite && !high.isInfinite) Some(Numbers(low, high)) else None
    s match {
      case i: IntegerColumnStatistics => (Kind.Number, numbers(i.getMinimum.toDouble, i.getMaximum.toDouble))
      case d: DoubleColumnStatistics  => (Kind.Number, numbers(d.getMinimum, d.getMaximum))
      case d: DecimalColumnStatistics =>
        (
          Kind.Number,
          for (l <- Option(d.getMinimum); h <- Option(d.getMaximum); n <- numbers(l.doubleValue, h.doubleValue)) yield n
        )
      case d: DateColumnStatistics =>
        (
          Kind.Date,
          numbers(d.getMinimumDayOfEpoch.toDouble, d.getMaximumDayOfEpoch.toDouble).filter(_ =>
            d.getMinimumDayOfEpoch >= GregorianDay
          )
        )
      case t: TimestampColumnStatistics =>
        def micros(v: java.sql.Timestamp) = DateTimeUtils.fromJavaTimestamp(v).toDouble
        (
          Kind.Timestamp,
          for (l <- Option(t.getMinimum); h <- Option(t.getMaximum); n <- numbers(micros(l), micros(h))) yield n
        )
      case b: BooleanColumnStatistics =>
        (Kind.Number, numbers(if (b.getFalseCount > 0L) 0.0 else 1.0, if (b.getTrueCount > 0L) 1.0 else 0.0))
      case _ => (Kind.Other, None)
    }
  }

  /**
   * 15 October 1582, in days since the epoch. In some files, earlier dates are in another calendar, and the statistics
   * do not say in which one.
   */
  private val GregorianDay = -141427L
}
