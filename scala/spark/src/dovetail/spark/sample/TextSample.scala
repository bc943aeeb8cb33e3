package org.apache.spark.sql.dovetail.sample

import java.nio.file.{Files, Path => JPath}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.io.compress.{CompressionCodec, CompressionCodecFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.dovetail.footers.Spread
import org.apache.spark.sql.dovetail.table.{SampledRows, TableSample}
import org.apache.spark.sql.internal.SQLConf

/**
 * What some lines of text files say of all of them.
 *
 * @param rows    of the table, counted or estimated
 * @param counted rows that were read
 * @param whole   every line was read
 * @param sample  rows that were read, or every n-th of them
 * @param columns those of the sample
 */
final case class TextTable(
    rows: Double,
    counted: Long,
    whole: Boolean,
    sample: TableSample,
    columns: Vector[TextColumn]
) {
  def values: Long = 1L + sample.rows.length.toLong * (1L + sample.schema.size)
}

/**
 * Rows of CSV or JSON files, read on the driver by Spark's own parser and without a job, for a query that is being
 * planned: of a small table all lines, of a larger one those of a few ranges of bytes. A range has the lines that begin
 * in it, so rows per byte are those of the table, and the table has as many times more rows as it has bytes.
 *
 * A compressed file has no ranges; its beginning is read. How far that is in the file's own bytes says how many rows the
 * rest has.
 */
private[sample] object TextSample {

  /** Bytes of a table that is read from end to end: parsed in about 20 ms. */
  private val BytesReadWhole = 1024L * 1024

  /** Files of such a table: each is a request to an object store. */
  private val FilesReadWhole = 16

  /** Ranges that are read of a larger table, and the bytes of each: together half of what is read of a small one. */
  private val Ranges     = 8
  private val RangeBytes = 64L * 1024

  /** Compressed files whose beginnings are read, and how much of each, unpacked. */
  private val Beginnings     = 4
  private val BeginningBytes = 256 * 1024

  /**
   * Bytes of a line: a longer one is skipped, and does not fill the driver's memory. None of a table that is read from
   * end to end is longer, so it is counted.
   */
  private val LongestLine       = BytesReadWhole.toInt + 1
  private val LongestLineOption = "mapreduce.input.linerecordreader.line.maxlength"

  /** Rows and values that are kept: predicates run on them in some milliseconds. */
  private val MostRows   = 20000
  private val MostValues = 400000

  /** Bytes that a codec reads ahead in its file: so far may the position be from what was unpacked. */
  private val CodecBuffer = 4096

  /**
   * A part of a file for Spark's reader.
   *
   * @param stored bytes that it has in the table
   */
  final private case class Range(file: FileStatus, start: Long, length: Long, stored: Double)

  private def whole(file: FileStatus) = Range(file, 0L, file.getLen, file.getLen.toDouble)

  /** None where no line was found, or lines are too long to say anything. */
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

  /** Ranges at even distances over all files, one behind the other; a range ends with its file. */
  private def spread(text: TextFiles): Vector[Range] = {
    val ends     = text.files.map(_._1.getLen).scanLeft(0L)(_ + _).tail
    val distance = math.max(0L, text.bytes - RangeBytes) / (Ranges - 1.0)
    Vector.tabulate(Ranges)(i => math.round(i * distance)).map { at =>
      val file  = text.files(ends.indexWhere(_ > at))._1
      val start = at - (ends(ends.indexWhere(_ > at)) - file.getLen)
      val bytes = math.min(RangeBytes, file.getLen - start)
      Range(file, start, bytes, bytes.toDouble)
    }.distinct
  }

  /** The beginnings of compressed files are unpacked into files that are removed at once. */
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
          // only its owner may read it
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

  /** The lines that a file begins with, and what they take of its bytes. */
  private def beginning(file: FileStatus, codec: CompressionCodec, conf: Configuration): (Array[Byte], Double) = {
    val in = file.getPath.getFileSystem(conf).open(file.getPath)
    try {
      val bytes = codec.createInputStream(in).readNBytes(BeginningBytes)
      if (bytes.length < BeginningBytes) (bytes, file.getLen.toDouble)
      else {
        val end = bytes.lastIndexOf('\n'.toByte) + 1
        (bytes.take(end), math.min(in.getPos, file.getLen).toDouble * end / bytes.length)
      }
    } finally in.close()
  }

  private def parsed(text: TextFiles, hadoop: Configuration, ranges: Vector[Range], whole: Boolean) = {
    val kept = new Kept(text, math.max(1, math.min(MostRows, MostValues / math.max(text.schema.size, 1))))
    val open = text.reader(hadoop)
    // parsers look at settings; a reader closes its file at its end
    SQLConf.withExistingConf(text.conf)(ranges.zipWithIndex.foreach { case (range, i) =>
      open(FileSample.part(range.file, range.start, range.length)).foreach(kept.add(i, _))
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

  /** Every n-th of the rows that it is given, so that there are no more than `most`. */
  final private class Kept(text: TextFiles, most: Int) {
    private val rows = mutable.ArrayBuffer.empty[(Int, InternalRow)]
    private var step = 1L
    var seen         = 0L

    def add(range: Int, row: InternalRow): Unit = {
      if (seen % step == 0L && rows.size == most) {
        val half = rows.indices.by(2).map(rows)
        rows.clear()
        rows ++= half
        step *= 2L
      }
      if (seen % step == 0L) rows += ((range, row.copy()))
      seen += 1L
    }

    def sample(of: Long, whole: Boolean): TableSample = {
      val starts = rows.indices.filter(i => i == 0 || rows(i)._1 != rows(i - 1)._1).toVector
      // rows that lay together are never taken for rows that chance has drawn
      val clusters = if (whole) Vector(0) else if (starts.size > 1) starts else Vector(0, rows.size / 2)
      TableSample(text.schema, SampledRows(text.schema, rows.map(_._2)), of, clusters)
    }
  }
}
