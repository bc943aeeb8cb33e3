package org.apache.spark.sql.dovetail.store

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.base.TextHash
import org.apache.spark.sql.dovetail.footers.ColumnMatching
import org.apache.spark.sql.dovetail.leaf.{ColumnarFormat, SkippedFiles}
import org.apache.spark.sql.dovetail.sample.ReaderSettings
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** A table's entry in the store: its header and the statistics of the whole table. The parts are not read. */
final class StoredTable(val file: String, val header: TableFile.Header, sketch: TableSketch) {

  /** Bytes of the files that ANALYZE read. */
  val bytes: Long = header.parts.map(_.bytes).sum

  /** Statistics of the whole table at the time when they were collected. */
  val statistics: TableStatistics = sketch.result(bytes, header.collectedAt)
}

/**
 * The key of a table's statistics: the location of its data. A table has the same key whether it is read by name or by
 * path. Renaming a table or pruning partitions of a catalog table does not change the key.
 *
 * Parquet and ORC files say what their values are. What other files contain depends on how they are read, for example
 * on a separator, a schema or the time zone of the session, so their key depends on that, too. So does that of Parquet
 * and ORC files where the session or the table departs from the usual: columns that are found by other means than their
 * names in any letter case, values for columns that older files lack, other calendars, files that may be skipped.
 */
object TableKey {

  /**
   * The key of one location. It opens no file system: Hadoop keeps a file system for all later users, and one that is
   * opened with the driver's configuration lacks the credentials that the session sets.
   */
  def of(location: Path, hadoop: Configuration): String = StoreFiles.qualified(location, hadoop)

  def apply(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String = {
    val how = if (ColumnarFormat(files)) unusual(files) else reading(files)
    if (how.isEmpty) place(relation, files, hadoop) else s"${TextHash.hex(how)} ${place(relation, files, hadoop)}"
  }

  /** The location of the data alone, however it is read. */
  def place(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String = {
    val roots = relation.catalogTable.flatMap(_.storage.locationUri) match {
      case Some(location) => Seq(new Path(location))
      case None           => files.location.rootPaths
    }
    roots.map(TableKey.of(_, hadoop)).distinct.sorted.mkString(",")
  }

  /** How columnar files are read, as far as that changes their values and is not the usual. */
  private def unusual(files: HadoopFsRelation): String = {
    val conf     = files.sparkSession.sessionState.conf
    val calendar = Calendars.collect {
      case (key, usual) if !conf.getConfString(key).equalsIgnoreCase(usual) =>
        s"$key=${conf.getConfString(key).toUpperCase(Locale.ROOT)}"
    }
    val options = lowerCase(files.options).filter { case (k, _) => CalendarOptions(k) }.sorted.map(_.toString)
    val skips   = if (SkippedFiles.possible(files)) Vector("skips files") else Vector.empty
    (calendar ++ options ++ ColumnMatching.unusual(files) ++ skips).mkString("\n")
  }

  private def lowerCase(options: Map[String, String]): Vector[(String, String)] =
    options.toVector.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v }

  private def reading(files: HadoopFsRelation): String = {
    val conf     = files.sparkSession.sessionState.conf
    val settings = ReaderSettings(conf).toVector.filterNot { case (k, _) =>
      Others.exists(k.startsWith) && !OfText.exists(k.startsWith)
    }
    val columns = files.dataSchema.map(f => s"${f.name} ${f.dataType.catalogString}")
    val read    = lowerCase(files.options).filterNot { case (k, _) => Ignored(k) }.sorted ++ settings.sorted
    (Seq(files.fileFormat.getClass.getName, conf.sessionLocalTimeZone) ++ read ++ columns).mkString("\n")
  }

  /** Settings that tell in which calendar or time zone old writers meant their dates and times, with their defaults. */
  private val Calendars = Seq(
    SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION,
    SQLConf.PARQUET_INT96_REBASE_MODE_IN_READ,
    SQLConf.PARQUET_REBASE_MODE_IN_READ
  ).map(e => e.key -> e.defaultValueString)

  /** Options of a reader for the same. */
  private val CalendarOptions = Set("datetimerebasemode", "int96rebasemode")

  /** Options that say where the files are, or how Spark found the schema. */
  private val Ignored = Set("path", "paths", "inferschema", "samplingratio", "serialization.format")

  /**
   * Settings of the readers of formats whose key is the location alone, of other parts of Spark, and one of which the
   * key has the value, whether it is set or not.
   */
  private val Others =
    Seq("spark.sql.parquet.", "spark.sql.orc.", "orc.", "spark.sql.legacy.", "spark.sql.session.timeZone")

  /** Of these, settings of readers of text. */
  private val OfText =
    Seq("timeParserPolicy", "csv", "json", "nullValueWrittenAsQuotedEmptyStringCsv").map("spark.sql.legacy." + _)
}
