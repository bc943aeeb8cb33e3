package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BindReferences, Expression, Literal}
import org.apache.spark.sql.dovetail.base.{HeapLimit, SharedMemory}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.dovetail.footers.RowGroups
import org.apache.spark.sql.dovetail.predicates.{ExpressionKey, LinearTime, TrialSafe}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * A read of all rows of a table of Parquet or ORC files that a condition keeps, while a query is planned. Spark's own
 * reader reads the rows on the driver, without a job. The memory is that of one batch of the reader; whoever keeps rows
 * copies them.
 *
 * @param files     identifies the files and the way of reading them
 * @param columns   columns to read, among them those of the condition
 * @param condition condition, bound to these columns
 */
final class FilteredRead private (
    relation: HadoopFsRelation,
    groups: RowGroups,
    files: FileSampleCache.Key,
    val columns: StructType,
    condition: Expression
) {
  import FilteredRead._

  /** Identifies the rows that the read passes on. */
  val key: Key = Key(files, columns, ExpressionKey(condition))

  /** Rows of the table. */
  def tableRows: Long = groups.rows

  /** Estimated nanoseconds that the read takes. */
  lazy val nanos: Double =
    groups.wholeFiles.size * PerFile + groups.groups.size * PerGroup +
      groups.wholeFiles.iterator.map(f =>
        groups.footerSize(f._1)
      ).sum * PerFooterByte + groups.rows * (PerRow + PerValue * columns.size + PerByte * width + perEvaluation)

  private def perEvaluation: Double = condition.collect {
    case _: Literal => PerLiteral
    case _          => PerNode
  }.sum

  /** Average bytes of the columns per row in the files. */
  private lazy val width: Double = columns.map(groups.width(_)).sum

  /** Bytes in memory of the columns that a reader fetches as a whole. */
  private def bytesAtOnce: Double = groups.mostAtOnce * columns.map(groups.memory(_)).sum

  /** Whether the driver has room for the columns of each row group, and there is time for the read. */
  def isPossible: Boolean = bytesAtOnce <= MostBytes && Aside.allows((nanos * Safety).toLong)

  /**
   * Reads the rows.
   *
   * @param doing what is done with the rows, for people
   * @param use   gets a function that passes all rows to another one; the row object is reused
   * @return the result, or why the condition or the read has failed. None if the read does not end in time or finds no
   *         free memory: another query may be able to do it
   */
  def apply[A](doing: String)(use: ((InternalRow => Unit) => Unit) => A): Option[Either[Throwable, A]] = {
    val place = s"$doing ${Aside.table(groups.files.head._1.getPath)}"
    try Aside(place)(until => SampleMemory.within(until, bytesAtOnce)(use(each(until)))).map(Right(_))
    catch {
      case SharedMemory.NoFreeMemory => PlanningTime.cut(s"$place found no free memory"); None
      case Survivable(e)             => Some(Left(e))
    }
  }

  private def each(until: Long)(use: InternalRow => Unit): Unit = {
    val open = new GroupReader(relation, groups, columns, until)
    groups.wholeFiles.foreach { case (file, all) => open(file, all)(pass(_, until, use)) }
  }

  private def pass(found: Iterator[Any], until: Long, use: InternalRow => Unit): Unit = {
    def look(row: InternalRow): Unit = if (condition.eval(row) == true) use(row)
    var seen                         = 0L
    while (found.hasNext) {
      if (seen % RowsBetweenLooks == 0L) Aside.check(until)
      GroupReader.piece(found.next())(
        batch => {
          var (i, n) = (0, batch.numRows)
          while (i < n) { look(batch.getRow(i)); i += 1 }
          Aside.check(until)
        },
        look
      )
      seen += 1L
    }
  }
}

object FilteredRead {

  /**
   * None if the condition cannot be evaluated on the columns of the files, or not in a time that depends on the number
   * and the size of rows only.
   *
   * @param files    identifies the files and the way of reading them
   * @param output   columns of the leaf that reads the files
   * @param needed   further columns without which the read is of no use
   * @param wanted   further columns, as far as they can be read
   * @param readable whether a column of the files may be read
   */
  def apply(
      relation: HadoopFsRelation,
      groups: RowGroups,
      files: => FileSampleCache.Key,
      output: Seq[Attribute],
      condition: Expression,
      readable: StructField => Boolean,
      needed: AttributeSet = AttributeSet.empty,
      wanted: AttributeSet = AttributeSet.empty
  ): Option[FilteredRead] = {
    val all   = condition.references ++ needed
    val named = (all ++ wanted).map(_.name).toSet
    val found = relation.dataSchema.toVector.filter(f => named(f.name) && readable(f)).flatMap(f =>
      output.find(a => a.name == f.name && a.dataType == f.dataType).map(f -> _)
    )
    val usable = groups.all && groups.files.nonEmpty && condition.references.nonEmpty &&
      all.subsetOf(AttributeSet(found.map(_._2)))
    if (!usable || !evaluates(condition)) None
    else {
      val bound = BindReferences.bindReference(condition, found.map(_._2).toList)
      Some(new FilteredRead(relation, groups, files, StructType(found.map(_._1)), bound))
    }
  }

  /** Whether a condition may be evaluated on rows while a query is planned, in a short time for each row. */
  def evaluates(condition: Expression): Boolean = TrialSafe(condition) && LinearTime.orShortSearch(condition)

  final case class Key(files: FileSampleCache.Key, columns: StructType, condition: ExpressionKey) {
    def bytes: Long = Overhead + condition.bytes + files.bytes + KeyBytes(columns)
  }

  /** Bytes of a cache entry without its key and its content. */
  private val Overhead = 512L

  /** Most bytes in memory of the columns of one row group. */
  private val MostBytes = HeapLimit(64L * 1024 * 1024, part = 32L)

  /** Nanoseconds to open a local file. */
  private val PerFile = 5e5

  /** Nanoseconds to begin with a row group. */
  private val PerGroup = 1e5

  /** Nanoseconds to parse one byte of a footer: some 4 ms for a file of 1.5 GB with 235 row groups of 23 columns. */
  private val PerFooterByte = 10.0

  /** Nanoseconds per row without its values. */
  private val PerRow = 20.0

  /** Nanoseconds to read and decode one value. */
  private val PerValue = 40.0

  /** Nanoseconds to fetch, unpack and copy one byte: of long texts, this takes most of the time. */
  private val PerByte = 0.5

  /** Nanoseconds to evaluate one node of the condition for one row. */
  private val PerNode = 20.0

  /** Nanoseconds to compare with one constant of a list for one row. */
  private val PerLiteral = 10.0

  /** Factor by which a read may take longer than estimated, in a JVM that has not compiled the code yet. */
  private val Safety = 2.0

  /** Rows between two looks at the clock, if a reader returns rows. A batch has a few thousand rows. */
  private val RowsBetweenLooks = 1024L
}
