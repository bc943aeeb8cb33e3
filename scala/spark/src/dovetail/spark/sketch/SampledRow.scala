package org.apache.spark.sql.dovetail.sketch

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.sql.dovetail.base.BrokenFile

/**
 * Rows of a stored sample are the bytes of Spark's UnsafeRow, which reads them without looking at their length: what
 * points out of a row would read, or crash on, memory that is not its own.
 */
object SampledRow {

  /** Words that every row of the schema begins with: flags, and one for each field. */
  def words(schema: StructType): Int = flagWords(schema) + schema.size

  def flagWords(schema: StructType): Int = (schema.size + BitsPerWord - 1) / BitsPerWord

  def isNull(row: Array[Byte], field: Int): Boolean =
    (word(row, field / BitsPerWord) >>> (field % BitsPerWord) & 1L) != 0L

  /** The row, if each of its values lies within it. */
  def checked(row: Array[Byte], schema: StructType): Array[Byte] = {
    val flags = flagWords(schema)
    val fixed = words(schema) * Word
    if (row.length < fixed || row.length % Word != 0)
      throw new BrokenFile(s"a row of ${schema.size} columns has ${row.length} bytes")
    schema.indices.foreach { i =>
      if (variable(schema(i).dataType) && !isNull(row, i)) {
        val where            = word(row, flags + i)
        val (offset, length) = ((where >>> 32).toInt, where.toInt)
        if (offset < fixed || length < 0 || offset.toLong + length > row.length)
          throw new BrokenFile("a value of a sampled row lies outside of it")
      }
    }
    row
  }

  /** Whether the field's value lies behind all fields, and its word tells where. */
  def variable(dataType: DataType): Boolean = dataType match {
    case _: StringType | BinaryType => true
    case d: DecimalType             => d.precision > Decimal.MAX_LONG_DIGITS
    case _                          => false
  }

  def word(row: Array[Byte], at: Int): Long = Platform.getLong(row, Platform.BYTE_ARRAY_OFFSET.toLong + at * Word)

  def put(row: Array[Byte], at: Int, word: Long): Unit =
    Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET.toLong + at * Word, word)

  /** Bytes of a word: rows are made of these. */
  val Word = 8

  /** Flags of NULL are bits of words. */
  private val BitsPerWord = 64
}
