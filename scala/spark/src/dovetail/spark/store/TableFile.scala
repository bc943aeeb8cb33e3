package org.apache.spark.sql.dovetail.store

import java.io.{DataInputStream, DataOutput, DataOutputStream, InputStream, IOException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.sketch.{Bytes, Recipe, TableSketch}

/**
 * The format of a stored table; docs/internals/statistics.md has it field by field.
 *
 * {{{
 * magic, version
 * header    length, checksum, compressed bytes: what the table is, what was collected of it, its parts and the places
 * of the blocks
 * blocks    compressed sketches: of the parts, and of the whole table (which is the part's where there is but one)
 * }}}
 *
 * A query reads the header and the block of the whole table; those of parts are read where partitions were pruned, and
 * when new files come.
 *
 * A file may hold anything: whatever it names is compared with its length, and with what the format allows, before it
 * is read.
 */
object TableFile {

  /** @param offset from the end of the header */
  final case class Block(offset: Long, length: Int, checksum: Long)

  /**
   * @param files fingerprints of the part's files
   * @param bytes of its files together
   */
  final case class Part(files: Vector[Long], bytes: Long, block: Block)

  /**
   * @param key         what the table is found by
   * @param name        for people
   * @param collectedAt milliseconds since the epoch
   * @param whole       of all parts together
   * @param blocks      where the blocks begin in the file
   * @param version     of the file
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

  /** A part to be written, with its sketch. */
  final case class NewPart(files: Vector[Long], bytes: Long, sketch: Array[Byte])

  final case class NewTable(
      key: String,
      name: String,
      collectedAt: Long,
      recipe: Recipe,
      parts: Vector[NewPart],
      whole: Array[Byte]
  )

  /** A file that a newer Dovetail wrote. */
  final class NewerVersion(val version: Int)
      extends IOException(
        s"it has format version $version, but this version of Dovetail reads up to $Version: analyze the " +
          "table again, or use a newer Dovetail"
      )

  /** That of its sketches. */
  val Version: Int = TableSketch.Version

  /** Parts of a table with few columns: where pruning and new files no longer gain from smaller ones. */
  val MostParts = 1000

  private val Magic = "DOVETAIL".getBytes(UTF_8)

  /** Bytes before the header: magic, version, the header's length and checksum. */
  private val Preamble = Magic.length + 4 + 4 + 8

  /** Bytes of the longest header, unpacked: two million files, whose fingerprints are 8 bytes each. */
  private val LongestHeader = 16 << 20

  /** Bytes that any header may unpack to: texts, such as the names of ten thousand columns, are packed well. */
  private val TextOfHeader = 4 << 20

  /** Times its length that a long header may unpack to: of the 40 bytes of a part in one file, 12 are random. */
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

  /** Whether a file of this length may be one: also what has no length (a pipe, a device) is never opened. */
  def possible(length: Long): Boolean = length >= Preamble

  /**
   * Throws IOException where this is no such file, a broken one, or one of a newer version.
   *
   * @param size bytes of the file
   */
  def readHeader(from: InputStream, size: Long): Header = {
    val in      = new DataInputStream(from)
    val version = readVersion(in)
    if (version > Version) throw new NewerVersion(version)
    readers.getOrElse(
      version,
      throw new BrokenFile(s"its format version $version is unknown")
    )(in, size)
  }

  /** The version that a file says it has. */
  def readVersion(in: DataInputStream): Int = {
    val magic = new Array[Byte](Magic.length)
    in.readFully(magic)
    if (!java.util.Arrays.equals(magic, Magic)) throw new BrokenFile("it is not a statistics file of Dovetail")
    in.readInt()
  }

  /** How the header of each version is read: that of today and the one before it, once there is one. */
  private lazy val readers: Map[Int, (DataInputStream, Long) => Header] =
    Map(1 -> (headerOf(1, _, _)), 2 -> (headerOf(2, _, _)))

  /** The first two versions have the same header, and differ in their sketches. */
  private def headerOf(version: Int, in: DataInputStream, size: Long): Header = {
    val length = in.readInt()
    val blocks = Preamble.toLong + length
    if (length < 0 || length > LongestHeader || blocks > size)
      throw new BrokenFile(s"a header of $length bytes does not fit into a file of $size bytes")
    val bytes = readBlock(in, Block(0L, length, in.readLong()))
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

  /** Bytes of a part without files in a header: their number, their bytes, and the block's place. */
  private val PartBytes = 4 + 8 + 20

  /** Bytes of a part's files: a petabyte, and sums of all parts do not overflow. */
  private val MostBytes = 1L << 50

  /** The bytes of a block, `in` being where it begins. */
  def readBlock(in: InputStream, block: Block): Array[Byte] = {
    // asks for memory as bytes come
    val bytes = in.readNBytes(block.length)
    if (bytes.length < block.length) throw new BrokenFile("it ends too early")
    if (checksum(bytes) != block.checksum) throw new BrokenFile("a checksum does not match its contents")
    bytes
  }

  private def writeBlock(out: DataOutput, block: Block): Unit = {
    out.writeLong(block.offset); out.writeInt(block.length); out.writeLong(block.checksum)
  }

  /** @param bytes of all blocks */
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
