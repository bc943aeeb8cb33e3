package org.apache.spark.sql.dovetail.sample

import java.nio.file.{Files, Path => JPath}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.io.compress.{CompressionCodec, CompressionCodecFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.HeapLimit
import org.apache.spark.sql.dovetail.footers.Spread
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType

/**
 * Statistics of a table of text files, from some of its lines.
 *
 * @param rows    number of rows of the table, counted or estimated
 * @param counted number of rows that were read
 * @param whole   whether every line was read
 * @param sample  rows that were read, or one of every n of them
 * @param columns statistics of the sample's columns
 */
final case class TextTable(
    rows: Double,
    counted: Long,
    whole: Boolean,
    sample: TableSample,
    columns: Vector[TextColumn]
) {

  /** Approximate bytes of memory. */
  def bytes: Long = sample.rows.bytes + columns.size * TextTable.ColumnBytes
}

private object TextTable {

  /** Bytes of the statistics of a column. */
  val ColumnBytes = 200L
}

/**
 * Samples CSV or JSON files for a query that is being planned. Spark's own parser reads the rows on the driver, without
 * a job: all lines of a small table, and the lines of a few byte ranges of a larger one. A range consists of the lines
 * that begin in it. So the ranges have as many rows per byte as the table, and the number of rows is scaled by the
 * number of bytes.
 *
 * A compressed file has no ranges, so its beginning is read. The position in the compressed file, relative to the size
 * of the file, tells how many rows the rest has.
 */
private[sample] object TextSample {

  /** Largest number of bytes of a table that is read completely: parsed in about 20 ms. */
  private val BytesReadWhole = 1024L * 1024

  /** Largest number of files of such a table: each is a request to an object store. */
  private val FilesReadWhole = 16

  /**
   * Number of ranges to read of a larger table, and the bytes of each: together half of the limit for a small table.
   */
  private val Ranges     = 8
  private val RangeBytes = 64L * 1024

  /** Number of compressed files whose beginnings are read, and the bytes to unpack of each. */
  private val Beginnings     = 4
  private val BeginningBytes = 256 * 1024

  /**
   * Largest number of bytes of a line. A longer line is skipped, so that it does not fill the driver's memory. A table
   * that is read completely has no longer line, so all of its lines are counted.
   */
  private val LongestLine       = BytesReadWhole.toInt + 1
  private val LongestLineOption = "mapreduce.input.linerecordreader.line.maxlength"

  /** Largest number of rows and of values to keep: predicates run on them in a few milliseconds. */
  private val MostRows   = 20000
  private val MostValues = 400000

  /**
   * Largest number of bytes of the rows of a sample, if lines are long. It is a small part of the heap, because up to
   * eight samples are read at a time.
   */
  private val MostKept = HeapLimit(16L * 1024 * 1024, part = 128L)

  /** Number of rows that are kept however long they are, because fewer are no sample. */
  private val LeastRows = 16

  /**
   * Bytes that a codec reads ahead in its file. The position in the file may be ahead of the unpacked data by this
   * much.
   */
  private val CodecBuffer = 4096

  /**
   * A range of a file for Spark's reader.
   *
   * @param stored bytes that the range takes in the table's files
   */
  final private case class Range(file: FileStatus, start: Long, length: Long, stored: Double)

  private def whole(file: FileStatus) = Range(file, 0L, file.getLen, file.getLen.toDouble)

  /**
   * Reads the sample. None if no line was found, if lines are too long to estimate anything, if only some of the files
   * are compressed, or if compressed lines may not end with a line feed.
   */
  def read(text: TextFiles): Option[TextTable] = {
    val hadoop = new Configuration(text.hadoop)
    hadoop.setInt(LongestLineOption, math.min(LongestLine, hadoop.getInt(LongestLineOption, Int.MaxValue)))
    val codecs     = new CompressionCodecFactory(hadoop)
    val compressed = text.files.count(f => codecs.getCodec(f._1.getPath) != null)
    if (text.files.isEmpty)
      Some(table(text, 0.0, 0L, whole = true, TableSample(text.schema, SampledRows(text.schema, Nil), 0L)))
    else if (compressed == 0) {
      val all = text.bytes <= BytesReadWhole && text.files.size <= FilesReadWhole
      parsed(text, hadoop, if (all) text.files.map(f => whole(f._1)) else spread(text), all)
    } else if (compressed == text.files.size && text.plainLines)
      unpacked(text, hadoop)
    else None
  }

  /**
   * Ranges at equal distances over the concatenation of all files. A range ends at the end of its file at the latest,
   * and before the next one begins.
   */
  private def spread(text: TextFiles): Vector[Range] = {
    val ends     = text.files.map(_._1.getLen).scanLeft(0L)(_ + _).tail
    val length   = math.min(RangeBytes, text.bytes / Ranges)
    val distance = (text.bytes - length) / (Ranges - 1.0)
    Vector.tabulate(Ranges)(i => math.round(i * distance)).map { at =>
      val file  = text.files(ends.indexWhere(_ > at))._1
      val start = at - (ends(ends.indexWhere(_ > at)) - file.getLen)
      val bytes = math.min(length, file.getLen - start)
      Range(file, start, bytes, bytes.toDouble)
    }.distinct
  }

  /** Unpacks the beginnings of compressed files to temporary files, which are deleted after they have been read. */
  private def unpacked(text: TextFiles, hadoop: Configuration): Option[TextTable] = {
    val conf = new Configuration(hadoop)
    conf.setInt("io.file.buffer.size", CodecBuffer)
    val codecs = new CompressionCodecFactory(conf)
    val files  = mutable.ArrayBuffer.empty[JPath]
    try {
      val ranges = Spread(text.files.size).take(Beginnings).toVector.sorted.flatMap { i =>
        val file            = text.files(i)._1
        val (lines, stored) = beginning(file, codecs.getCodec(file.getPath), conf)
        if (lines.isEmpty) None
        else {
          // createTempFile lets only the owner read the file
          val copy = Files.createTempFile("dovetail-lines-", ".txt")
          files += copy
          Files.write(copy, lines)
          val path = new Path(copy.toUri)
          Some(whole(path.getFileSystem(conf).getFileStatus(path)).copy(stored = stored))
        }
      }
      parsed(text, hadoop, ranges, whole = false)
    } finally files.foreach(Files.deleteIfExists)
  }

  /** The complete lines at the beginning of a file, and the bytes that they take in the compressed file. */
  private def beginning(file: FileStatus, codec: CompressionCodec, conf: Configuration): (Array[Byte], Double) = {
    val in = file.getPath.getFileSystem(conf).open(file.getPath)
    try {
      // closing it returns the codec's native memory
      val unpacked = codec.createInputStream(in)
      try {
        val bytes = unpacked.readNBytes(BeginningBytes)
        if (bytes.length < BeginningBytes) (bytes, file.getLen.toDouble)
        else {
          val end = bytes.lastIndexOf('\n'.toByte) + 1
          (bytes.take(end), math.min(in.getPos, file.getLen).toDouble * end / bytes.length)
        }
      } finally unpacked.close()
    } finally in.close()
  }

  private def parsed(text: TextFiles, hadoop: Configuration, ranges: Vector[Range], whole: Boolean) = {
    val kept = new LineSampler(text, math.max(1, math.min(MostRows, MostValues / math.max(text.schema.size, 1))))
    val open = text.reader(hadoop)
    // parsers read the settings of the session; a reader closes its file at the end of the range
    SQLConf.withExistingConf(text.conf)(ranges.zipWithIndex.foreach { case (range, i) =>
      open(GroupReader.part(range.file, range.start, range.length)).foreach(kept.add(i, _))
    })
    val all  = whole && text.certain
    val rows =
      if (all) kept.seen.toDouble
      else math.max(kept.seen * text.bytes / math.max(ranges.map(_.stored).sum, 1.0), kept.seen.toDouble)
    if (kept.seen == 0L && !all) None
    else Some(table(
      text,
      rows,
      kept.seen,
      all,
      kept.sample(if (all) kept.seen else math.max(rows.toLong, kept.seen + 1L), all)
    ))
  }

  private def table(text: TextFiles, rows: Double, counted: Long, whole: Boolean, sample: TableSample) =
    TextTable(rows, counted, whole, sample, text.schema.indices.toVector.map(TextColumn(sample, _, whole)))

  /**
   * Keeps about one of every `step` rows that it receives, such that it holds at most `most` rows and [[MostKept]]
   * bytes. A row is drawn by the hash of its number, so rows are drawn independently, and the same files give the same
   * sample. As in [[RowDraw]], each table has its own seed.
   */
  final private class LineSampler(text: TextFiles, most: Int) {
    private val rows  = mutable.ArrayBuffer.empty[DrawnRow]
    private val seed  = XXH64.hashLong(new Path(text.place).getName.hashCode.toLong, text.bytes)
    private val texts = text.schema.indices.filter(i => text.schema(i).dataType.isInstanceOf[StringType]).toArray
    private var step  = 1L
    private var bytes = 0L
    var seen          = 0L

    def add(range: Int, row: InternalRow): Unit = {
      val hash = XXH64.hashLong(seen, seed)
      if (drawn(hash)) {
        val more = bytesOf(row)
        while ((rows.size >= most || (rows.size >= LeastRows && bytes + more > MostKept)) && drawn(hash)) {
          step *= 2L
          val still = rows.filter(r => drawn(r.hash))
          rows.clear()
          rows ++= still
          bytes = still.iterator.map(_.bytes).sum
        }
        if (drawn(hash)) { rows += DrawnRow(hash, range, row.copy(), more); bytes += more }
      }
      seen += 1L
    }

    private def drawn(hash: Long): Boolean = (hash & (step - 1L)) == 0L

    private def bytesOf(row: InternalRow): Long = {
      var sum = Slot * text.schema.size
      texts.foreach(i => if (!row.isNullAt(i)) sum += row.getUTF8String(i).numBytes)
      sum
    }

    def sample(of: Long, whole: Boolean): TableSample = {
      val starts   = rows.indices.filter(i => i == 0 || rows(i).range != rows(i - 1).range).toVector
      val clusters = if (whole) Vector.empty else starts
      TableSample(text.schema, SampledRows(text.schema, rows.map(_.row)), of, clusters)
    }
  }

  /** A row that is kept, the hash of its number, the range that it was read in, and its bytes. */
  final private case class DrawnRow(hash: Long, range: Int, row: InternalRow, bytes: Long)

  /** Bytes of a value in a row, without the characters of a text. */
  private val Slot = 8L
}
