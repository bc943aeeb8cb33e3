package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BindReferences, Expression}
import org.apache.spark.sql.dovetail.base.{BoundedCache, HeapLimit, SharedMemory}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.footers.RowGroups
import org.apache.spark.sql.dovetail.predicates.{ExpressionKey, LinearTime, TrialSafe}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * Counts the rows of a table of Parquet or ORC files that a condition keeps. It reads the columns of the condition from
 * all files while a query is planned, so it is only for inputs whose size decides between plans. No row is kept, so the
 * memory is that of one batch of the reader. Counts are cached.
 *
 * @param files     identifies the files and the way of reading them
 * @param columns   columns of the condition
 * @param condition condition, bound to these columns
 */
final class RowCount private (
    relation: HadoopFsRelation,
    groups: RowGroups,
    files: FileSampleCache.Key,
    columns: StructType,
    condition: Expression
) {
  import RowCount._

  private val key = Key(files, columns, ExpressionKey(condition))

  private def known: Option[CachedCount] = counts.get(key)

  /** Estimated nanoseconds that the count takes; 0 if it is known. */
  lazy val nanos: Double =
    if (known.exists(_.rows.isDefined)) 0.0
    else
      groups.rows * (PerRow + PerValue * columns.size + PerByte * width +
        PerNode * condition.collect { case e => e }.size)

  /** Average bytes of the columns per row in the files. */
  private lazy val width: Double = columns.map(groups.width(_)).sum

  /** Bytes in memory of the columns that a reader fetches as a whole. */
  private def bytesAtOnce: Double = groups.mostAtOnce * columns.map(groups.memory(_)).sum

  /** Whether the driver has room for the columns of each row group. */
  private def fits: Boolean = bytesAtOnce <= MostBytes

  /** Whether the memory and the time that is left for reading allow the count, and it has not failed before. */
  def isPossible: Boolean = known.fold(fits && Aside.allows((nanos * Safety).toLong))(_.rows.isDefined)

  /** The number of rows; None if the count is not done in time, or if the condition fails on a row. */
  def rows: Option[Long] = known.map(_.rows).getOrElse {
    val found =
      try Aside(place)(until => SampleMemory.within(until, bytesAtOnce)(count(until)))
      catch {
        // another query may find room
        case SharedMemory.NoFreeMemory => PlanningTime.cut(s"$place found no free memory"); None
        case Survivable(_)             => counts.put(key, new CachedCount(key, None)); None
      }
    found.foreach(n => counts.put(key, new CachedCount(key, Some(n))))
    found
  }

  private def place = s"counting rows of ${Aside.table(groups.files.head._1.getPath)}"

  private def count(until: Long): Long = {
    val open = new GroupReader(relation, groups, columns, until)
    groups.groups.map { case (file, group) => open(file, group)(kept(_, until)) }.sum
  }

  private def kept(found: Iterator[Any], until: Long): Long = {
    var n    = 0L
    var seen = 0L
    while (found.hasNext) {
      if (seen % RowsBetweenLooks == 0L) Aside.check(until)
      n += GroupReader.piece(found.next())(
        batch => { val in = (0 until batch.numRows).count(i => keeps(batch.getRow(i))); Aside.check(until); in.toLong },
        row => if (keeps(row)) 1L else 0L
      )
      seen += 1L
    }
    n
  }

  private def keeps(row: InternalRow): Boolean = condition.eval(row) == true
}

object RowCount {

  /**
   * None if the condition cannot be evaluated on the columns of the files, or not in a time that depends on the number
   * of rows only.
   *
   * @param files    identifies the files and the way of reading them
   * @param output   columns of the leaf that reads the files
   * @param readable whether a column of the files may be read
   */
  def apply(
      relation: HadoopFsRelation,
      groups: RowGroups,
      files: => FileSampleCache.Key,
      output: Seq[Attribute],
      condition: Expression,
      readable: StructField => Boolean
  ): Option[RowCount] = {
    val columns = StructType(relation.dataSchema.filter(f => condition.references.exists(_.name == f.name)))
    val found   = columns.flatMap(f => output.find(a => a.name == f.name && a.dataType == f.dataType))
    val usable  = groups.all && groups.files.nonEmpty && columns.nonEmpty && columns.forall(readable) &&
      condition.references.subsetOf(AttributeSet(found))
    if (!usable || !TrialSafe(condition)) None
    else {
      val bound = BindReferences.bindReference(condition, found.toList)
      if (LinearTime(bound)) Some(new RowCount(relation, groups, files, columns, bound)) else None
    }
  }

  final private case class Key(files: FileSampleCache.Key, columns: StructType, condition: ExpressionKey)

  /** @param rows None if the condition fails on a row */
  final private class CachedCount(key: Key, val rows: Option[Long]) {
    val bytes: Long = Overhead + key.condition.bytes + key.files.bytes + KeyBytes(key.columns)
  }

  /** Largest number of bytes of remembered counts: some thousand counts of tables of a few files. */
  private val Remembered = 4L * 1024 * 1024

  private val counts = new BoundedCache[Key, CachedCount]("counted rows of files", Remembered)(_.bytes)

  /** Bytes of an entry without its key. */
  private val Overhead = 512L

  /** Most bytes in memory of the columns of one row group. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 32L)

  /** Nanoseconds per row without its values. */
  private val PerRow = 20.0

  /** Nanoseconds to read and decode one value. */
  private val PerValue = 40.0

  /** Nanoseconds to fetch, unpack and copy one byte: of long texts, this takes most of the time. */
  private val PerByte = 0.5

  /** Nanoseconds to evaluate one node of the condition for one row. */
  private val PerNode = 20.0

  /** Factor by which a count may take longer than estimated, in a JVM that has not compiled the code yet. */
  private val Safety = 2.0

  /** Rows between two looks at the clock, if a reader returns rows. A batch has some thousand rows. */
  private val RowsBetweenLooks = 1024L
}
