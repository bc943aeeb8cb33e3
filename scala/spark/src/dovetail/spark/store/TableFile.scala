package org.apache.spark.sql.dovetail.store

import java.io.{DataInput, DataInputStream, DataOutput, DataOutputStream, EOFException, InputStream, IOException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import org.apache.spark.sql.dovetail.collect.{Bytes, Recipe}

/**
 * The format of a stored table; docs/internals/statistics.md has it field by field.
 *
 * {{{
 * magic, version
 * header    length, checksum, compressed bytes: what the table is, what was collected of it, its parts and the places of the blocks
 * blocks    compressed sketches: of the parts, and of the whole table (which is the part's where there is but one)
 * }}}
 *
 * A query reads the header and the block of the whole table; those of parts are read where partitions were pruned, and when new files come.
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
   */
  final case class Header(key: String, name: String, collectedAt: Long, recipe: Recipe, parts: Vector[Part], whole: Block, blocks: Long)

  /** A part to be written, with its sketch. */
  final case class NewPart(files: Vector[Long], bytes: Long, sketch: Array[Byte])

  final case class NewTable(key: String, name: String, collectedAt: Long, recipe: Recipe, parts: Vector[NewPart], whole: Array[Byte])

  /** A file that a newer Dovetail wrote. */
  final class NewerVersion(val version: Int)
      extends IOException(
        s"it has version $version of the format, and this version of Dovetail reads up to $Version: analyze the table again, or use the newer one"
      )

  val Version = 1

  private val Magic = "DOVETAIL".getBytes(UTF_8)

  /** Bytes before the header: magic, version, the header's length and checksum. */
  private val Preamble = Magic.length + 4 + 4 + 8

  /** Most parts of a table, most files of a part: more is a broken file. */
  private val Most = 10000000

  /** Bytes of the longest header or block. */
  private val Longest = 1 << 30

  def write(to: OutputStream, table: NewTable): Unit = {
    val sketches = if (table.parts.size == 1) Vector(table.whole) else table.parts.map(_.sketch) :+ table.whole
    val offsets  = sketches.scanLeft(0L)(_ + _.length)
    val blocks   = sketches.zip(offsets).map { case (b, offset) => Block(offset, b.length, checksum(b)) }
    val header   = Bytes.compressed { out =>
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

  /** Throws IOException where this is no such file, a broken one, or one of a newer version. */
  def readHeader(from: InputStream): Header = {
    val in    = new DataInputStream(from)
    val magic = new Array[Byte](Magic.length)
    in.readFully(magic)
    if (!java.util.Arrays.equals(magic, Magic)) throw new IOException("it is no statistics file of Dovetail")
    val version = in.readInt()
    if (version > Version) throw new NewerVersion(version)
    readers.getOrElse(version, throw new IOException(s"its format has version $version, which there never was"))(in)
  }

  /** How the header of each version is read: that of today and the one before it, once there is one. */
  private lazy val readers: Map[Int, DataInputStream => Header] = Map(1 -> readVersion1)

  private def readVersion1(in: DataInputStream): Header = {
    val length = Bytes.count(in, Longest)
    val bytes  = readBlock(in, Block(0L, length, in.readLong()))
    Bytes.uncompressed(bytes) { h =>
      def text         = new String(Bytes.read(h).getOrElse(throw new IOException("it names no table")), UTF_8)
      val (key, name)  = (text, text)
      val (at, recipe) = (h.readLong(), Recipe.read(h))
      val parts        = Vector.fill(Bytes.count(h, Most))(Part(Vector.fill(Bytes.count(h, Most))(h.readLong()), h.readLong(), readPlace(h)))
      Header(key, name, at, recipe, parts, readPlace(h), Preamble.toLong + length)
    }
  }

  /** The bytes of a block, `in` being where it begins. */
  def readBlock(in: InputStream, block: Block): Array[Byte] = {
    // asks for memory as bytes come: the length of a broken file may be anything
    val bytes = in.readNBytes(block.length)
    if (bytes.length < block.length) throw new EOFException()
    if (checksum(bytes) != block.checksum) throw new IOException("a checksum does not match its contents")
    bytes
  }

  private def writeBlock(out: DataOutput, block: Block): Unit = { out.writeLong(block.offset); out.writeInt(block.length); out.writeLong(block.checksum) }

  private def readPlace(in: DataInput): Block = Block(in.readLong(), Bytes.count(in, Longest), in.readLong())

  private def checksum(bytes: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(bytes)
    crc.getValue
  }
}
