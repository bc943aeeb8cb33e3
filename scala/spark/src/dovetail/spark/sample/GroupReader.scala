package org.apache.spark.sql.dovetail.sample

import java.io.Closeable

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.{FooterMemory, RowGroup, RowGroups}
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, PartitionedFile}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Reads columns of row groups by Spark's own reader of the file format, on the driver and without a job.
 *
 * @param schema columns of the files to read
 * @param until  time until which a read may wait for the memory of others, as [[FooterMemory]] needs it
 */
final private[sample] class GroupReader(
    relation: HadoopFsRelation,
    groups: RowGroups,
    schema: StructType,
    until: Long
) {
  private val open: PartitionedFile => Iterator[InternalRow] = {
    val (format, session) = (relation.fileFormat, relation.sparkSession)
    val batches           = format.supportBatch(session, schema)
    val options           = relation.options + (FileFormat.OPTION_RETURNING_BATCH -> batches.toString)
    val hadoop            = session.sessionState.newHadoopConfWithOptions(relation.options)
    format.buildReaderWithPartitionValues(session, relation.dataSchema, new StructType, schema, Nil, options, hadoop)
  }

  /** Passes the content of a row group to `use`, and closes the file; [[GroupReader.piece]] reads it. */
  def apply[A](file: FileStatus, group: RowGroup)(use: Iterator[Any] => A): A = {
    val found: Iterator[Any] = FooterMemory.within(until) { take =>
      take(groups.footerSize(file)); open(GroupReader.part(file, group.start, group.bytes))
    }
    try use(found)
    finally found match { case c: Closeable => c.close(); case _ => () }
  }
}

private[sample] object GroupReader {

  /** Reads what a reader returns next. Readers declare that they return rows, but may return batches of rows. */
  def piece[A](next: Any)(ofBatch: ColumnarBatch => A, ofRow: InternalRow => A): A = next match {
    case batch: ColumnarBatch => ofBatch(batch)
    case row: InternalRow     => ofRow(row)
    case other                => throw new IllegalStateException(s"a reader returned ${other.getClass}")
  }

  /** A part of a file, as input of Spark's readers. */
  def part(file: FileStatus, start: Long, bytes: Long): PartitionedFile =
    PartitionedFile(
      InternalRow.empty,
      SparkPath.fromFileStatus(file),
      start,
      bytes,
      Array.empty,
      file.getModificationTime,
      file.getLen
    )
}
