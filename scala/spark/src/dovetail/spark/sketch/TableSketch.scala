package org.apache.spark.sql.dovetail.sketch

import java.io.DataOutput

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.base.{BrokenFile, UnpackedStream}
import org.apache.spark.sql.dovetail.table.{GroupStatistics, SampledRows, TableSample, TableStatistics}
import org.apache.spark.sql.types.{BinaryType, StringType}

/**
 * All statistics that one pass over the data collects of a part of a table. The sketches of several parts can be
 * merged. [[Collect]] makes one sketch per part, and the store keeps them.
 */
final class TableSketch private (
    val recipe: Recipe,
    val sampleRows: Int,
    private val columns: Array[ColumnSketch],
    private val groups: Array[HyperLogLog],
    private val sample: RowSample
) {
  import TableSketch._
  private var rows = 0L

  private val members       = recipe.groups.map(_.toArray).toArray
  private val hashes        = new Array[Long](columns.length)
  private lazy val toSample = sampleProjection(recipe)

  def this(recipe: Recipe, sampleRows: Int) = this(
    recipe,
    sampleRows,
    recipe.columns.map(ColumnSketch(_)).toArray,
    recipe.groups.map(_ => new HyperLogLog).toArray,
    new RowSample(if (recipe.sampleColumns.nonEmpty) sampleRows else 0)
  )

  def rowCount: Long = rows

  /** @param random 64 random bits that belong to this row alone */
  def add(row: UnsafeRow, random: Long): Unit = {
    rows += 1
    var i = 0
    while (i < columns.length) {
      hashes(i) = columns(i).add(row, i, random)
      i += 1
    }
    i = 0
    while (i < groups.length) {
      addGroup(groups(i), members(i))
      i += 1
    }
    val priority = random >>> 1
    // a projection writes every row to the same buffer
    if (sample.wants(priority)) sample.add(priority, toSample(row).copy().getBytes)
  }

  /** A combination with a NULL does not count, because it matches nothing in a join. */
  private def addGroup(distinct: HyperLogLog, members: Array[Int]): Unit = {
    var hash = ColumnSketch.Seed
    var i    = 0
    while (i < members.length) {
      val h = hashes(members(i))
      if (h == ColumnSketch.NullHash) return
      hash = XXH64.hashLong(h, hash)
      i += 1
    }
    distinct.add(hash)
  }

  def merge(that: TableSketch): Unit = {
    require(recipe == that.recipe, "statistics of different columns cannot be merged")
    rows += that.rows
    columns.indices.foreach(i => columns(i).merge(that.columns(i)))
    groups.indices.foreach(i => groups(i).merge(that.groups(i)))
    sample.merge(that.sample)
  }

  def result(bytes: Long, collectedAt: Long): TableStatistics = TableStatistics(
    rows = rows,
    bytes = bytes,
    columns = columns.toVector.map(_.result),
    groups = recipe.groups.zip(groups).map { case (g, d) =>
      GroupStatistics(g.map(recipe.columns(_).name), math.min(d.estimate, rows.toDouble))
    },
    sample = if (recipe.sampleColumns.isEmpty) None
    else Some(TableSample(recipe.sampleSchema, SampledRows.ofBytes(recipe.sampleSchema, sample.result), rows)),
    collectedAt = collectedAt
  )

  def write(out: DataOutput): Unit = {
    out.writeLong(rows)
    out.writeInt(sampleRows)
    columns.foreach(_.write(out))
    groups.foreach(g => out.write(g.toBytes))
    sample.write(out, recipe.sampleSchema)
  }

  def toBytes: Array[Byte] = Bytes.compressed(s"statistics of ${columns.length} columns", mostBytes(recipe))(write)
}

object TableSketch {

  /** Largest number of rows of a table: far more than any table has, and sums of a thousand parts do not overflow. */
  val MostRows: Long = 1L << 48

  /** Largest number of bytes of a sketch before compression: 10,000 columns of ordinary width. */
  private val MostBytes = 128L << 20

  /** Bytes of a sketch besides its columns, groups and sample, rounded up. */
  private val Overhead = 1L << 10

  /** Largest number of bytes that a sketch with this recipe takes before compression. */
  def mostBytes(recipe: Recipe): Int = {
    val sample = if (recipe.sampleColumns.isEmpty) 0 else RowSample.MostBytes
    math.min(
      MostBytes,
      Overhead + recipe.columns.map(
        ColumnSketch.mostBytes(_).toLong
      ).sum + recipe.groups.size.toLong * HyperLogLog.Size + sample
    ).toInt
  }

  private def read(in: UnpackedStream, recipe: Recipe, version: Int): TableSketch = {
    val rows       = in.amount(MostRows)
    val sampleRows = in.count(RowSample.MaxRows, 0)
    val columns    = recipe.columns.map(ColumnSketch.read(in, _, rows, version)).toArray
    val groups     = recipe.groups.map(_ => HyperLogLog.fromBytes(in.exactly(HyperLogLog.Size.toLong))).toArray
    val sample = RowSample.read(in, if (recipe.sampleColumns.nonEmpty) sampleRows else 0, recipe.sampleSchema, version)
    if (sample.held > rows) throw new BrokenFile(s"a sample has ${sample.held} of $rows rows")
    val sketch = new TableSketch(recipe, sampleRows, columns, groups, sample)
    sketch.rows = rows
    sketch
  }

  /** Version of the encoding that [[TableSketch.toBytes]] writes. */
  val Version = 2

  /** @param version version of the encoding: the current one or the one before */
  def fromBytes(bytes: Array[Byte], recipe: Recipe, version: Int): TableSketch =
    UnpackedStream(bytes, mostBytes(recipe))(read(_, recipe, version))

  private def sampleProjection(recipe: Recipe): UnsafeProjection =
    UnsafeProjection.create(recipe.sampleColumns.map { i =>
      val column = BoundReference(i, recipe.columns(i).dataType, nullable = true)
      column.dataType match {
        case _: StringType | BinaryType => Substring(column, Literal(1), Literal(TableSample.Characters))
        case _                          => column
      }
    })
}
