package org.apache.spark.sql.dovetail.footers

import dovetail.kernel.profile.Width
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FSDataInputStream}
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.Encoding
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.MessageType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.parquet.schema.Type.Repetition

/**
 * Footers of Parquet files: rows, nulls and ends per column from the statistics of the row groups, and from their
 * encodings what they give away of distinct values.
 *
 * A chunk whose pages are all dictionary-encoded has as many distinct values as its dictionary has entries; the header
 * of the dictionary's page says so, in a few bytes at a known place. A writer gives a dictionary up when it grows
 * beyond a limit (then it has a page, and plain ones follow), or when it does not make the first page smaller (then
 * there is none): for 4-byte integers that is when more than about half of 20,000 values are distinct, for longer
 * values nearly all. So a chunk without one is taken to be unique, provided that its writer does use dictionaries for
 * such columns, and that it has not been compressed to less than so many values take: compressors of the LZ family
 * repeat what there was, so each new value costs a literal and a copy.
 */
object ParquetFooters extends FooterFormat {

  override def footer(file: FileStatus, conf: Configuration): FileFooter = {
    val reader = ParquetFileReader.open(
      HadoopInputFile.fromStatus(file, conf),
      HadoopReadOptions.builder(conf, file.getPath).build()
    )
    try summary(reader.getFooter)
    finally reader.close()
  }

  private def summary(metadata: ParquetMetadata): FileFooter = {
    val blocks  = metadata.getBlocks.toArray(Array.empty[BlockMetaData]).toVector
    val all     = blocks.map(_.getColumns.toArray(Array.empty[ColumnChunkMetaData]).toVector)
    val sampled = Spread(all.size).take(GroupsSampled).toVector.sorted
    val tried   = triesDictionaries(metadata, all)
    val rows    = blocks.map(_.getRowCount).sum
    // chunks come in the order of the schema in every row group; leaves of a nested column are one column
    val leaves  = all.headOption.toVector.flatMap(_.indices).map(i => all.map(_(i)))
    val columns = leaves.groupBy(_.head.getPath.toArray.head).map {
      case (name, Vector(chunks)) if chunks.head.getPath.size == 1 && !isRepeated(chunks.head) =>
        name -> columnOf(chunks, sampled.map(chunks), tried)
      case (name, parts) => name -> nested(name, metadata.getFileMetaData.getSchema, parts, rows)
    }
    FileFooter(rows, columns, blocks.map(b => RowGroup(b.getStartingPos, b.getCompressedSize, b.getRowCount)))
  }

  /** Of a nested column its bytes are known, and the lengths of its values where those of all its leaves are. */
  private def nested(
      name: String,
      schema: MessageType,
      leaves: Vector[Vector[ColumnChunkMetaData]],
      rows: Long
  ): ColumnFooter = {
    val bytes = leaves.map(chunks =>
      leafBytes(chunks, ParquetNesting(schema, chunks.head.getPath.toArray.toVector), rows.toDouble)
    )
    val lengths = if (bytes.forall(_.isDefined)) Some(Lengths.nested(rows.toDouble, bytes.flatten.sum)) else None
    ColumnFooter(name, rows, None, Kind.Other, None, leaves.flatten.map(_.getTotalUncompressedSize).sum, lengths)
  }

  private def isRepeated(c: ColumnChunkMetaData): Boolean = c.getPrimitiveType.isRepetition(Repetition.REPEATED)

  /**
   * Bytes that the values of a leaf take in memory at most, with the lists and structs that they are in. The outermost
   * one is there once per row, what is inside of a list as often as there are values.
   */
  private def leafBytes(
      chunks: Vector[ColumnChunkMetaData],
      nesting: ParquetNesting,
      rows: Double
  ): Option[Double] = {
    val values     = chunks.map(_.getValueCount).sum.toDouble
    val containers =
      if (!nesting.repeated) nesting.containers * NestedBytes.containers(rows)
      else NestedBytes.containers(rows) + (nesting.containers - 1) * NestedBytes.containers(values)
    val own = if (ofText(chunks.head)) textBytes(chunks).map(NestedBytes.texts(values, _))
    else Some(NestedBytes.elements(values))
    own.map(_ + containers)
  }

  private def columnOf(
      chunks: Vector[ColumnChunkMetaData],
      sampled: Vector[ColumnChunkMetaData],
      tried: ColumnChunkMetaData => Boolean
  ): ColumnFooter = {
    val counted = chunks.map(nulls)
    val filled  = chunks.filter(values(_) > 0L)
    val lengths =
      if (ofText(chunks.head)) textBytes(chunks).map(Lengths.flat(chunks.map(values).sum.toDouble, _)) else None
    // bounds of texts hold if all dictionaries were looked at
    val looked = if (ofText(chunks.head) && lengths.isEmpty && filled.size <= TextGroupsSampled) filled
    else sampled.filter(values(_) > 0L)
    ColumnFooter(
      chunks.head.getPath.toArray.head,
      chunks.map(values).sum,
      if (counted.forall(_.isDefined)) Some(counted.flatten.sum) else None,
      ParquetValues.kind(chunks.head.getPrimitiveType),
      Ends.hull(filled.map(ends)),
      chunks.map(_.getTotalUncompressedSize).sum,
      lengths,
      atMost(chunks),
      looked.flatMap(c => evidence(c, tried).map(Chunk(values(c).toDouble, ends(c), _))),
      filled.size
    )
  }

  private def ofText(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == BINARY || c.getPrimitiveType.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY

  /**
   * Bytes of the texts of these chunks at most: as their writer counted them, or as they are where they stand one after
   * the other.
   */
  private def textBytes(chunks: Vector[ColumnChunkMetaData]): Option[Double] = {
    val each = chunks.map(c => fixedBytes(c).orElse(UnencodedBytes(c).map(_.toDouble)).orElse(plainBytes(c)))
    if (each.forall(_.isDefined)) Some(each.flatten.sum) else None
  }

  private def fixedBytes(c: ColumnChunkMetaData): Option[Double] =
    if (c.getPrimitiveType.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY)
      Some(c.getValueCount.toDouble * c.getPrimitiveType.getTypeLength)
    else None

  /** None for encodings that leave out what a text has in common with others. */
  private def plainBytes(c: ColumnChunkMetaData): Option[Double] = {
    val names = encodings(c).map(_.name)
    // the length of each plain text is not part of it
    val lengths = if (names.contains("DELTA_LENGTH_BYTE_ARRAY") || nulls(c).isEmpty) 0.0 else values(c) * LengthBytes
    if (c.hasDictionaryPage || names.exists(e => !PlainAndLevels(e) && e != "DELTA_LENGTH_BYTE_ARRAY")) None
    else Some(math.max(0.0, c.getTotalUncompressedSize - lengths))
  }

  /** Arrow writes row groups without rows, of which it counts nothing. */
  private def nulls(c: ColumnChunkMetaData): Option[Long] =
    if (c.getValueCount == 0L) Some(0L) else Option(c.getStatistics).filter(_.isNumNullsSet).map(_.getNumNulls)

  private def values(c: ColumnChunkMetaData): Long       = c.getValueCount - nulls(c).getOrElse(0L)
  private def ends(c: ColumnChunkMetaData): Option[Ends] =
    Option(c.getStatistics).flatMap(ParquetValues.ends(c.getPrimitiveType, _))

  // distinct values

  private def encodings(c: ColumnChunkMetaData): Vector[Encoding] =
    c.getEncodings.toArray(Array.empty[Encoding]).toVector

  private def hasDictionary(c: ColumnChunkMetaData): Boolean =
    c.hasDictionaryPage || encodings(c).exists(_.usesDictionary)

  /**
   * Whether a chunk without a dictionary means that one was tried. parquet-mr tries it on every column, unless it is
   * told to use none at all, and DuckDB on texts at least; of other writers one sees that they use dictionaries for a
   * type where they have done so.
   */
  private def triesDictionaries(
      metadata: ParquetMetadata,
      all: Vector[Vector[ColumnChunkMetaData]]
  ): ColumnChunkMetaData => Boolean = {
    def typeOf(c: ColumnChunkMetaData) = c.getPrimitiveType.getPrimitiveTypeName
    val types                          = all.flatten.filter(hasDictionary).map(typeOf).toSet
    val writer                         = Option(metadata.getFileMetaData.getCreatedBy).getOrElse("")
    def always(t: PrimitiveTypeName)   =
      (writer.startsWith("parquet-mr") && types.nonEmpty) || (writer.startsWith("DuckDB") && t == BINARY)
    c => typeOf(c) != BOOLEAN && (types(typeOf(c)) || always(typeOf(c)))
  }

  private def evidence(c: ColumnChunkMetaData, tried: ColumnChunkMetaData => Boolean): Option[Evidence] =
    if (hasDictionary(c)) {
      val levels = c.getValueCount / BitsPerByte
      Some(DictionaryPlace(
        c.getStartingPos,
        c.getTotalUncompressedSize - levels,
        ParquetValues.fixedBytes(c.getPrimitiveType),
        whole(c),
        c.getCodec.name,
        c.getTotalUncompressedSize.toDouble
      ))
    } else if (tried(c) && atMost(c).forall(_ >= values(c))) Some(NoDictionary)
    else None

  /** Distinct values that plain chunks have room for after compression. */
  private def atMost(chunks: Vector[ColumnChunkMetaData]): Option[Double] = {
    val each = chunks.map(atMost)
    if (each.forall(_.isDefined)) Some(each.flatten.sum) else None
  }

  private def atMost(c: ColumnChunkMetaData): Option[Double] =
    if (encodings(c).exists(e => !PlainAndLevels(e.name))) None
    else BytesOfNewValue.get(c.getCodec.name).map(c.getTotalSize / _)

  /**
   * Whether all data pages use the dictionary. Without statistics of the encodings, version 2 pages do not tell: PLAIN
   * may be the dictionary's own.
   */
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
    val pending                    = columns.exists(_.chunks.exists(_.distinct.isInstanceOf[DictionaryPlace]))
    try columns.iterator.takeWhile(_ => goOn()).map(c =>
        c.name -> distinct(c, at => DictionaryPage.read(in, at, file.getLen, conf))
      ).toVector
    finally if (pending) in.close()
  }

  private def distinct(column: ColumnFooter, page: DictionaryPlace => Option[DictionaryPage]): Option[Distinct] = {
    val found = column.chunks.flatMap { chunk =>
      chunk.distinct match {
        case NoDictionary        => Some((ChunkValues(chunk.values, chunk.values, chunk.ends), None))
        case at: DictionaryPlace => page(at).map(p =>
            (ChunkValues(chunk.values, inChunk(chunk.values, at, p), chunk.ends), lengths(at, p, chunk.values))
          )
      }
    }
    if (found.isEmpty) None
    else Some(Distinct(DistinctHints.union(found.map(_._1), column.values.toDouble), lengths(column, found.map(_._2))))
  }

  /**
   * Of the texts of one chunk: those of its dictionary. Where texts may stand outside of it, they have no more bytes
   * together than the chunk has besides its dictionary, and one of them may have them all.
   */
  private def lengths(at: DictionaryPlace, page: DictionaryPage, values: Double): Option[Lengths] =
    page.width.filter(_ => at.fixed.isEmpty).map { mean =>
      val whole   = at.whole.contains(true)
      val outside = if (whole) 0.0 else math.max(0.0, at.stored - page.bytes)
      Lengths(
        mean,
        page.longest.map(l => Width.padded(values, values * l + outside)),
        if (whole) page.longest else None
      )
    }

  /** Of a column's texts, by those of the chunks that were looked at. */
  private def lengths(column: ColumnFooter, chunks: Vector[Option[Lengths]]): Option[Lengths] = {
    val known = chunks.flatten
    // plain texts: all bytes but the four of each length
    def plain = Lengths(math.max(0.0, column.bytes.toDouble / column.values - LengthBytes), None, None)
    if (known.isEmpty) { if (column.kind == Kind.Other && column.values > 0L) Some(plain) else None }
    else {
      def all[A](measure: Lengths => Option[A]): Option[Vector[A]] =
        Some(known.flatMap(measure(_))).filter(_.size == column.groups)
      Some(Lengths(known.map(_.mean).sum / known.size, all(_.total).map(_.sum), all(_.longest).map(_.max)))
    }
  }

  private def inChunk(values: Double, at: DictionaryPlace, page: DictionaryPage): Double = {
    val entries = math.min(page.entries, values)
    lazy val in = values - outside(values, at, page)
    if (at.whole.getOrElse(page.bytes < GivenUp || in >= values * (1.0 - Rounding))) entries
    else DistinctHints.outgrown(entries, in, values)
  }

  /** Values outside of the dictionary: they take the bytes that are left when each value in it takes an index. */
  private def outside(values: Double, at: DictionaryPlace, page: DictionaryPage): Double = {
    val index = math.ceil(math.log(math.max(page.entries, 2.0)) / math.log(2.0)) / 8.0
    val plain = at.fixed.orElse(page.width.map(_ + LengthBytes)).getOrElse(0.0)
    if (plain <= index) 0.0
    else math.max(0.0, math.min(values, (at.bytes - page.bytes - values * index) / (plain - index)))
  }

  /**
   * Encodings of a chunk of version 1 whose values are all in the dictionary: its own, and those of levels. By name,
   * for the first is deprecated.
   */
  private val DictionaryAndLevels = Set("PLAIN_DICTIONARY", "RLE", "BIT_PACKED")

  /** The same for one without a dictionary. */
  private val PlainAndLevels = Set("PLAIN", "RLE", "BIT_PACKED")

  /**
   * Compressed bytes that a value costs which has not been there before, by codec: a literal and a copy are two bytes
   * at least in the formats of whole bytes; those with an entropy coder need less, hardly less than one. A lower bound:
   * most values cost as many bytes as they differ in.
   */
  private val BytesOfNewValue =
    Map("SNAPPY" -> 2.0, "LZ4" -> 2.0, "LZ4_RAW" -> 2.0, "LZO" -> 2.0, "GZIP" -> 1.0, "ZSTD" -> 1.0, "BROTLI" -> 1.0)

  /**
   * Row groups of one file whose dictionaries are looked at: one read each per column, which on an object store is a
   * request.
   */
  private val GroupsSampled = 4

  /** The same for texts, whose bounds hold only where all row groups were looked at. */
  private val TextGroupsSampled = 16

  /** Bytes of the length of a plain-encoded text. */
  val LengthBytes = 4.0

  /** Definition levels of a flat column take a bit. */
  private val BitsPerByte = 8.0

  /**
   * Bytes of a dictionary below which none is given up for its size: writers' limits are a megabyte by default, and
   * seldom set to less than this.
   */
  private val GivenUp = 65536.0

  /** Share of values that counts as none when it comes from bytes: levels and run lengths are in them too. */
  private val Rounding = 0.05
}
