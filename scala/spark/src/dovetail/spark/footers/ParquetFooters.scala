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
 * Footers of Parquet files: rows, NULLs and ends per column from the statistics of the row groups, and hints of
 * distinct values from their encodings.
 *
 * A chunk whose pages are all dictionary-encoded has as many distinct values as its dictionary has entries. The header
 * of the dictionary page says so, in a few bytes at a known place. A writer gives a dictionary up in two cases: if it
 * grows beyond a limit (then the dictionary page stays, and plain pages follow), or if it does not make the first page
 * smaller (then there is no dictionary page). For 4-byte integers, the second case means that more than about half of
 * 20,000 values are distinct; for longer values, nearly all are. So a chunk without a dictionary is taken to be unique
 * on two conditions: its writer uses dictionaries for such columns, and the chunk is not compressed to fewer bytes than
 * that many distinct values take. Compressors of the LZ family repeat earlier bytes, so each new value costs a literal
 * and a copy.
 */
object ParquetFooters extends FooterFormat {

  override def footer(file: FileStatus, conf: Configuration, admit: Long => Unit): FileFooter = {
    val reader = ParquetFileReader.open(
      new AdmittedFile(HadoopInputFile.fromStatus(file, conf), admit),
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
    // every row group has its chunks in the order of the schema; the leaves of a nested column are one column
    val leaves  = all.headOption.toVector.flatMap(_.indices).map(i => all.map(_(i)))
    val columns = leaves.groupBy(_.head.getPath.toArray.head).map {
      case (name, Vector(chunks)) if chunks.head.getPath.size == 1 && !isRepeated(chunks.head) =>
        name -> columnOf(chunks, sampled.map(chunks), tried)
      case (name, parts) => name -> nested(name, metadata.getFileMetaData.getSchema, parts, rows)
    }
    FileFooter(rows, columns, blocks.map(b => RowGroup(b.getStartingPos, b.getCompressedSize, b.getRowCount)))
  }

  /** A nested column: its bytes, and the lengths of its values if those of all its leaves are known. */
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
    ColumnFooter(
      name,
      rows,
      None,
      Kind.Other,
      None,
      leaves.flatten.map(stored(_)).sum,
      lengths,
      leaves = leaves.size
    )
  }

  /** Bytes that a reader has of a chunk. Some writers leave the size without compression at 0. */
  private def stored(c: ColumnChunkMetaData): Long = math.max(c.getTotalUncompressedSize, c.getTotalSize)

  private def isRepeated(c: ColumnChunkMetaData): Boolean = c.getPrimitiveType.isRepetition(Repetition.REPEATED)

  /**
   * Upper bound of the bytes that the values of a leaf take in memory, with the lists and structs around them. The
   * outermost list or struct counts once per row; one inside a list counts once per value.
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
    // bounds of string lengths hold only if all dictionaries are read
    val looked = if (ofText(chunks.head) && lengths.isEmpty && filled.size <= TextGroupsSampled) filled
    else sampled.filter(values(_) > 0L)
    ColumnFooter(
      chunks.head.getPath.toArray.head,
      chunks.map(values).sum,
      if (counted.forall(_.isDefined)) Some(counted.flatten.sum) else None,
      ParquetValues.kind(chunks.head.getPrimitiveType),
      Ends.hull(filled.map(ends)),
      chunks.map(stored(_)).sum,
      lengths,
      atMost(chunks),
      looked.flatMap(c => evidence(c, tried).map(Chunk(values(c).toDouble, ends(c), _))),
      filled.size,
      parts(filled)
    )
  }

  /** Ends of some of the row groups of a column of numbers. */
  private def parts(filled: Vector[ColumnChunkMetaData]): Vector[Numbers] =
    if (filled.size < 2) Vector.empty
    else {
      val some = Spread(filled.size).take(GroupsCompared).map(i => ends(filled(i))).toVector
      if (some.forall(_.exists(_.isInstanceOf[Numbers]))) some.flatten.collect { case n: Numbers => n }
      else Vector.empty
    }

  private def ofText(c: ColumnChunkMetaData): Boolean =
    c.getPrimitiveType.getPrimitiveTypeName == BINARY || c.getPrimitiveType.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY

  /**
   * Upper bound of the bytes of the strings in these chunks: as their writer counted them, or from the size of plain
   * pages, on which strings follow one another.
   */
  private def textBytes(chunks: Vector[ColumnChunkMetaData]): Option[Double] = {
    val each = chunks.map(c => fixedBytes(c).orElse(UnencodedBytes(c).map(_.toDouble)).orElse(plainBytes(c)))
    if (each.forall(_.isDefined)) Some(each.flatten.sum) else None
  }

  private def fixedBytes(c: ColumnChunkMetaData): Option[Double] =
    if (c.getPrimitiveType.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY)
      Some(c.getValueCount.toDouble * c.getPrimitiveType.getTypeLength)
    else None

  /** Bytes of the strings of plain pages; None for encodings that omit what a string has in common with others. */
  private def plainBytes(c: ColumnChunkMetaData): Option[Double] = {
    val names = encodings(c).map(_.name)
    // the length in front of a plain string is not part of the string
    val lengths = if (names.contains("DELTA_LENGTH_BYTE_ARRAY") || nulls(c).isEmpty) 0.0 else values(c) * LengthBytes
    // some writers leave the size at 0
    if (
      c.hasDictionaryPage || c.getTotalUncompressedSize < lengths ||
      (c.getTotalUncompressedSize <= 0L && c.getValueCount > 0L) ||
      names.exists(e => !PlainAndLevels(e) && e != "DELTA_LENGTH_BYTE_ARRAY")
    ) None
    else Some(c.getTotalUncompressedSize - lengths)
  }

  /** Number of NULLs. Arrow writes row groups without rows, in which it does not count NULLs. */
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
   * Tells whether the writer of a chunk without a dictionary has tried one. parquet-mr tries one on every column unless
   * dictionaries are turned off, and DuckDB does on strings at least. Any other writer is taken to try dictionaries for
   * a type if the file has a dictionary of this type.
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
        c.getTotalUncompressedSize.toDouble,
        encodings(c).forall(e => PlainAndDictionary(e.name))
      ))
    } else if (tried(c) && atMost(c).forall(_ >= values(c))) Some(NoDictionary)
    else None

  /** Most distinct values that plain chunks have room for after compression. */
  private def atMost(chunks: Vector[ColumnChunkMetaData]): Option[Double] = {
    val each = chunks.map(atMost)
    if (each.forall(_.isDefined)) Some(each.flatten.sum) else None
  }

  private def atMost(c: ColumnChunkMetaData): Option[Double] =
    if (encodings(c).exists(e => !PlainAndLevels(e.name))) None
    else BytesOfNewValue.get(c.getCodec.name).map(c.getTotalSize / _)

  /**
   * Whether all data pages use the dictionary. Without statistics of the encodings, version 2 pages do not tell: PLAIN
   * may be the encoding of the dictionary itself.
   */
  private def whole(c: ColumnChunkMetaData): Option[Boolean] = Option(c.getEncodingStats) match {
    case Some(stats) => Some(!stats.hasNonDictionaryEncodedPages)
    case None        =>
      val names = encodings(c).map(_.name).toSet
      if (names("PLAIN_DICTIONARY")) Some((names -- DictionaryAndLevels).isEmpty) else None
  }

  override def distinct(
      file: FileStatus,
      conf: => Configuration,
      columns: Seq[ColumnFooter],
      goOn: () => Boolean
  ): Seq[(String, Option[Distinct])] = {
    lazy val in: FSDataInputStream = file.getPath.getFileSystem(conf).open(file.getPath)
    try columns.iterator.takeWhile(_ => goOn()).map(c =>
        c.name -> distinct(c, at => DictionaryPage.read(in, at, file.getLen, conf))
      ).toVector
    finally if (readsFor(columns)) in.close()
  }

  override def readsFor(columns: Seq[ColumnFooter]): Boolean =
    columns.exists(_.chunks.exists(_.distinct.isInstanceOf[DictionaryPlace]))

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
   * Lengths of the strings of one chunk, from those of its dictionary. Strings outside of the dictionary have at most
   * as many bytes together as the chunk has besides its dictionary, and a single string may have all of these bytes.
   */
  private def lengths(at: DictionaryPlace, page: DictionaryPage, values: Double): Option[Lengths] =
    page.width.filter(_ => at.fixed.isEmpty).map { mean =>
      val whole   = at.whole.contains(true)
      val outside = if (whole) 0.0 else at.stored - page.bytes
      Lengths(
        mean,
        // some writers leave the size of the chunk at 0
        page.longest.filter(_ => whole || (at.plain && outside >= 0.0))
          .map(l => Width.padded(values, values * l + outside)),
        if (whole) page.longest else None
      )
    }

  /** Lengths of a column's strings, from the chunks that were read. */
  private def lengths(column: ColumnFooter, chunks: Vector[Option[Lengths]]): Option[Lengths] = {
    val known = chunks.flatten
    // plain strings: all bytes except the four bytes of each length
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

  /**
   * Number of values outside of the dictionary. They account for the bytes that are left if each value in the
   * dictionary takes an index.
   */
  private def outside(values: Double, at: DictionaryPlace, page: DictionaryPage): Double = {
    val index = math.ceil(math.log(math.max(page.entries, 2.0)) / math.log(2.0)) / 8.0
    val plain = at.fixed.orElse(page.width.map(_ + LengthBytes)).getOrElse(0.0)
    if (plain <= index) 0.0
    else math.max(0.0, math.min(values, (at.bytes - page.bytes - values * index) / (plain - index)))
  }

  /**
   * Encodings of a version 1 chunk whose values are all in the dictionary: the dictionary's own encoding and those of
   * levels. They are compared by name because the first one is deprecated.
   */
  private val DictionaryAndLevels = Set("PLAIN_DICTIONARY", "RLE", "BIT_PACKED")

  /** The same for a chunk without a dictionary. */
  private val PlainAndLevels = Set("PLAIN", "RLE", "BIT_PACKED")

  /** Encodings that store each value of its own accord, those of dictionaries and of levels included. */
  private val PlainAndDictionary =
    PlainAndLevels ++ DictionaryAndLevels ++ Set("RLE_DICTIONARY", "DELTA_LENGTH_BYTE_ARRAY")

  /**
   * Compressed bytes that a new value costs at least, by codec. In formats of whole bytes, a literal and a copy take
   * two bytes at least; formats with an entropy coder need less, but hardly less than one byte. This is a lower bound:
   * most values cost as many bytes as differ from earlier values.
   */
  private val BytesOfNewValue =
    Map("SNAPPY" -> 2.0, "LZ4" -> 2.0, "LZ4_RAW" -> 2.0, "LZO" -> 2.0, "GZIP" -> 1.0, "ZSTD" -> 1.0, "BROTLI" -> 1.0)

  /**
   * Number of row groups of one file whose dictionaries are read. Each costs one read per column, which is a request on
   * an object store.
   */
  private val GroupsSampled = 4

  /** The same for strings, whose bounds hold only if all row groups are read. */
  private val TextGroupsSampled = 16

  /**
   * Number of row groups of one file whose ends are kept: enough to tell the share of them that a range meets within a
   * few percent, and a hundred columns take 200 KB.
   */
  private val GroupsCompared = 64

  /** Bytes of the length in front of a plain-encoded string. */
  val LengthBytes = 4.0

  /** Definition levels of a flat column take one bit each. */
  private val BitsPerByte = 8.0

  /**
   * Size in bytes below which no dictionary is given up for its size. Writers have a limit of a megabyte by default,
   * and it is seldom set to less than this.
   */
  private val GivenUp = 65536.0

  /**
   * Share of values outside of the dictionary that counts as none. The share is derived from bytes, which include
   * levels and run lengths.
   */
  private val Rounding = 0.05
}
