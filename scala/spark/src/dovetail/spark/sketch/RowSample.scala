package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}

/**
 * A uniform sample of rows without replacement: those with the smallest of the random numbers that every row draws
 * ("bottom-k", Cohen and Kaplan, PODC 2007).
 *
 * All rows with a number below [[threshold]] are here, so samples of parts of a table merge into one of the whole,
 * whatever their sizes were. Rows are kept as the bytes of Spark's UnsafeRow. Few rows are kept where they are long:
 * how many then depends on the rows, a bias too small to matter.
 */
final class RowSample(capacity: Int) {
  import RowSample._

  private var priorities = new Array[Long](Initial)
  private var rows       = new Array[Array[Byte]](Initial)
  private var size       = 0
  private var bytes      = 0L

  /** In the order of their random numbers: any first part of it is a uniform sample as well. */
  def result: Array[Array[Byte]] = { shrink(); rows.take(size) }

  /** Rows that are here, some of which may belong to the sample no more. */
  def held: Int = size

  /** Whether a row with this number, 0 to Long.MaxValue, belongs to the sample so far. */
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

  private def shrink(): Unit = {
    val order = (0 until size).filter(priorities(_) < threshold).sortBy(priorities(_))
    var kept  = 0
    var sum   = 0L
    while (kept < order.size && kept < capacity && sum + rows(order(kept)).length <= MaxBytes) {
      sum += rows(order(kept)).length
      kept += 1
    }
    if (kept < order.size) threshold = priorities(order(kept))
    val survivors = order.take(kept)
    val (p, r)    = (survivors.map(priorities(_)).toArray, survivors.map(rows(_)).toArray)
    priorities = java.util.Arrays.copyOf(p, math.max(kept, Initial))
    rows = java.util.Arrays.copyOf(r, math.max(kept, Initial))
    size = kept
    bytes = sum
  }

  def write(out: DataOutput): Unit = {
    shrink()
    out.writeLong(threshold)
    out.writeInt(size)
    (0 until size).foreach { i => out.writeLong(priorities(i)); Bytes.write(out, Some(rows(i))) }
  }
}

object RowSample {

  /** Bytes of the rows of one sample: 20,000 rows of 800 bytes. */
  private val MaxBytes = 16L << 20

  private val Initial = 64

  /** Rows that a stored sample may have: more is a broken file. */
  val MaxRows = 1000000

  /** Bytes that a sample takes in a file at most: its rows, each with a random number and a length. */
  val MostBytes: Int = (MaxBytes + MaxRows * RowOverhead).toInt

  private def RowOverhead = 8L + 4L

  def read(in: UnpackedStream, capacity: Int, schema: StructType): RowSample = {
    val sample    = new RowSample(capacity)
    val threshold = in.readLong()
    (0 until in.count(capacity, RowOverhead.toInt)).foreach { _ =>
      val priority = in.readLong()
      val row      = in.array(MaxBytes.toInt).getOrElse(throw new BrokenFile("a row of the sample is missing"))
      sample.add(priority, SampledRow.checked(row, schema))
    }
    sample.threshold = math.min(sample.threshold, threshold)
    sample
  }
}
