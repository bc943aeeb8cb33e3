package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.types.StructType

/**
 * A uniform sample of rows without replacement: every row draws a random number, and the rows with the smallest numbers
 * are kept ("bottom-k", Cohen and Kaplan, PODC 2007).
 *
 * The sample has all rows whose number is below [[threshold]]. So the samples of the parts of a table merge into a
 * sample of the whole table, whatever the sizes of the parts. Rows are kept as the bytes of Spark's UnsafeRow. If rows
 * are long, fewer are kept. Their number then depends on the rows, which is a bias too small to matter.
 */
final class RowSample(capacity: Int) {
  import RowSample._

  private var priorities = new Array[Long](Initial)
  private var rows       = new Array[Array[Byte]](Initial)
  private var size       = 0
  private var bytes      = 0L

  /** The sampled rows in the order of their random numbers, so any prefix is a uniform sample as well. */
  def result: Array[Array[Byte]] = { shrink(); byPriority.map(rows(_)).toArray }

  /** Number of rows held here. Some of them may no longer belong to the sample. */
  def held: Int = size

  /** Whether a row with this random number, 0 to Long.MaxValue, belongs to the sample so far. */
  def wants(priority: Long): Boolean = priority < threshold

  var threshold: Long = if (capacity > 0) Long.MaxValue else 0L

  def add(priority: Long, row: Array[Byte]): Unit = if (wants(priority)) {
    if (size == rows.length) {
      priorities = java.util.Arrays.copyOf(priorities, size * 2)
      rows = java.util.Arrays.copyOf(rows, size * 2)
    }
    priorities(size) = priority
    rows(size) = row
    size += 1
    bytes += row.length
    if (size >= 2 * capacity || bytes >= 2 * MaxBytes) shrink()
  }

  def merge(that: RowSample): Unit = {
    threshold = math.min(threshold, that.threshold)
    (0 until that.size).foreach(i => add(that.priorities(i), that.rows(i)))
    shrink()
  }

  /**
   * Drops rows that no longer belong to the sample. The other rows keep the order in which they came, because rows that
   * lie together in a table are alike and compress well.
   */
  private def shrink(): Unit = {
    val order = byPriority.filter(priorities(_) < threshold)
    var kept  = 0
    var sum   = 0L
    while (kept < order.size && kept < capacity && sum + rows(order(kept)).length <= MaxBytes) {
      sum += rows(order(kept)).length
      kept += 1
    }
    if (kept < order.size) threshold = priorities(order(kept))
    val survivors = order.take(kept).sorted
    val (p, r)    = (survivors.map(priorities(_)).toArray, survivors.map(rows(_)).toArray)
    priorities = java.util.Arrays.copyOf(p, math.max(kept, Initial))
    rows = java.util.Arrays.copyOf(r, math.max(kept, Initial))
    size = kept
    bytes = sum
  }

  private def byPriority: IndexedSeq[Int] = (0 until size).sortBy(priorities(_))

  /** Writes the sample without the random numbers: given the threshold, any other numbers below it serve as well. */
  def write(out: DataOutput, schema: StructType): Unit = {
    shrink()
    out.writeLong(threshold)
    out.writeLong(priorities.take(size).foldLeft(0L)(_ ^ _))
    out.writeInt(size)
    PackedRows.write(out, rows.take(size), schema)
  }
}

object RowSample {

  /** Largest number of bytes of the rows of a sample: 20,000 rows of 800 bytes. */
  private val MaxBytes = 16L << 20

  private val Initial = 64

  /** Largest number of rows of a stored sample. A file with more rows is broken. */
  val MaxRows = 1000000

  /** Largest number of bytes that a sample takes in a file: its rows, each with a random number and a length. */
  val MostBytes: Int = (MaxBytes + MaxRows * RowOverhead).toInt

  private def RowOverhead = 8L + 4L

  def read(in: UnpackedStream, capacity: Int, schema: StructType, version: Int): RowSample = {
    val sample    = new RowSample(capacity)
    val threshold = in.readLong()
    val found     = if (version == 1) version1(in, capacity) else rowsBelow(threshold, in, capacity, schema)
    found.foreach { case (priority, row) => sample.add(priority, SampledRow.checked(row, schema)) }
    sample.threshold = math.min(sample.threshold, threshold)
    sample
  }

  private def version1(in: UnpackedStream, capacity: Int): Seq[(Long, Array[Byte])] =
    Vector.fill(in.count(capacity, RowOverhead.toInt)) {
      in.readLong() -> in.array(MaxBytes.toInt).getOrElse(throw new BrokenFile("a row of the sample is missing"))
    }

  private def rowsBelow(
      threshold: Long,
      in: UnpackedStream,
      capacity: Int,
      schema: StructType
  ): Seq[(Long, Array[Byte])] = {
    if (threshold < 0L) throw new BrokenFile("a sample has no threshold")
    val seed = in.readLong()
    val n    = in.count(capacity, SampledRow.flagWords(schema) * SampledRow.Word)
    PackedRows.read(in, n, schema, MaxBytes).toSeq.zipWithIndex.map { case (row, i) =>
      below(threshold, XXH64.hashLong(i.toLong, seed)) -> row
    }
  }

  /** Maps 64 random bits to a random number from 0 to below the threshold. */
  private def below(threshold: Long, random: Long): Long =
    if (threshold == Long.MaxValue) random >>> 1 else java.lang.Long.remainderUnsigned(random, math.max(threshold, 1L))
}
