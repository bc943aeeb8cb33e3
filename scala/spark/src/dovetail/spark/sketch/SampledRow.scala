package org.apache.spark.sql.dovetail.sketch

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.sql.dovetail.base.BrokenFile

/**
 * Checks and accesses the rows of a stored sample. The rows are the bytes of Spark's UnsafeRow, which reads values
 * without a check of the row's length. An offset that points out of the row would read memory that does not belong to
 * the row, or crash the JVM.
 */
object SampledRow {

  /** Number of words that every row of the schema begins with: NULL flags, and one word for each field. */
  def words(schema: StructType): Int = flagWords(schema) + schema.size

  def flagWords(schema: StructType): Int = (schema.size + BitsPerWord - 1) / BitsPerWord

  def isNull(row: Array[Byte], field: Int): Boolean =
    (word(row, field / BitsPerWord) >>> (field % BitsPerWord) & 1L) != 0L

  /** Returns the row if each of its values lies within it. Throws a [[BrokenFile]] otherwise. */
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

  /** Whether the value of a field is stored after all fields, and the field's word holds its position. */
  def variable(dataType: DataType): Boolean = dataType match {
    case _: StringType | BinaryType => true
    case d: DecimalType             => d.precision > Decimal.MAX_LONG_DIGITS
    case _                          => false
  }

  def word(row: Array[Byte], at: Int): Long = Platform.getLong(row, Platform.BYTE_ARRAY_OFFSET.toLong + at * Word)

  def put(row: Array[Byte], at: Int, word: Long): Unit =
    Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET.toLong + at * Word, word)

  /** Bytes of a word. Rows consist of words. */
  val Word = 8

  /** NULL flags are bits of words. */
  private val BitsPerWord = 64
}
