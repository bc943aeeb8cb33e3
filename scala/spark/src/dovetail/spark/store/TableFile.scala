package org.apache.spark.sql.dovetail.store

import java.io.{ByteArrayInputStream, DataInputStream, DataOutput, DataOutputStream, InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import org.apache.spark.sql.dovetail.base.{BrokenFile, NewerFile, UnpackedStream}
import org.apache.spark.sql.dovetail.sketch.{Bytes, Recipe, TableSketch}

/**
 * The file format of a table's statistics; docs/internals/statistics.md describes each field.
 *
 * {{{
 * magic, version
 * header    length, checksum, compressed bytes: key and name of the table, the collected statistics, its parts and the
 *           places of the blocks
 * blocks    compressed sketches of the parts and of the whole table (a single part and the whole table share one)
 * }}}
 *
 * A query reads the header and the block of the whole table. Blocks of parts are read if partitions were pruned, and
 * when files are added to the statistics.
 *
 * The contents of a file are not trusted: every size and offset is compared with the file's length and with the limits
 * of the format before it is used.
 */
object TableFile {

  /** @param offset offset of the block from the end of the header */
  final case class Block(offset: Long, length: Int, checksum: Long)

  /**
   * @param files fingerprints of the part's files
   * @param bytes size of these files together
   * @param block place of the part's sketch
   */
  final case class Part(files: Vector[Long], bytes: Long, block: Block)

  /**
   * @param key         key of the table ([[TableKey]])
   * @param name        name of the table for people
   * @param collectedAt time of collection, in milliseconds since the epoch
   * @param recipe      description of the collected statistics
   * @param parts       parts of the table
   * @param whole       place of the sketch of the whole table
   * @param blocks      offset of the first block in the file
   * @param version     format version of the file
   */
  final case class Header(
      key: String,
      name: String,
      collectedAt: Long,
      recipe: Recipe,
      parts: Vector[Part],
      whole: Block,
      blocks: Long,
      version: Int
  )

  /** A part to write, with its packed sketch. */
  final case class NewPart(files: Vector[Long], bytes: Long, sketch: Array[Byte])

  final case class NewTable(
      key: String,
      name: String,
      collectedAt: Long,
      recipe: Recipe,
      parts: Vector[NewPart],
      whole: Array[Byte]
  )

  /** The format version, which is the version of the sketches. */
  val Version: Int = TableSketch.Version

  /** Most parts of a table, for tables with few columns. Smaller parts would not help pruning or new files any more. */
  val MostParts = 1000

  private val Magic = "DOVETAIL".getBytes(UTF_8)

  /** Bytes before the header: magic, version, length and checksum of the header. */
  private val Preamble = Magic.length + 4 + 4 + 8

  /** Bytes of the longest unpacked header: two million files with fingerprints of 8 bytes each. */
  private val LongestHeader = 16 << 20

  /** Bytes that a header of any length may unpack to, because texts such as ten thousand column names compress well. */
  private val TextOfHeader = 4 << 20

  /** Largest compression ratio of a long header: of the 40 bytes of a part with one file, 12 are random. */
  private val HeaderExpansion = 16

  private def unpackedHeader(packed: Long): Int =
    math.min(LongestHeader.toLong, TextOfHeader + packed * HeaderExpansion).toInt

  def write(to: OutputStream, table: NewTable): Unit = {
    require(table.parts.size <= MostParts, s"${table.name} has ${table.parts.size} parts")
    val sketches = if (table.parts.size == 1) Vector(table.whole) else table.parts.map(_.sketch) :+ table.whole
    val offsets  = sketches.scanLeft(0L)(_ + _.length)
    val blocks   = sketches.zip(offsets).map { case (b, offset) => Block(offset, b.length, checksum(b)) }
    val header   = Bytes.compressed(s"the files of ${table.name}", LongestHeader) { out =>
      Seq(table.key, table.name).foreach(text => Bytes.write(out, Some(text.getBytes(UTF_8))))
      out.writeLong(table.collectedAt)
      table.recipe.write(out)
      out.writeInt(table.parts.size)
      table.parts.zip(blocks).foreach { case (p, block) =>
        out.writeInt(p.files.size)
        p.files.foreach(out.writeLong)
        out.writeLong(p.bytes)
        writeBlock(out, block)
      }
      writeBlock(out, blocks.last)
    }
    val out = new DataOutputStream(to)
    out.write(Magic)
    out.writeInt(Version)
    out.writeInt(header.length)
    out.writeLong(checksum(header))
    out.write(header)
    sketches.foreach(out.write(_: Array[Byte]))
    out.flush()
  }

  /**
   * Whether a file of this length can be a statistics file. Files of length 0, such as pipes and devices, never are.
   */
  def possible(length: Long): Boolean = length >= Preamble

  /**
   * Reads the header. Throws IOException if the file is not a statistics file, is broken, or is that of a newer
   * program.
   *
   * @param size bytes of the file
   */
  def readHeader(from: InputStream, size: Long): Header = {
    // not by an EOFException, which a file system also throws if it loses its connection
    val preamble = from.readNBytes(Preamble)
    if (preamble.length < Preamble) throw new BrokenFile("it ends too early")
    val in      = new DataInputStream(new ByteArrayInputStream(preamble))
    val version = readVersion(in)
    if (version > Version) throw new NewerFile("Dovetail", s"format $version")
    readers.getOrElse(
      version,
      throw new BrokenFile(s"its format version $version is unknown")
    )(in, from, size)
  }

  /** Reads the format version that the preamble declares. */
  private def readVersion(in: DataInputStream): Int = {
    val magic = new Array[Byte](Magic.length)
    in.readFully(magic)
    if (!java.util.Arrays.equals(magic, Magic)) throw new BrokenFile("it is not a statistics file of Dovetail")
    in.readInt()
  }

  /** Functions that read the header of each supported version: the current one and the one before it. */
  private lazy val readers: Map[Int, (DataInputStream, InputStream, Long) => Header] =
    Map(1 -> (headerOf(1, _, _, _)), 2 -> (headerOf(2, _, _, _)))

  /**
   * Reads the header of versions 1 and 2, which differ only in their sketches.
   *
   * @param in   what follows the version in the preamble
   * @param from what follows the preamble in the file
   */
  private def headerOf(version: Int, in: DataInputStream, from: InputStream, size: Long): Header = {
    val length = in.readInt()
    val blocks = Preamble.toLong + length
    if (length < 0 || length > LongestHeader || blocks > size)
      throw new BrokenFile(s"a header of $length bytes does not fit into a file of $size bytes")
    val bytes = readBlock(from, Block(0L, length, in.readLong()))
    UnpackedStream(bytes, unpackedHeader(length.toLong)) { h =>
      val (key, name)  = (h.text(), h.text())
      val (at, recipe) = (h.readLong(), Recipe.read(h))
      val most         = TableSketch.mostBytes(recipe)
      def place()      = readPlace(h, size - blocks, most)
      val parts        = Vector.fill(h.count(MostParts, PartBytes)) {
        Part(
          Vector.fill(h.count(LongestHeader / FingerprintBytes, FingerprintBytes))(h.readLong()),
          h.amount(MostBytes),
          place()
        )
      }
      Header(key, name, at, recipe, parts, place(), blocks, version)
    }
  }

  private val FingerprintBytes = 8

  /** Bytes of a part without its fingerprints in a header: number of files, bytes of the files, place of the block. */
  private val PartBytes = 4 + 8 + 20

  /** Most bytes of a part's files: a petabyte, so the sum of all parts does not overflow. */
  private val MostBytes = 1L << 50

  /** Reads the bytes of a block; `in` must be at its start. */
  def readBlock(in: InputStream, block: Block): Array[Byte] = {
    // allocates memory only for bytes that are there
    val bytes = in.readNBytes(block.length)
    if (bytes.length < block.length) throw new BrokenFile("it ends too early")
    if (checksum(bytes) != block.checksum) throw new BrokenFile("a checksum does not match its contents")
    bytes
  }

  private def writeBlock(out: DataOutput, block: Block): Unit = {
    out.writeLong(block.offset); out.writeInt(block.length); out.writeLong(block.checksum)
  }

  /**
   * Reads the place of a block, and checks it.
   *
   * @param bytes   size of all blocks together
   * @param longest most bytes of the block
   */
  private def readPlace(in: UnpackedStream, bytes: Long, longest: Int): Block = {
    val block = Block(in.amount(bytes), in.count(longest, 0), in.readLong())
    if (block.offset + block.length > bytes) throw new BrokenFile("a block exceeds the end of the file")
    block
  }

  private def checksum(bytes: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(bytes)
    crc.getValue
  }
}
