package org.apache.spark.sql.dovetail.footers

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.{ByteBuffer, ByteOrder}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FSDataInputStream
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.format.{PageType, Util}
import org.apache.parquet.hadoop.CodecFactory
import org.apache.parquet.hadoop.metadata.CompressionCodecName

/**
 * The dictionary of one column chunk of a Parquet file: its number of entries and, for strings, the length of the
 * longest one.
 *
 * @param entries number of distinct values
 * @param bytes   bytes of the uncompressed page
 * @param longest bytes of the longest string; None if the page could not be read
 */
final case class DictionaryPage(entries: Double, bytes: Double, longest: Option[Double]) {

  /** Average bytes of a string, without the four bytes of its length. */
  def width: Option[Double] =
    if (entries > 0.0) Some(math.max(0.0, bytes / entries - ParquetFooters.LengthBytes)) else None
}

object DictionaryPage {

  /**
   * Reads the dictionary page at a place. None if there is no such page, the file is encrypted, or the footer gives a
   * wrong place.
   */
  def read(in: FSDataInputStream, at: DictionaryPlace, length: Long, conf: Configuration): Option[DictionaryPage] = {
    val first = bytes(
      in,
      at.offset,
      math.min((if (at.fixed.isEmpty) FirstRead else HeaderBytes).toLong, length - at.offset).toInt
    )
    try {
      val stream = new ByteArrayInputStream(first)
      val header = Util.readPageHeader(stream)
      if (header.getType != PageType.DICTIONARY_PAGE) None
      else {
        val (entries, size) = (header.getDictionary_page_header.getNum_values, header.getUncompressed_page_size)
        val stored          = header.getCompressed_page_size
        val start           = first.length - stream.available
        def content         = if (stored <= first.length - start) first.slice(start, start + stored)
        else bytes(in, at.offset + start, stored)
        val readable = at.fixed.isEmpty && stored >= 0 && size >= 0 && math.max(
          stored,
          size
        ) <= MostBytes && at.offset + start + stored <= length
        Some(DictionaryPage(
          entries.toDouble,
          size.toDouble,
          if (readable) longest(uncompressed(content, size, at.codec, conf), entries) else None
        ))
      }
    } catch { case NonFatal(_) => None }
  }

  private def bytes(in: FSDataInputStream, offset: Long, n: Int): Array[Byte] = {
    val b = new Array[Byte](n); in.readFully(offset, b); b
  }

  private def uncompressed(content: Array[Byte], size: Int, codec: String, conf: Configuration): Array[Byte] = {
    val codecs = new CodecFactory(conf, size)
    try {
      val out = new ByteArrayOutputStream(size)
      codecs.getDecompressor(CompressionCodecName.valueOf(codec)).decompress(
        BytesInput.from(content, 0, content.length),
        size
      ).writeAllTo(out)
      out.toByteArray
    } finally codecs.release()
  }

  /**
   * Length of the longest string on a page on which each string follows its length; None if the page has another
   * layout.
   */
  private def longest(page: Array[Byte], entries: Int): Option[Double] = {
    val in   = ByteBuffer.wrap(page).order(ByteOrder.LITTLE_ENDIAN)
    var most = 0
    var left = entries
    while (left > 0 && in.remaining >= 4) {
      val n = in.getInt
      if (n < 0 || n > in.remaining) return None
      most = math.max(most, n)
      in.position(in.position() + n)
      left -= 1
    }
    if (left == 0) Some(most.toDouble) else None
  }

  /** Bytes read for a page header: five to seven numbers of one to five bytes, each with one byte for its field id. */
  private val HeaderBytes = 64

  /**
   * Bytes read at once for a dictionary of strings. Most dictionaries are smaller, and a request of 64 bytes to an
   * object store takes as long.
   */
  private val FirstRead = 16384

  /** Size of the largest dictionary that is read, in bytes. Writers limit dictionaries to a megabyte by default. */
  private val MostBytes = 2 << 20
}
