package org.apache.spark.sql.dovetail.table

import java.io.ByteArrayOutputStream

import scala.collection.immutable.IndexedSeq
import scala.collection.mutable
import scala.util.control.NoStackTrace

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Rows of a sample in one array of bytes, each as an UnsafeRow. This takes a third of the memory of an object per row
 * and value, which matters because a driver keeps many samples. A row object is made when it is asked for, and the
 * caller may keep it.
 *
 * @param ends end of each row in `data`
 */
final class SampledRows private (val schema: StructType, data: Array[Byte], ends: Array[Int])
    extends IndexedSeq[InternalRow] {

  override def length: Int = ends.length

  override def apply(i: Int): InternalRow = at(i, new UnsafeRow(schema.size))

  /** Passes all rows in their order. It is always the same object, which `use` must not keep. */
  def eachRow(use: InternalRow => Unit): Unit = {
    val row = new UnsafeRow(schema.size)
    var i   = 0
    while (i < ends.length) { use(at(i, row)); i += 1 }
  }

  private def at(i: Int, row: UnsafeRow): UnsafeRow = {
    val start = if (i == 0) 0 else ends(i - 1)
    row.pointTo(data, Platform.BYTE_ARRAY_OFFSET.toLong + start, ends(i) - start)
    row
  }

  /** Bytes of memory. */
  def bytes: Long = data.length.toLong + Integer.BYTES * ends.length.toLong

  /** The same rows with the additional columns of `that`, which has as many rows. */
  def beside(that: SampledRows): SampledRows = {
    val builder = new SampledRows.Builder(StructType(schema ++ that.schema))
    val joined  = new JoinedRow
    indices.foreach(i => builder.add(joined(this(i), that(i))))
    builder.result
  }

  override def toString: String = s"SampledRows($length)"
}

object SampledRows {

  /** Thrown if the rows take more bytes than the limit. */
  object TooWide extends RuntimeException("the rows of a sample are too wide") with NoStackTrace

  def apply(schema: StructType, rows: Iterable[InternalRow]): SampledRows = {
    val builder = new Builder(schema)
    rows.foreach(builder.add)
    builder.result
  }

  /** Wraps rows that are already bytes of UnsafeRows. */
  def ofBytes(schema: StructType, rows: Array[Array[Byte]]): SampledRows =
    new SampledRows(schema, Array.concat(rows.toIndexedSeq: _*), rows.map(_.length).scanLeft(0)(_ + _).tail)

  /**
   * Takes rows one by one. The caller may reuse the row object that it passes. The builder writes values one by one: an
   * interpreted projection takes several times as long, and a generated one would have to be compiled first.
   *
   * @param schema schema with flat types only
   * @param most   limit of the bytes of all rows; a string that exceeds it throws [[TooWide]]
   */
  final class Builder(schema: StructType, most: Long = Integer.MAX_VALUE.toLong) {
    private val data   = new ByteArrayOutputStream
    private val ends   = mutable.ArrayBuilder.make[Int]
    private val writer = new UnsafeRowWriter(schema.size)
    private val types  = schema.fields.map(_.dataType)

    def add(row: InternalRow): Unit = {
      writer.reset()
      writer.zeroOutNullBytes()
      var i = 0
      while (i < types.length) { write(row, i); i += 1 }
      writer.getRow.writeToStream(data, null)
      ends += data.size
    }

    private def write(row: InternalRow, i: Int): Unit = types(i) match {
      case _ if row.isNullAt(i)                        => writer.setNullAt(i)
      case IntegerType | DateType                      => writer.write(i, row.getInt(i))
      case LongType | TimestampType | TimestampNTZType => writer.write(i, row.getLong(i))
      case StringType                                  => writer.write(i, fitting(row.getUTF8String(i)))
      case DoubleType                                  => writer.write(i, row.getDouble(i))
      case FloatType                                   => writer.write(i, row.getFloat(i))
      case BooleanType                                 => writer.write(i, row.getBoolean(i))
      case ShortType                                   => writer.write(i, row.getShort(i))
      case ByteType                                    => writer.write(i, row.getByte(i))
      case d: DecimalType => writer.write(i, row.getDecimal(i, d.precision, d.scale), d.precision, d.scale)
      case other          => throw new IllegalArgumentException(s"$other is not a flat type")
    }

    private def fitting(text: UTF8String): UTF8String =
      if (data.size.toLong + text.numBytes > most) throw TooWide else text

    def result: SampledRows = new SampledRows(schema, data.toByteArray, ends.result())
  }
}
