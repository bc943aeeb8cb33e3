package org.apache.spark.sql.dovetail.footers

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, ImpliedRange, RelationProfile, Source, Width}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.FailOpen
import org.apache.spark.sql.dovetail.deadline.ListedFiles
import org.apache.spark.sql.dovetail.leaf.HiddenRows
import org.apache.spark.sql.dovetail.predicates.{TrialSafe, Values, Widths}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._

/**
 * Rows and columns of a relation over Parquet or ORC files, from their footers.
 *
 * @param output   columns of the leaf
 * @param deleted  number of rows that reading the files leaves out (Delta's deletion vectors); None if it is unknown:
 *                 then the rows in the footers are at best an upper bound
 * @param added    whether reading may return rows that these files do not have: then the footers bound nothing
 * @param columns  number of columns that a file has: each takes room in the cache
 * @param schema   schema of the partition columns; each file has one row of their values
 * @param all      files of the relation
 * @param matching how Spark finds a column in a file
 */
final class TableFooters private (
    name: String,
    output: Seq[Attribute],
    format: FooterFormat,
    deleted: Option[Long],
    added: Boolean,
    columns: Int,
    schema: StructType,
    all: Vector[ListedFiles.File],
    hadoop: => Configuration,
    caseSensitive: Boolean,
    matching: ColumnMatching
) {

  /** Number of files. */
  def size: Int = all.size

  // for a table of many files, numbers of a sample of them in reading order
  private val chosen: Vector[Int]       = Spread(all.size).take(TableFooters.filesOf(columns)).toVector
  private val files: Vector[CachedFile] = chosen.map(all).map { case (f, values) => new CachedFile(f, values) }

  private lazy val position: Map[Path, Int] = files.map(_.status.getPath).zip(chosen).toMap

  private val partition: Map[String, Int] = schema.fieldNames.zipWithIndex.toMap

  /** Columns of the leaf that files have under a known name. */
  private def named: Seq[Attribute] = output.filter(a => !partition.contains(a.name) && matching.byName(a))

  /** The reads that are worth their time for a query that references the columns `wanted`. */
  def request(wanted: AttributeSet): FooterRequest = {
    val names                       = named.filter(wanted.contains).map(matching.nameOf)
    def columns(footer: FileFooter) = names.flatMap(footer.column(_, caseSensitive))
    new FooterRequest(format, files, all.iterator.map(_._1.getLen).sum, hadoop, columns)
  }

  /**
   * Row groups from the footers that are in the cache, and whether these are all rows of the table and no others. None
   * for a format that hides or adds an unknown number of rows.
   */
  def rowGroups: Option[RowGroups] = Some(read).filter(deleted.isDefined && _.nonEmpty).map(r =>
    RowGroups(
      r.sortBy(f => position(f.file.getPath)).map(f => f.file -> f.footer),
      r.size == all.size && deleted.contains(0L),
      named.map(a => a.name -> matching.nameOf(a)).toMap
    )
  )

  /**
   * Share of the rows in row groups that may have values of a column between two numbers, which a reader cannot skip;
   * None if it is not known.
   */
  def between(a: Attribute, low: Double, high: Double): Option[Double] = {
    val found = if (partition.contains(a.name) || !matching.byName(a)) Vector.empty
    else read.flatMap(f => columnOf(f, a).filter(_.kind == TableFooters.kind(a.dataType)).map(f.footer.rows -> _))
    val parts = found.flatMap { case (rows, c) =>
      if (c.values == 0L) Some(0.0) else c.between(low, high).map(_ * rows)
    }
    val rows = found.map(_._1).sum
    if (rows <= 0L || parts.size < read.size) None else Some(parts.sum / rows)
  }

  /** The smallest and the largest value of a column in all files; None if they are not known for certain. */
  def range(a: Attribute): Option[(Double, Double)] = {
    val read    = this.read
    val columns = if (partition.contains(a.name) || !matching.byName(a)) Vector.empty else read.map(columnOf(_, a))
    val filled  = columns.flatten.filter(_.values > 0L)
    val certain = !added && read.size == all.size && columns.size == read.size && columns.forall(_.isDefined) &&
      filled.forall(_.kind == TableFooters.kind(a.dataType))
    if (certain) Ends.hull(filled.map(_.ends)).collect { case n: Numbers => (n.low, n.high) } else None
  }

  /** Ranges of columns in the row groups that predicates on other columns leave ([[FooterStatistics.implied]]). */
  def implied(ranges: Seq[(Attribute, (Double, Double))], columns: Seq[Attribute]): Map[Attribute, ImpliedRange] = {
    val read                                          = this.read
    def known(a: Attribute, f: TableFooters.FileRead) =
      if (partition.contains(a.name) || !matching.byName(a)) None
      else columnOf(f, a).filter(_.kind == TableFooters.kind(a.dataType))
    // the files that were not read may have other values
    if (added || ranges.isEmpty || read.size < all.size) Map.empty
    else {
      val conditions = read.map(f => ranges.flatMap { case (a, ends) => known(a, f).map(_ -> ends) })
      columns.flatMap(a =>
        LeftRowGroups(read.map(known(a, _)).zip(conditions).zip(read.map(_.footer.rows))).map(a -> _)
      ).toMap
    }
  }

  private def read: Vector[TableFooters.FileRead] =
    files.flatMap(f => f.entry.flatMap(e => e.footer.map(TableFooters.FileRead(f.status, f.values, e, _))))

  /**
   * Profile of some of the leaf's columns from the footers that are in the cache; None if there are none although the
   * table has files.
   */
  def profile(of: Seq[Attribute]): Option[RelationProfile] = {
    val read = this.read
    if (all.isEmpty && !added) Some(relation(of, Estimate.exactly(0.0, Source.Footer), read))
    else if (read.isEmpty) None
    else Some(relation(of, rows(read), read))
  }

  private def rows(read: Vector[TableFooters.FileRead]): Estimate = {
    val counted = read.map(_.footer.rows).sum.toDouble
    if (added) Estimate.guess(counted * all.map(_._1.getLen).sum / read.map(_.file.getLen).sum, Source.Footer)
    else if (read.size == all.size)
      deleted.fold(Estimate.upTo(counted, counted, Source.Footer))(d =>
        Estimate.exactly(math.max(counted - d, 0.0), Source.Footer)
      )
    else {
      val share = read.map(_.file.getLen).sum.toDouble / all.map(_._1.getLen).sum
      val gone  = deleted.getOrElse(0L)
      val least = if (deleted.isDefined) math.max(counted - gone, 0.0) else 0.0
      Estimate(math.max(counted / share - gone, least), least, Estimate.Ceiling, Source.Footer)
    }
  }

  private def relation(of: Seq[Attribute], rows: Estimate, read: Vector[TableFooters.FileRead]): RelationProfile = {
    val counted = read.map(_.footer.rows).sum.toDouble
    val columns = of.map { a =>
      val (column, faults) = partition.get(a.name) match {
        case Some(i) => ofPartitions(a, i, rows.value, read)
        case None    => ofFiles(a, rows.value, counted, read)
      }
      faults.foreach(f =>
        FailOpen.warnOnce(
          s"$name.${a.name} footer $f",
          s"Footers of $name have invalid statistics of column ${a.name}, which are ignored: $f"
        )
      )
      // ranges cover only the files that were read, but partitions have all values
      a.exprId.id -> (if (partition.contains(a.name)) column
                      else column.copy(unseen = TableFooters.unseen(rows.value, counted, read.size)))
    }
    RelationProfile(rows, columns.toMap, rows.value)
  }

  private def ofFiles(
      a: Attribute,
      rows: Double,
      counted: Double,
      read: Vector[TableFooters.FileRead]
  ): (ColumnProfile, Seq[String]) = {
    val found  = if (matching.byName(a)) read.flatMap(r => columnOf(r, a).map(r -> _)) else Vector.empty
    val scale  = if (counted > 0.0) rows / counted else 1.0
    val ranged = found.filter(_._2.values > 0L)
    // in some files, Spark takes the values from elsewhere than the column of this name
    val others = read.size > found.size && read.exists(r => columnOf(r, a).isEmpty && matching.hasOthers(a, r.footer))
    val ends   = if (others) None
    else Ends.hull(ranged.map(_._2.ends)).filter(_ => ranged.forall(_._2.kind == TableFooters.kind(a.dataType)))
    val numbers = ends.collect { case n: Numbers if Values.ordered(a.dataType) => n }
    // a column that only some files have is NULL in the others; a column that no file has goes by another name in them
    val nulls = if (others || found.isEmpty || found.exists(_._2.nulls.isEmpty)) None
    else Some((found.flatMap(_._2.nulls).sum + absent(read, found)) / math.max(counted, 1.0) * rows)
    val nonNull  = found.map(_._2.values).sum * scale
    val distinct = found.map { case (r, c) => (c, Option(r.entry.distinct.get(c.name)).flatten) }
    val parts = distinct.collect { case (c, Some(d)) if c.values > 0L => ChunkValues(c.values.toDouble, d.ndv, c.ends) }
    val places = numbers.flatMap(n => TableFooters.places(a.dataType, n))
    val room   = if (found.nonEmpty && found.forall(_._2.atMost.isDefined))
      Some(found.flatMap(_._2.atMost).sum * scale + 1.0)
    else None
    val counts =
      (if (parts.isEmpty) None else Some(DistinctHints.union(parts, nonNull))) ++ places ++ room ++ Some(nonNull)
    // the number of values bounds the NDV if it is below the NDV that an unknown column is assumed to have
    val known = parts.nonEmpty || places.isDefined || (found.nonEmpty && nonNull <= 1.0 / Assumptions.Equality)
    val (column, faults) = ColumnProfile.checked(
      ndv = if (known) Some(counts.min) else None,
      nulls = nulls,
      rows = Some(rows),
      min = numbers.map(_.low),
      max = numbers.map(_.high),
      histogram = None,
      width = Some(width(a.dataType, distinct, read.size == all.size && !others && !added))
    )
    // footers do not say how evenly the rows are spread over the values
    val repetition = column.ndv.fold(0.0)(Assumptions.repetition(_, nonNull))
    (column.copy(repetition = repetition, uncounted = parts.isEmpty), faults)
  }

  private def columnOf(r: TableFooters.FileRead, a: Attribute): Option[ColumnFooter] =
    r.footer.column(matching.nameOf(a), caseSensitive)

  private def absent(read: Vector[TableFooters.FileRead], found: Vector[(TableFooters.FileRead, ColumnFooter)]): Long =
    read.map(_.footer.rows).sum - found.map(_._1.footer.rows).sum

  /**
   * Bytes of the column's values, from its type or from the files.
   *
   * @param everywhere whether all files were read: only then do the bounds of their values hold for the table
   */
  private def width(dataType: DataType, columns: Vector[(ColumnFooter, Option[Distinct])], everywhere: Boolean): Width =
    if (Widths.fixed(dataType).isDefined) Widths.ofType(dataType)
    else {
      // fields that the file lacks are NULL, and take their place in a row all the same
      val leaves = Widths.leaves(dataType)
      val found  = columns.map { case (c, d) =>
        c.values.toDouble -> c.lengths.orElse(d.flatMap(_.lengths)).filter(_ => c.leaves >= leaves)
      }.filter(_._1 > 0.0)
      val known                                                    = found.collect { case (n, Some(l)) => n -> l }
      def all[A](measure: Lengths => Option[A]): Option[Vector[A]] =
        Some(known.flatMap(k => measure(k._2))).filter(_.size == found.size && everywhere && columns.nonEmpty)
      if (known.isEmpty) {
        if (found.isEmpty && everywhere && columns.nonEmpty) Width.measured(0.0, Some(0.0), Some(0.0), Source.Footer)
        else Widths.ofType(dataType)
      } else
        Width.measured(
          known.map { case (n, l) => n * l.mean }.sum / known.map(_._1).sum,
          all(_.longest).map(_.max),
          all(_.total).map(_.sum),
          Source.Footer
        )
    }

  /**
   * Profile of a partition column. All its values are known, even of unread files; the rows of these are estimated from
   * their bytes.
   */
  private def ofPartitions(
      a: Attribute,
      i: Int,
      rows: Double,
      read: Vector[TableFooters.FileRead]
  ): (ColumnProfile, Seq[String]) = {
    val counted = read.map(f => f.file.getPath -> f.footer.rows.toDouble).toMap
    val perByte = counted.values.sum / math.max(read.map(_.file.getLen).sum, 1L)
    val files   = all.map { case (file, values) =>
      values.get(i, a.dataType) -> counted.getOrElse(file.getPath, file.getLen * perByte)
    }
    PartitionProfile(a.dataType, files, rows, Source.Footer)
  }
}

object TableFooters {

  /** @param values values of the partition columns */
  final private case class FileRead(file: FileStatus, values: InternalRow, entry: FooterEntry, footer: FileFooter)

  /**
   * The footers of the leaf's files, which are not read yet; None if it does not read Parquet or ORC files. The files
   * are listed, which the query does anyway.
   *
   * @param whole lists all files of an index
   */
  def listed(
      name: String,
      leaf: LeafNode,
      caseSensitive: Boolean,
      whole: FileIndex => Option[Vector[ListedFiles.File]]
  ): Option[TableFooters] = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation =>
          val plain = Set[Class[_]](classOf[ParquetFileFormat], classOf[OrcFileFormat])(f.fileFormat.getClass)
          for {
            format <- FooterFormat.formatOf(f.fileFormat)
            chosen = if (plain) None else ListedFiles.chosen(f.location)
            files <- chosen.map(c => ListedFiles.withRows(c.directories)).orElse(whole(f.location))
          } yield new TableFooters(
            name,
            r.output,
            format,
            if (plain) Some(0L) else chosen.flatMap(_.deleted),
            chosen.isEmpty && HiddenRows.mayAdd(f),
            f.dataSchema.size,
            f.partitionSchema,
            files,
            f.sparkSession.sessionState.newHadoopConfWithOptions(f.options),
            caseSensitive,
            ColumnMatching(format, r.conf, ColumnMatching.hadoopSetting(f, _), DeltaColumns(f.fileFormat))
          )
        case _ => None
      }
    case r: DataSourceV2ScanRelation => r.scan match {
        // an output column that is not in the files is an aggregate that Spark pushed into the scan
        case s: FileScan
            if r.output.forall(a =>
              (s.dataSchema.fieldNames ++ s.fileIndex.partitionSchema.fieldNames).contains(a.name)
            ) =>
          for {
            (format, conf) <- FooterFormat.formatAndConf(s)
            // the listing evaluates predicates on the partitions
            files <- ListedFiles(s.fileIndex, s.partitionFilters.filter(TrialSafe(_))).map(ListedFiles.withRows)
          } yield new TableFooters(
            name,
            r.output,
            format,
            Some(0L),
            added = false,
            s.dataSchema.size,
            s.fileIndex.partitionSchema,
            files,
            conf,
            caseSensitive,
            ColumnMatching(format, r.conf, key => Option(conf.get(key)))
          )
        case _ => None
      }
    case _ => None
  }

  private def kind(dataType: DataType): Kind = dataType match {
    case DateType                         => Kind.Date
    case TimestampType | TimestampNTZType => Kind.Timestamp
    case _: NumericType | BooleanType     => Kind.Number
    case _                                => Kind.Other
  }

  /** Number of possible values from one end to the other, for types whose values are evenly spaced. */
  private def places(dataType: DataType, n: Numbers): Option[Double] = dataType match {
    case _: IntegralType | DateType | BooleanType => Some(n.high - n.low + 1.0)
    case d: DecimalType                           => Some((n.high - n.low) * math.pow(10.0, d.scale.toDouble) + 1.0)
    case _                                        => if (n.high == n.low) Some(1.0) else None
  }

  /**
   * Share of the rows that may lie outside of the range of all files that were read. These are spread evenly over the
   * table, so of so many files and one more, each has the least value with the same chance, and the greatest.
   */
  private def unseen(rows: Double, counted: Double, read: Int): Double =
    if (rows > counted) (1.0 - counted / rows) * math.min(1.0, 2.0 / (read + 1.0)) else 0.0

  /**
   * Number of files of a table whose footers are read. It is smaller if they have many columns, so that the footers of
   * all tables of a query fit into the cache together.
   */
  private def filesOf(columns: Int): Int =
    math.max(LeastFiles, math.min(FilesPerTable, FooterCache.MaxColumns / TablesPerQuery / math.max(columns, 1)))

  /**
   * Number of files in a sample. A sample of this size, evenly spread, gives the rows of a table within a few percent,
   * and adding it up takes milliseconds.
   */
  private val FilesPerTable = 512

  /**
   * Number of files that are read however many columns they have, because fewer are no sample. With 5,000 columns they
   * fill the cache.
   */
  private val LeastFiles = 16

  /**
   * Number of tables with more than FilesPerTable files that a query reads at the same time: the fact tables of a star
   * schema. Most queries have one or two.
   */
  private val TablesPerQuery = 8
}

/**
 * The numbers below n in an order in which every prefix is spread evenly over all of them: bit-reversed (van der
 * Corput, 1935). The files of a table and the row groups of a file are read in this order. So any number of them is a
 * fair sample, even if the data was written in some order, and the next query continues where this one had to stop.
 */
object Spread {
  def apply(n: Int): Iterator[Int] = {
    val bits = 32 - Integer.numberOfLeadingZeros(math.max(n - 1, 0))
    Iterator.range(0, 1 << math.min(bits, 30)).map(i =>
      if (bits == 0) 0 else Integer.reverse(i) >>> (32 - bits)
    ).filter(_ < n)
  }
}
