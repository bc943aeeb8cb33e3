package org.apache.spark.sql.dovetail.store

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.base.TextHash
import org.apache.spark.sql.dovetail.leaf.ColumnarFormat
import org.apache.spark.sql.dovetail.sample.ReaderSettings
import org.apache.spark.sql.dovetail.sketch.TableSketch
import org.apache.spark.sql.dovetail.table.TableStatistics
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

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
 * on a separator, a schema or the time zone of the session, so their key depends on that, too.
 */
object TableKey {

  /**
   * The key of one location. It opens no file system: Hadoop keeps a file system for all later users, and one that is
   * opened with the driver's configuration lacks the credentials that the session sets.
   */
  def of(location: Path, hadoop: Configuration): String = StoreFiles.qualified(location, hadoop)

  def apply(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String =
    if (ColumnarFormat(files)) place(relation, files, hadoop)
    else s"${TextHash.hex(reading(files))} ${place(relation, files, hadoop)}"

  /** The location of the data alone, however it is read. */
  def place(relation: LogicalRelation, files: HadoopFsRelation, hadoop: Configuration): String = {
    val roots = relation.catalogTable.flatMap(_.storage.locationUri) match {
      case Some(location) => Seq(new Path(location))
      case None           => files.location.rootPaths
    }
    roots.map(TableKey.of(_, hadoop)).distinct.sorted.mkString(",")
  }

  private def reading(files: HadoopFsRelation): String = {
    val conf     = files.sparkSession.sessionState.conf
    val options  = files.options.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v }.toVector
    val settings = ReaderSettings(conf).toVector.filterNot { case (k, _) =>
      Others.exists(k.startsWith) && !OfText.exists(k.startsWith)
    }
    val columns = files.dataSchema.map(f => s"${f.name} ${f.dataType.catalogString}")
    val read    = options.filterNot { case (k, _) => Ignored(k) }.sorted ++ settings.sorted
    (Seq(files.fileFormat.getClass.getName, conf.sessionLocalTimeZone) ++ read ++ columns).mkString("\n")
  }

  /** Options that say where the files are, or how Spark found the schema. */
  private val Ignored = Set("path", "paths", "inferschema", "samplingratio", "serialization.format")

  /**
   * Settings of the readers of formats whose key is the location alone, of other parts of Spark, and one of which the
   * key has the value, whether it is set or not.
   */
  private val Others = Seq("spark.sql.parquet.", "spark.sql.orc.", "spark.sql.legacy.", "spark.sql.session.timeZone")

  /** Of these, settings of readers of text. */
  private val OfText =
    Seq("timeParserPolicy", "csv", "json", "nullValueWrittenAsQuotedEmptyStringCsv").map("spark.sql.legacy." + _)
}
