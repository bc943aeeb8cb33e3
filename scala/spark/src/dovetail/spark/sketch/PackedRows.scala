package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput
import java.util.{HashMap => JavaMap}

import scala.collection.mutable

import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * Stores sampled rows in a file, column by column. Bytes that the values of a column have in common lie together and
 * compress well, so the sample of a small table is not larger than the table. Values of fixed length are written as
 * words ([[Bytes.writeWords]]), and values of variable length as a dictionary with a position per row.
 *
 * A row in memory is the bytes of Spark's UnsafeRow: words of NULL flags, a word per field, and the values of variable
 * length, rounded up to words. The word of a field of variable length holds the offset of the value in the row and its
 * length. These are computed anew when the row is read.
 */
object PackedRows {
  import SampledRow.{flagWords, isNull, put, variable, word, Word}

  def write(out: DataOutput, rows: Array[Array[Byte]], schema: StructType): Unit = {
    val flags = flagWords(schema)
    (0 until flags).foreach(w => Bytes.writeWords(out, rows.map(word(_, w))))
    schema.indices.foreach { i =>
      if (variable(schema(i).dataType)) writeValues(out, rows.filterNot(isNull(_, i)).map(valueAt(_, flags + i)))
      else Bytes.writeWords(out, rows.map(word(_, flags + i)))
    }
  }

  private def valueAt(row: Array[Byte], at: Int): Array[Byte] = {
    val where = word(row, at)
    java.util.Arrays.copyOfRange(row, (where >>> 32).toInt, (where >>> 32).toInt + where.toInt)
  }

  /** Writes each distinct value once, and for each row the position of its value. */
  private def writeValues(out: DataOutput, values: Array[Array[Byte]]): Unit = {
    val positions = new JavaMap[UTF8String, Integer]
    val distinct  = mutable.ArrayBuffer.empty[Array[Byte]]
    val which     = values.map { v =>
      val known = positions.putIfAbsent(UTF8String.fromBytes(v), distinct.size)
      if (known == null) { distinct += v; distinct.size - 1L }
      else known.toLong
    }
    out.writeInt(distinct.size)
    Bytes.writeWords(out, distinct.map(_.length.toLong).toArray)
    distinct.foreach(out.write(_: Array[Byte]))
    Bytes.writeWords(out, which)
  }

  /**
   * @param n    number of rows; the input has at least one word per row
   * @param most largest number of bytes of all rows
   */
  def read(in: UnpackedStream, n: Int, schema: StructType, most: Long): Array[Array[Byte]] = {
    val flags  = Array.fill(flagWords(schema))(in.words(n))
    val nulls  = schema.indices.map(i => (r: Int) => (flags(i / Word / 8)(r) >>> (i % (Word * 8)) & 1L) != 0L)
    val fields = schema.indices.map { i =>
      if (variable(schema(i).dataType)) Right(readValues(in, (0 until n).filterNot(nulls(i)).toArray, n))
      else Left(in.words(n))
    }
    val fixed = SampledRow.words(schema) * Word
    var bytes = 0L
    Array.tabulate(n) { r =>
      val lengths = fields.map(_.fold(_ => 0, values => if (values(r) == null) 0 else values(r).length))
      val size    = fixed + lengths.iterator.map(l => rounded(l).toLong).sum
      bytes += size
      if (bytes > most) throw new BrokenFile(s"the rows of a sample take more than $most bytes")
      val row = new Array[Byte](size.toInt)
      flags.indices.foreach(w => put(row, w, flags(w)(r)))
      var offset = fixed
      fields.indices.foreach { i =>
        fields(i) match {
          case Left(words)                        => put(row, flags.length + i, words(r))
          case Right(values) if values(r) != null =>
            put(row, flags.length + i, offset.toLong << 32 | lengths(i).toLong)
            System.arraycopy(values(r), 0, row, offset, lengths(i))
            offset += rounded(lengths(i))
          case _ => ()
        }
      }
      row
    }
  }

  /** The values of these rows, each at the number of its row; null elsewhere. */
  private def readValues(in: UnpackedStream, rows: Array[Int], n: Int): Array[Array[Byte]] = {
    val lengths  = in.words(in.count(rows.length, Word))
    val distinct = lengths.map(in.exactly)
    val which    = in.words(rows.length)
    val values   = new Array[Array[Byte]](n)
    rows.indices.foreach { i =>
      val at = which(i)
      if (at < 0L || at >= distinct.length) throw new BrokenFile(s"a sampled row has value $at of ${distinct.length}")
      values(rows(i)) = distinct(at.toInt)
    }
    values
  }

  private def rounded(length: Int): Int = (length + Word - 1) / Word * Word
}
