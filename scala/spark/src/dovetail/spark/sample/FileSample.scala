package org.apache.spark.sql.dovetail.sample

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.dovetail.base.HeapLimit
import org.apache.spark.sql.dovetail.footers.{RowGroup, RowGroups}
import org.apache.spark.sql.dovetail.table.{CountedColumn, SampledRows, TableSample}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types._

/**
 * A sample of a table of Parquet or ORC files, for a query that is being planned. Spark's own reader reads the rows on
 * the driver, without a job.
 *
 * Of a table of moderate size, each row is drawn at random and independently, so it can be joined with other samples.
 * Of a larger table, runs of rows are read in a few places that are spread over the files, and one of every n of these
 * rows is kept. The sample records where the places begin, so that rows that lie together are not taken for independent
 * rows ([[PlanSample.left]]). Readers fetch a column of a row group as a whole: the larger the column chunks, the fewer
 * places and columns are read. A place begins where a row group does, because readers unpack all rows before it; only if
 * the rows of the groups are sorted, it lies inside ([[SortedGroups]]).
 *
 * Of a table that is small enough, all values are counted as well: the number of distinct values, and the frequencies
 * of the most frequent values.
 *
 * @param wanted columns to read; the widest are left out if all together take too many bytes
 * @param asMany number of places in which another part of the columns was read; by default, fewer places are read if
 *               the columns take too many bytes otherwise
 * @param inside whether that part was read inside of the row groups
 */
final class FileSample(
    relation: HadoopFsRelation,
    groups: RowGroups,
    wanted: StructType,
    asMany: Option[Int] = None,
    inside: Boolean = false
) {
  import FileSample._

  private val whole = readsWhole(groups)

  private val counts = FileSample.counts(groups)

  private val (places, schema) = {
    val choices = if (whole) Vector(groups.groups)
    else asMany.fold(Places)(Vector(_)).map(placesOf(_))
    val columns = choices.map(places => places -> fitting(places.map(_._2)))
    columns.find(_._2.size == wanted.size).getOrElse(columns.last)
  }

  /** The row groups at which so many parts of the table begin. */
  private def placesOf(parts: Int): Vector[(FileStatus, RowGroup)] = {
    val size = groups.groups.size
    (0 until parts).map(i => (i.toLong * size / parts).toInt).distinct.filter(_ < size).map(groups.groups).toVector
  }

  /** The narrowest columns, as many as may be fetched from these places and as fit into memory in each of them. */
  private def fitting(places: Vector[RowGroup]): StructType = {
    val narrow                             = wanted.sortBy(groups.memory(_))
    val (rows, most)                       = (places.map(_.rows).sum.toDouble, atOnce(places))
    def sums(bytes: StructField => Double) = narrow.scanLeft(0.0)((sum, f) => sum + bytes(f)).tail
    val kept = sums(groups.width).zip(sums(groups.memory)).takeWhile { case (inFiles, inMemory) =>
      inFiles * rows <= MostBytes && inMemory * most <= MostAtOnce
    }
    StructType(wanted.filter(narrow.take(kept.size).toSet))
  }

  /** Most rows that a reader fetches at a time in these places: the places are read one after the other. */
  private def atOnce(places: Vector[RowGroup]): Long = places.map(_.atOnce).foldLeft(0L)(math.max)

  /**
   * Reads the sample; None if no column may be fetched. Footers do not tell the lengths of dictionary-encoded texts. If
   * the texts take too much memory, the sample is read again without text columns.
   *
   * @param until time until which the read may wait for the memory of others, as [[SampleMemory]] needs it
   */
  def read(until: Long): Option[TableSample] =
    try if (schema.isEmpty) None
      else Some(SampleMemory.within(until, bytesAtOnce) {
        val found = sample(until, inside)
        if (whole || inside || !isSorted(found)) found else sample(until, inside = true)
      })
    catch { case SampledRows.TooWide => new FileSample(relation, groups, withoutTexts, asMany, inside).read(until) }

  private def isSorted(found: TableSample): Boolean = {
    val footers = groups.files.toMap
    SortedGroups(
      groups,
      schema,
      places.map { case (file, _) => footers(file) },
      found.parts.map { case (from, until) => found.rows.slice(from, until) }
    )
  }

  /** Bytes of the columns in the largest row group. */
  private def bytesAtOnce: Double = atOnce(places.map(_._2)) * schema.map(groups.memory(_)).sum

  private def withoutTexts = StructType(wanted.filterNot(_.dataType.isInstanceOf[StringType]))

  private def sample(until: Long, inside: Boolean): TableSample = {
    val counting = schema.map(f => if (counts) CountedColumn.Counter(f.dataType) else None).toArray
    val open     = new GroupReader(relation, groups, schema, until)
    val rows     = new SampledRows.Builder(schema, MostKept)
    var taken    = 0
    val starts   = mutable.ArrayBuffer.empty[Int]
    var before   = 0L
    // a table that is read completely is opened file by file
    (if (whole) groups.wholeFiles else places).zipWithIndex.foreach { case ((file, group), i) =>
      starts += taken
      val from = if (inside) start(i, group) else 0L
      before += open(file, group)(take(_, from, if (whole) before else 0L, counting) { row =>
        rows.add(row); taken += 1
      })
    }
    TableSample(
      schema,
      rows.result,
      math.max(groups.rows, if (groups.all) taken.toLong else taken + 1L),
      if (whole) Vector.empty else starts.toVector,
      schema.fieldNames.zip(counting).collect { case (name, Some(c)) => name -> c.result }.toMap,
      if (taken == 0) 1.0 else before.toDouble / taken,
      inside
    )
  }

  /** The first row to read of a row group: the places lie in the middle of different parts of their groups. */
  private def start(place: Int, group: RowGroup): Long = {
    val part = math.min(group.rows, MostSkipped) / places.size
    math.min(place * part + math.max(0L, part - most) / 2L, math.max(0L, group.rows - most))
  }

  /** Largest number of rows that are read in one place. */
  private val most = if (whole) Long.MaxValue else RowsReadInPlaces / math.max(places.size, 1)

  /**
   * The seed depends on the table's name and size, not on its files, because these change when the table is written
   * again.
   */
  private lazy val draw: RowDraw =
    if (whole) new RowDraw.AtRandom(
      RowsOfSample.toDouble / math.max(groups.rows, 1L),
      relation.location.rootPaths.map(_.getName.hashCode.toLong).foldLeft(groups.rows)(XXH64.hashLong(_, _))
    )
    else new RowDraw.OneOfEvery(math.max(
      1L,
      (places.map(g => math.min(g._2.rows, most)).sum + RowsOfSample - 1) / RowsOfSample
    ))

  /**
   * Passes those of `most` rows that are drawn to `keep`, and returns how many rows were read.
   *
   * @param from  rows that are skipped before
   * @param first number of the first row
   */
  private def take(
      found: Iterator[Any],
      from: Long,
      first: Long,
      counting: Array[Option[CountedColumn.Counter]]
  )(keep: InternalRow => Unit): Long = {
    var (skipped, seen) = (0L, 0L)
    while (seen < most && found.hasNext) seen += GroupReader.piece(found.next())(
      batch => {
        val n = batch.numRows
        var i = math.min(n.toLong, from - skipped).toInt
        skipped += i
        val read = n - i
        while (i < n) { if (draw.takes(first + seen + i)) keep(batch.getRow(i)); i += 1 }
        counting.indices.foreach(c => counting(c).foreach(_.add(batch.column(c), n)))
        read.toLong
      },
      row =>
        if (skipped < from) { skipped += 1L; 0L }
        else {
          if (draw.takes(first + seen)) keep(row)
          count(row, counting)
          1L
        }
    )
    seen
  }

  private def count(row: InternalRow, counting: Array[Option[CountedColumn.Counter]]): Unit = {
    var i = 0
    while (i < counting.length) {
      counting(i).foreach(_.add(if (row.isNullAt(i)) null else row.get(i, schema(i).dataType))); i += 1
    }
  }
}

object FileSample {

  /**
   * Number of rows to keep. Predicates run on them in a few milliseconds, and a selectivity of 1 % is estimated with a
   * relative error below a tenth.
   */
  private val RowsOfSample = 20000L

  /**
   * Largest number of rows of a table that is read completely. Two or three columns take about 10 ms, and dimension
   * tables rarely have more rows.
   */
  private val RowsReadWhole = 500000L

  /**
   * The same for a table with fewer row groups than there are places to read. A reader starts at the beginning of a row
   * group, so places could only be these beginnings, and tables are often sorted by time: a program that writes a
   * million rows into one group puts the earliest ones there. Two or three columns take some 50 ms.
   */
  private val RowsOfFewGroupsReadWhole = 2000000L

  /**
   * Largest number of rows of a table whose values are all counted: at about 50 ns each, a column takes at most 10 ms.
   */
  private val RowsCounted = 200000L

  private def counts(groups: RowGroups): Boolean = readsWhole(groups) && groups.rows <= RowsCounted

  /** Whether a table is small enough to be read completely. */
  def readsWhole(groups: RowGroups): Boolean = groups.all && {
    val few = groups.groups.size < Places.head
    groups.rows <= (if (few) RowsOfFewGroupsReadWhole else RowsReadWhole) && groups.groups.size <= GroupsReadWhole
  }

  /** Largest number of row groups of such a table. Each is a request to an object store, and needs its own reader. */
  private val GroupsReadWhole = 16

  /** Numbers of places to read in a larger table: the first number for which the places do not take too many bytes. */
  private val Places = Vector(8, 4, 2)

  /**
   * Largest number of rows of a row group that are unpacked before a place inside of it: with eight places, 2 million
   * rows, some 50 ms for two or three columns, and only for a table whose row groups are sorted.
   */
  private val MostSkipped = 500000L

  /** Number of rows that are read in all places together; one of every n of them is kept. */
  private val RowsReadInPlaces = 100000L

  /**
   * Largest number of bytes to fetch of a table: some tenths of a second from a local disk or from an object store. It
   * is a small part of the heap, so that several tables fit into the [[SampleMemory]].
   */
  private val MostBytes = HeapLimit(32L * 1024 * 1024, part = 64L)

  /** Most bytes in memory of the columns of one row group: texts of ORC files are compressed in the file. */
  private val MostAtOnce = HeapLimit(64L * 1024 * 1024, part = 32L)

  /**
   * Largest number of bytes of the rows of a sample: about 800 per row. It is a small part of the heap, because up to
   * eight samples are read at a time, and each is copied while it grows.
   */
  private val MostKept = HeapLimit(16L * 1024 * 1024, part = 128L)

  /** Whether a type is flat. The values of flat types are copied one by one. */
  def readable(dataType: DataType): Boolean = dataType match {
    case _: NumericType | StringType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                       => false
  }
}
