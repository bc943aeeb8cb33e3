package org.apache.spark.sql.dovetail.table

import java.io.ByteArrayOutputStream

import scala.collection.immutable.IndexedSeq
import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  InterpretedUnsafeProjection,
  JoinedRow,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/**
 * Rows of a sample in one array of bytes, each as an UnsafeRow: a third of what an object per row and value takes, for
 * a driver keeps many samples. A row is made when it is asked for, and may be kept.
 *
 * @param ends where rows end in `data`
 */
final class SampledRows private (schema: StructType, data: Array[Byte], ends: Array[Int])
    extends IndexedSeq[InternalRow] {

  override def length: Int = ends.length

  override def apply(i: Int): InternalRow = {
    val start = if (i == 0) 0 else ends(i - 1)
    val row   = new UnsafeRow(schema.size)
    row.pointTo(data, Platform.BYTE_ARRAY_OFFSET.toLong + start, ends(i) - start)
    row
  }

  /** Of memory. */
  def bytes: Long = data.length.toLong + Integer.BYTES * ends.length.toLong

  /** The same rows with the columns of `that`, which has as many. */
  def beside(that: SampledRows): SampledRows = {
    val builder = new SampledRows.Builder(StructType(schema ++ that.fields))
    val joined  = new JoinedRow
    indices.foreach(i => builder.add(joined(this(i), that(i))))
    builder.result
  }

  private def fields = schema

  override def toString: String = s"SampledRows($length)"
}

object SampledRows {

  /** Takes rows one by one; a row given may be used again by whoever gives it. */
  final class Builder(schema: StructType) {
    private val data = new ByteArrayOutputStream
    private val ends = mutable.ArrayBuilder.make[Int]
    // generated code would take longer to compile than this takes to run
    private val projection: UnsafeProjection = InterpretedUnsafeProjection.createProjection(
      schema.fields.toIndexedSeq.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }
    )

    def add(row: InternalRow): Unit = { projection(row).writeToStream(data, null); ends += data.size }

    def result: SampledRows = new SampledRows(schema, data.toByteArray, ends.result())
  }
}
