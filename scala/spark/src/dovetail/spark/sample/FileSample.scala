package org.apache.spark.sql.dovetail.sample

import java.io.Closeable

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, XXH64}
import org.apache.spark.sql.dovetail.footers.{RowGroups, Spread}
import org.apache.spark.sql.dovetail.table.TableSample
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, PartitionedFile}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Some rows of a table of Parquet or ORC files, read on the driver by Spark's own reader and without a job, for a query
 * that is being planned.
 *
 * Of a table of moderate size every n-th row is taken, which is as good as drawing at random for predicates. Of a
 * larger one, runs of rows are read in a few places that are spread over the files, and every n-th row of these: the
 * sample says where the places begin, so that nobody takes rows that lie together for independent ones
 * ([[PlanSample.left]]). Readers fetch a column of a row group as a whole, so the fewer places and columns the longer
 * these are.
 *
 * @param wanted columns to read, as far as that does not take too many bytes
 */
final class FileSample(relation: HadoopFsRelation, groups: RowGroups, wanted: StructType) {
  import FileSample._

  private val whole = groups.all && groups.rows <= RowsReadWhole && groups.groups.size <= GroupsReadWhole

  private val (places, schema) = {
    val choices = if (whole) Vector(groups.groups)
    else Places.map(n => Spread(groups.groups.size).take(n).toVector.sorted.map(groups.groups))
    val columns = choices.map(places => places -> fitting(places.map(_._2.rows).sum.toDouble))
    columns.find(_._2.size == wanted.size).getOrElse(columns.last)
  }

  /** The narrowest columns, as many as may be fetched of so many rows. */
  private def fitting(rows: Double): StructType = {
    def bytes(f: StructField) = groups.width.getOrElse(f.name, f.dataType.defaultSize.toDouble) * rows
    val narrow                = wanted.sortBy(bytes).scanLeft((0.0, Option.empty[StructField])) { case ((sum, _), f) =>
      (sum + bytes(f), Some(f))
    }
    val kept = narrow.takeWhile(_._1 <= MostBytes).flatMap(_._2).toSet
    StructType(wanted.filter(kept))
  }

  /** None where no column may be fetched. */
  def read(): Option[TableSample] = if (schema.isEmpty) None
  else {
    val most   = if (whole) Long.MaxValue else RowsReadInPlaces / places.size
    val step   = math.max(1L, (places.map(g => math.min(g._2.rows, most)).sum + Rows - 1) / Rows)
    val open   = reader()
    val rows   = mutable.ArrayBuffer.empty[InternalRow]
    val starts = mutable.ArrayBuffer.empty[Int]
    places.foreach { case (file, group) =>
      starts += rows.size
      take(open(part(file, group.start, group.bytes)), step, most, rows)
    }
    Some(TableSample(
      schema,
      rows.toArray,
      math.max(groups.rows, rows.size.toLong),
      if (whole) Vector(0) else starts.toVector
    ))
  }

  private def reader(): PartitionedFile => Iterator[InternalRow] = {
    val (format, session) = (relation.fileFormat, relation.sparkSession)
    val batches           = format.supportBatch(session, schema)
    val options           = relation.options + (FileFormat.OPTION_RETURNING_BATCH -> batches.toString)
    val hadoop            = session.sessionState.newHadoopConfWithOptions(relation.options)
    format.buildReaderWithPartitionValues(session, relation.dataSchema, new StructType, schema, Nil, options, hadoop)
  }

  /**
   * One of every `step` rows of the first `most`: any of them, for data may repeat itself every so many rows. Readers
   * say that they return rows, and may return batches of them.
   */
  private def take(found: Iterator[Any], step: Long, most: Long, into: mutable.ArrayBuffer[InternalRow]): Unit =
    try {
      var seen                         = 0L
      var stride                       = 0L
      var next                         = FileSample.chosen(stride, step)
      def take(row: InternalRow): Unit = {
        into += copied(row, schema); stride += 1L; next = FileSample.chosen(stride, step)
      }
      while (seen < most && found.hasNext) found.next() match {
        case batch: ColumnarBatch =>
          while (next < seen + batch.numRows) take(batch.getRow((next - seen).toInt))
          seen += batch.numRows
        case row: InternalRow =>
          if (seen == next) take(row)
          seen += 1L
        case other => throw new IllegalStateException(s"a reader returned ${other.getClass}")
      }
    } finally found match { case c: Closeable => c.close(); case _ => () }
}

object FileSample {

  /**
   * Rows that are kept: predicates run on them in some milliseconds, and a share of a hundredth is known within a tenth
   * of it.
   */
  private val Rows = 20000L

  /**
   * Rows of a table that is read from end to end: of two or three columns in about 10 ms, and dimensions hardly have
   * more.
   */
  private val RowsReadWhole = 500000L

  /** Row groups of such a table: each is a request to an object store, and takes a reader of its own. */
  private val GroupsReadWhole = 16

  /** Places at which a larger table is looked at: fewer where they would be too many bytes. */
  private val Places = Vector(8, 4, 2)

  /** Rows that are read in these places, of which every n-th is kept. */
  private val RowsReadInPlaces = 100000L

  /** Bytes of a table that are fetched: some tenths of a second on a local disk or from an object store. */
  private val MostBytes = 32.0 * 1024 * 1024

  /** The row that is taken of those from `stride * step` on: the same in each session, so that plans are. */
  private def chosen(stride: Long, step: Long): Long = stride * step + Math.floorMod(XXH64.hashLong(stride, Seed), step)

  /** Any number. */
  private val Seed = 42L

  /** Flat types, whose values are copied one by one. */
  def readable(dataType: DataType): Boolean = dataType match {
    case _: NumericType | StringType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                       => false
  }

  /** A part of a file, for Spark's readers. */
  private[sample] def part(file: FileStatus, start: Long, bytes: Long): PartitionedFile =
    PartitionedFile(
      InternalRow.empty,
      SparkPath.fromFileStatus(file),
      start,
      bytes,
      Array.empty,
      file.getModificationTime,
      file.getLen
    )

  /** Readers use a row again for the next one. */
  private[sample] def copied(row: InternalRow, schema: StructType): InternalRow = {
    val values = new Array[Any](schema.size)
    var i      = 0
    while (i < values.length) {
      values(i) = if (row.isNullAt(i)) null else InternalRow.copyValue(row.get(i, schema(i).dataType)); i += 1
    }
    new GenericInternalRow(values)
  }
}
