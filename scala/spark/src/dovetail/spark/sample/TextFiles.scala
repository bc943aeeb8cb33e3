package org.apache.spark.sql.dovetail.sample

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.dovetail.deadline.{Aside, ListedFiles}
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/**
 * A relation over CSV or JSON files with one record per line: its files, and Spark's own reader for a range of a file,
 * which applies the options of the relation. [[TextSample]] reads some ranges.
 *
 * @param files  non-empty files, each with its values of the partition columns
 * @param schema columns to read
 */
final class TextFiles private (
    val relation: HadoopFsRelation,
    val files: Vector[(FileStatus, InternalRow)],
    val schema: StructType
) {
  private val session = relation.sparkSession
  private val options = CaseInsensitiveMap(relation.options)

  val bytes: Long = files.map(_._1.getLen).sum

  /**
   * Whether every query gets the same rows from a range. If malformed lines are dropped, the rows depend on the columns
   * that a query reads.
   */
  val certain: Boolean = !options.get(TextFiles.Mode).exists(_.equalsIgnoreCase(TextFiles.DropMalformed))

  /** Whether every line ends with a line feed, so that lines can be found in the bytes. */
  val plainLines: Boolean = !TextFiles.LineOptions.exists(options.contains)

  def hadoop: Configuration = session.sessionState.newHadoopConfWithOptions(relation.options)

  def conf: SQLConf = session.sessionState.conf

  /** A cache key that is equal for relations that read the same lines as the same rows. */
  def key(settings: ReaderSettings): TextFiles.Key = TextFiles.Key(
    relation.fileFormat.getClass.getName,
    FileVersions(files.map(_._1)),
    options.originalMap.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v } ++ settings(conf),
    relation.dataSchema,
    schema
  )

  def place: String = files.headOption.fold("text files")(f => Aside.table(f._1.getPath))

  /** Reads a range of a file as a task does. A malformed line gives a row here, even if it fails the query. */
  def reader(hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val lenient =
      if (options.get(TextFiles.Mode).exists(_.equalsIgnoreCase(TextFiles.FailFast)))
        options + (TextFiles.Mode -> TextFiles.Permissive)
      else options
    relation.fileFormat match {
      case f: CSVFileFormat =>
        f.buildReader(session, relation.dataSchema, new StructType, schema, Nil, lenient, hadoop)
      case f: JsonFileFormat =>
        f.buildReader(session, relation.dataSchema, new StructType, schema, Nil, lenient, hadoop)
      case other => throw new IllegalStateException(s"${other.getClass} is not a text format")
    }
  }
}

object TextFiles {

  /** @param options options of the relation and settings of the session */
  final case class Key(
      format: String,
      files: FileVersions,
      options: Map[String, String],
      data: StructType,
      schema: StructType
  ) {
    def bytes: Long = KeyBytes(options) + KeyBytes(data) + KeyBytes(schema)
  }

  private val Mode          = "mode"
  private val FailFast      = "FAILFAST"
  private val Permissive    = "PERMISSIVE"
  private val DropMalformed = "DROPMALFORMED"

  /** Options under which a line may not end with a line feed (a byte of 10). */
  private val LineOptions = Seq("lineSep", "encoding", "charset")

  /** Name of the option, in CSV and JSON, for the column that receives malformed lines. */
  private val CorruptRecord = "columnNameOfCorruptRecord"

  /**
   * Largest number of columns to read. A line has few bytes per column, but a row in memory has a slot for every
   * column, even for those that the line lacks.
   */
  private val MostColumns = 200

  private val Formats = Set[Class[_]](classOf[CSVFileFormat], classOf[JsonFileFormat])

  /** Whether the leaf reads text files with one record per line. The files are not listed. */
  def possible(leaf: LeafNode): Boolean = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation => Formats(f.fileFormat.getClass) && oneLinePerRecord(f)
        case _                   => false
      }
    case _ => false
  }

  private def oneLinePerRecord(f: HadoopFsRelation): Boolean =
    !CaseInsensitiveMap(f.options).get("multiLine").exists(_.equalsIgnoreCase("true"))

  /**
   * The files of the leaf, listed as the query will list them anyway. None for other leaves, and if the listing takes
   * too long.
   *
   * @param readable whether a column may be read, by name
   */
  def listed(leaf: LeafNode, conf: SQLConf)(readable: String => Boolean): Option[TextFiles] = leaf match {
    case r: LogicalRelation if possible(r) =>
      r.relation match {
        case f: HadoopFsRelation =>
          val corrupt =
            CaseInsensitiveMap(f.options).getOrElse(CorruptRecord, conf.getConf(SQLConf.COLUMN_NAME_OF_CORRUPT_RECORD))
          // the column of malformed lines depends on the columns that a query reads, and partition columns are not in
          // the files
          val others = (f.partitionSchema.fieldNames :+ corrupt).map(_.toLowerCase(Locale.ROOT)).toSet
          val schema = f.dataSchema.filter(c =>
            FileSample.readable(c.dataType) && readable(c.name) && !others(c.name.toLowerCase(Locale.ROOT))
          )
          ListedFiles(f.location).map(listing =>
            new TextFiles(f, ListedFiles.withRows(listing), StructType(schema.take(MostColumns)))
          )
        case _ => None
      }
    case _ => None
  }
}
