package org.apache.spark.sql.dovetail.sketch

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.sql.dovetail.base.BrokenFile

/**
 * Rows of a stored sample are the bytes of Spark's UnsafeRow, which reads them without looking at their length: what
 * points out of a row would read, or crash on, memory that is not its own.
 */
object SampledRow {

  /** The row, if each of its values lies within it. */
  def checked(row: Array[Byte], schema: StructType): Array[Byte] = {
    val flags = (schema.size + BitsPerWord - 1) / BitsPerWord * Word
    val fixed = flags + schema.size * Word
    if (row.length < fixed || row.length % Word != 0)
      throw new BrokenFile(s"a row of ${schema.size} columns has ${row.length} bytes")
    var i = 0
    while (i < schema.size) {
      if (variable(schema(i).dataType) && (word(row, i / BitsPerWord * Word) >>> (i % BitsPerWord) & 1L) == 0L) {
        val where            = word(row, flags + i * Word)
        val (offset, length) = ((where >>> 32).toInt, where.toInt)
        if (offset < fixed || length < 0 || offset.toLong + length > row.length)
          throw new BrokenFile("a value of a sampled row lies outside of it")
      }
      i += 1
    }
    row
  }

  private def variable(dataType: DataType): Boolean = dataType match {
    case _: StringType | BinaryType => true
    case d: DecimalType             => d.precision > Decimal.MAX_LONG_DIGITS
    case _                          => false
  }

  private def word(row: Array[Byte], at: Int): Long = Platform.getLong(row, Platform.BYTE_ARRAY_OFFSET.toLong + at)

  /** Bytes of a word: rows are made of these. */
  private val Word = 8

  /** Flags of NULL are bits of words. */
  private val BitsPerWord = 64
}
