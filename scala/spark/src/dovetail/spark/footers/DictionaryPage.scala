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
 * The dictionary of one column chunk of a Parquet file: how many entries it has, and of texts the longest one.
 *
 * @param entries distinct values
 * @param bytes   of the page, not compressed
 * @param longest bytes of the longest text; None where it could not be read
 */
final case class DictionaryPage(entries: Double, bytes: Double, longest: Option[Double]) {

  /** Average bytes of a text, without the four of its length. */
  def width: Option[Double] =
    if (entries > 0.0) Some(math.max(0.0, bytes / entries - ParquetFooters.LengthBytes)) else None
}

object DictionaryPage {

  /** None where there is none, the file is encrypted, or the footer says the wrong place. */
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

  /** Of texts that stand one after the other, each behind its length; None where they do not. */
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

  /** Bytes read for a page header: five to seven numbers of one to five bytes with a byte each to say which. */
  private val HeaderBytes = 64

  /**
   * Bytes read at once of a dictionary of texts: most are smaller, and a request to an object store takes as long for
   * 64 bytes.
   */
  private val FirstRead = 16384

  /** Bytes of a dictionary that is read: writers' limit is a megabyte by default. */
  private val MostBytes = 2 << 20
}
