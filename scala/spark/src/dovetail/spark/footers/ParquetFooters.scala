package org.apache.spark.sql.dovetail.footers

import java.io.ByteArrayInputStream

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FSDataInputStream}
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.Encoding
import org.apache.parquet.format.{PageType, Util}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/**
 * Footers of Parquet files: rows, nulls and ends per column from the statistics of the row groups, and from their encodings what they give away of distinct
 * values.
 *
 * A chunk whose pages are all dictionary-encoded has as many distinct values as its dictionary has entries; the header of the dictionary's page says so,
 * in a few bytes at a known place. A writer gives a dictionary up when it grows beyond a limit (then it has a page, and plain ones follow), or when it does not
 * make the first page smaller (then there is none): for 4-byte integers that is when more than about half of 20,000 values are distinct, for longer values
 * nearly all. So a chunk without one is taken to be unique, provided that its writer does use dictionaries for such columns, and that it has not been compressed
 * to less than so many values take: compressors of the LZ family repeat what there was, so each new value costs a literal and a copy.
 */
object ParquetFooters extends FooterFormat {

  override def footer(file: FileStatus, conf: Configuration): FileFooter = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf), HadoopReadOptions.builder(conf, file.getPath).build())
    try summary(reader.getFooter)
    finally reader.close()
  }

  private def summary(metadata: ParquetMetadata): FileFooter = {
    val blocks  = metadata.getBlocks.toArray(Array.empty[BlockMetaData]).toVector
    val all     = blocks.map(_.getColumns.toArray(Array.empty[ColumnChunkMetaData]).toVector)
    val sampled = Spread(all.size).take(GroupsSampled).toVector.sorted
    val tried   = triesDictionaries(metadata, all)
    val columns = all.headOption.toVector.flatMap(_.indices).map { i =>
      // chunks come in the order of the schema in every row group
      val chunks = all.map(_(i))
      columnOf(chunks, sampled.map(chunks), tried)
    }
    FileFooter(blocks.map(_.getRowCount).sum, byName(columns), blocks.map(b => RowGroup(b.getStartingPos, b.getCompressedSize, b.getRowCount)))
  }

  /** Leaves of a nested column are one column, of which only the bytes are known. */
  private def byName(columns: Vector[ColumnFooter]): Map[String, ColumnFooter] =
    columns.groupBy(_.name).map { case (name, parts) =>
      name -> (if (parts.size == 1) parts.head
               else ColumnFooter(name, parts.map(_.values).min, None, Kind.Other, None, parts.map(_.bytes).sum))
    }

  private def columnOf(chunks: Vector[ColumnChunkMetaData], sampled: Vector[ColumnChunkMetaData], tried: ColumnChunkMetaData => Boolean): ColumnFooter = {
    val path  = chunks.head.getPath.toArray
    val bytes = chunks.map(_.getTotalUncompressedSize).sum
    if (path.length > 1) ColumnFooter(path.head, chunks.map(_.getValueCount).sum, None, Kind.Other, None, bytes)
    else {
      val counted = chunks.map(nulls)
      ColumnFooter(
        path.head,
        chunks.map(values).sum,
        if (counted.forall(_.isDefined)) Some(counted.flatten.sum) else None,
        ParquetValues.kind(chunks.head.getPrimitiveType),
        Ends.hull(chunks.filter(values(_) > 0L).map(ends)),
        bytes,
        width = None,
        atMost(chunks),
        sampled.filter(values(_) > 0L).flatMap(c => evidence(c, tried).map(Chunk(values(c).toDouble, ends(c), _)))
      )
    }
  }

  /** Arrow writes row groups without rows, of which it counts nothing. */
  private def nulls(c: ColumnChunkMetaData): Option[Long] =
    if (c.getValueCount == 0L) Some(0L) else Option(c.getStatistics).filter(_.isNumNullsSet).map(_.getNumNulls)

  private def values(c: ColumnChunkMetaData): Long       = c.getValueCount - nulls(c).getOrElse(0L)
  private def ends(c: ColumnChunkMetaData): Option[Ends] = Option(c.getStatistics).flatMap(ParquetValues.ends(c.getPrimitiveType, _))

  // distinct values

  private def encodings(c: ColumnChunkMetaData): Vector[Encoding] = c.getEncodings.toArray(Array.empty[Encoding]).toVector

  private def hasDictionary(c: ColumnChunkMetaData): Boolean = c.hasDictionaryPage || encodings(c).exists(_.usesDictionary)

  /**
   * Whether a chunk without a dictionary means that one was tried. parquet-mr tries it on every column, unless it is told to use none at all, and DuckDB
   * on texts at least; of other writers one sees that they use dictionaries for a type where they have done so.
   */
  private def triesDictionaries(metadata: ParquetMetadata, all: Vector[Vector[ColumnChunkMetaData]]): ColumnChunkMetaData => Boolean = {
    def typeOf(c: ColumnChunkMetaData) = c.getPrimitiveType.getPrimitiveTypeName
    val types                          = all.flatten.filter(hasDictionary).map(typeOf).toSet
    val writer                         = Option(metadata.getFileMetaData.getCreatedBy).getOrElse("")
    def always(t: PrimitiveTypeName)   = (writer.startsWith("parquet-mr") && types.nonEmpty) || (writer.startsWith("DuckDB") && t == BINARY)
    c => typeOf(c) != BOOLEAN && (types(typeOf(c)) || always(typeOf(c)))
  }

  private def evidence(c: ColumnChunkMetaData, tried: ColumnChunkMetaData => Boolean): Option[Evidence] =
    if (hasDictionary(c)) {
      val levels = c.getValueCount / BitsPerByte
      Some(DictionaryAt(c.getStartingPos, c.getTotalUncompressedSize - levels, ParquetValues.fixedBytes(c.getPrimitiveType), whole(c)))
    } else if (tried(c) && atMost(c).forall(_ >= values(c))) Some(NoDictionary)
    else None

  /** Distinct values that plain chunks have room for after compression. */
  private def atMost(chunks: Vector[ColumnChunkMetaData]): Option[Double] = {
    val each = chunks.map(atMost)
    if (each.forall(_.isDefined)) Some(each.flatten.sum) else None
  }

  private def atMost(c: ColumnChunkMetaData): Option[Double] =
    if (encodings(c).exists(e => !PlainAndLevels(e.name))) None else BytesOfNewValue.get(c.getCodec.name).map(c.getTotalSize / _)

  /** Whether all data pages use the dictionary. Without statistics of the encodings, version 2 pages do not tell: PLAIN may be the dictionary's own. */
  private def whole(c: ColumnChunkMetaData): Option[Boolean] = Option(c.getEncodingStats) match {
    case Some(stats) => Some(!stats.hasNonDictionaryEncodedPages)
    case None        =>
      val names = encodings(c).map(_.name).toSet
      if (names("PLAIN_DICTIONARY")) Some((names -- DictionaryAndLevels).isEmpty) else None
  }

  override def distinct(
      file: FileStatus,
      conf: Configuration,
      columns: Seq[ColumnFooter],
      goOn: () => Boolean
  ): Seq[(String, Option[Distinct])] = {
    lazy val in: FSDataInputStream = file.getPath.getFileSystem(conf).open(file.getPath)
    val pending                    = columns.exists(_.chunks.exists(_.distinct.isInstanceOf[DictionaryAt]))
    try columns.iterator.takeWhile(_ => goOn()).map(c => c.name -> distinct(c, at => header(in, at, file.getLen))).toVector
    finally if (pending) in.close()
  }

  private def distinct(column: ColumnFooter, header: Long => Option[DictionaryPage]): Option[Distinct] = {
    val found = column.chunks.flatMap { chunk =>
      chunk.distinct match {
        case NoDictionary     => Some((Part(chunk.values, chunk.values, chunk.ends), None))
        case at: DictionaryAt =>
          header(at.offset).map(page => (Part(chunk.values, inChunk(chunk.values, at, page), chunk.ends), page.width.filter(_ => at.fixed.isEmpty)))
      }
    }
    if (found.isEmpty) None
    else {
      val widths = found.flatMap(_._2)
      // plain texts: all bytes but the four of each length
      val plain = if (column.kind == Kind.Other && widths.isEmpty && column.values > 0L)
        Some(math.max(0.0, column.bytes.toDouble / column.values - LengthBytes))
      else None
      Some(Distinct(DistinctHints.union(found.map(_._1), column.values.toDouble), if (widths.isEmpty) plain else Some(widths.sum / widths.size)))
    }
  }

  private def inChunk(values: Double, at: DictionaryAt, page: DictionaryPage): Double = {
    val entries = math.min(page.entries, values)
    lazy val in = values - outside(values, at, page)
    if (at.whole.getOrElse(page.bytes < GivenUp || in >= values * (1.0 - Rounding))) entries else DistinctHints.outgrown(entries, in, values)
  }

  /** Values outside of the dictionary: they take the bytes that are left when each value in it takes an index. */
  private def outside(values: Double, at: DictionaryAt, page: DictionaryPage): Double = {
    val index = math.ceil(math.log(math.max(page.entries, 2.0)) / math.log(2.0)) / 8.0
    val plain = at.fixed.orElse(page.width.map(_ + LengthBytes)).getOrElse(0.0)
    if (plain <= index) 0.0 else math.max(0.0, math.min(values, (at.bytes - page.bytes - values * index) / (plain - index)))
  }

  private def header(in: FSDataInputStream, offset: Long, length: Long): Option[DictionaryPage] = {
    val bytes = new Array[Byte](math.min(HeaderBytes.toLong, length - offset).toInt)
    in.readFully(offset, bytes)
    try Some(Util.readPageHeader(new ByteArrayInputStream(bytes))).filter(_.getType == PageType.DICTIONARY_PAGE).map { h =>
        DictionaryPage(h.getDictionary_page_header.getNum_values.toDouble, h.getUncompressed_page_size.toDouble)
      }
    catch { case NonFatal(_) => None } // encrypted, or not where the footer says
  }

  /** @param bytes not compressed */
  final private case class DictionaryPage(entries: Double, bytes: Double) {

    /** Of a text, without the four bytes of its length. */
    def width: Option[Double] = if (entries > 0.0) Some(math.max(0.0, bytes / entries - LengthBytes)) else None
  }

  /** Encodings of a chunk of version 1 whose values are all in the dictionary: its own, and those of levels. By name, for the first is deprecated. */
  private val DictionaryAndLevels = Set("PLAIN_DICTIONARY", "RLE", "BIT_PACKED")

  /** The same for one without a dictionary. */
  private val PlainAndLevels = Set("PLAIN", "RLE", "BIT_PACKED")

  /**
   * Compressed bytes that a value costs which has not been there before, by codec: a literal and a copy are two bytes at least in the formats of whole bytes; those
   * with an entropy coder need less, hardly less than one. A lower bound: most values cost as many bytes as they differ in.
   */
  private val BytesOfNewValue = Map("SNAPPY" -> 2.0, "LZ4" -> 2.0, "LZ4_RAW" -> 2.0, "LZO" -> 2.0, "GZIP" -> 1.0, "ZSTD" -> 1.0, "BROTLI" -> 1.0)

  /** Row groups of one file whose dictionaries are looked at: one read each per column, which on an object store is a request. */
  private val GroupsSampled = 4

  /** Bytes read for a page header: five to seven numbers of one to five bytes with a byte each to say which. */
  private val HeaderBytes = 64

  /** Bytes of the length of a plain-encoded text. */
  private val LengthBytes = 4.0

  /** Definition levels of a flat column take a bit. */
  private val BitsPerByte = 8.0

  /** Bytes of a dictionary below which none is given up for its size: writers' limits are a megabyte by default, and seldom set to less than this. */
  private val GivenUp = 65536.0

  /** Share of values that counts as none when it comes from bytes: levels and run lengths are in them too. */
  private val Rounding = 0.05
}
