package org.apache.spark.sql.dovetail.collect

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.base.{
  BoundedJson,
  BrokenFile,
  DovetailConf,
  ErrorCondition,
  Nanoseconds,
  NewerFile
}
import org.apache.spark.sql.dovetail.sketch.{Recipe, TableSketch}
import org.apache.spark.sql.dovetail.store.{DataFile, StatisticsStore, StoredTable, TableFile, TableKey}
import org.apache.spark.sql.dovetail.table.PrivateColumns
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation, TextBasedFileFormat}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.DataSourceRegister

/**
 * Collects statistics of one table of files and stores them: what DOVETAIL ANALYZE does per table.
 *
 * It keeps the parts of an earlier collection whose files are unchanged, and reads only the other files.
 */
final class AnalyzeTable(session: SparkSession, relation: LogicalRelation, files: HadoopFsRelation) {
  import AnalyzeTable._

  private val conf   = session.sessionState.conf
  private val store  = StatisticsStore(session)
  private val hadoop = session.sparkContext.hadoopConfiguration
  private val key    = TableKey(relation, files, hadoop)
  // without metadata columns, which a view may read
  private val output  = relation.output.filter(a => files.schema.fieldNames.contains(a.name)).toVector
  private val partial = PartialReading(files)

  val name: String = relation.catalogTable.fold(files.location.rootPaths.mkString(","))(_.identifier.unquotedString)

  /**
   * @param partitionFilters predicates on the partitions to read; statistics of partitions that were read earlier are
   *                         kept
   */
  def apply(columns: Option[Seq[String]], groups: Seq[Seq[String]], partitionFilters: Seq[Expression]): Result = {
    val start = System.nanoTime()
    privacy.check(names, output.map(_.name))
    store.files.checkWritable()
    files.location.refresh()
    val stored            = store.find(key)
    val newer             = if (stored.isEmpty) store.newer(key) else None
    val (recipe, skipped) = recipeOf(columns, groups, stored.map(_.header.recipe))
    val found             = listed(partitionFilters)
    val collected         = collect(stored, recipe, found)
    Result(
      name,
      collected.whole.rowCount,
      recipe.columns.size,
      collected.filesRead,
      collected.filesKept,
      Nanoseconds.toSeconds(System.nanoTime() - start),
      skipped ++ notes(stored, newer, recipe, partitionFilters, found) ++ collected.notes,
      Some((names, output.map(_.name)))
    )
  }

  private def listed(partitionFilters: Seq[Expression]): Listing = {
    val all = DataFile.filesIn(files.location)
    checkFormat(all)
    new Listing(all, if (partitionFilters.isEmpty) all else DataFile.filesIn(files.location, partitionFilters))
  }

  /**
   * Fails if Spark would read lines of text from files of a binary format, which it does without an error. Such lines
   * are no rows, and their number would be written into the catalog.
   */
  private def checkFormat(all: Vector[DataFile]): Unit = files.fileFormat match {
    case text: TextBasedFileFormat with DataSourceRegister if all.nonEmpty =>
      BinaryFormats.find(format => all.forall(_.path.getName.endsWith(s".$format"))).foreach { format =>
        throw ErrorCondition.NotAnalyzable(
          s"$name is read as ${text.shortName()}, but all of its files are named .$format, and lines of such files " +
            s"are not rows. Allowed: the format that the files have. Analyze them as $format.`<path>`.",
          "name" -> name
        )
      }
    case _ =>
  }

  /**
   * Keeps the stored parts that still hold, reads the other files, stores the result, and writes it to Spark's catalog
   * if it covers all files.
   */
  private def collect(stored: Option[StoredTable], recipe: Recipe, found: Listing): Collection = {
    val whole     = new TableSketch(recipe, sampleRows)
    val kept      = stored.toVector.flatMap(partsOf(_, whole)(_.files.forall(found.present)))
    val keptFiles = kept.iterator.flatMap(_.files).toSet
    val unread    = found.wanted.filterNot(f => keptFiles(f.fingerprint))
    val added     = read(unread, found.bytes, whole)
    val now       = System.currentTimeMillis()
    val changed   = added.nonEmpty || !stored.exists(s => partial || s.header.parts.size == kept.size)
    val held      =
      if (changed) save(kept ++ added, gone(stored.map(_.header), found.present), whole, now) else kept
    val covered = held.iterator.flatMap(_.files).toSet == found.present
    val written = if (covered) WriteBack(session, relation, whole.result(found.bytes, now)) else Nil
    Collection(whole, unread.size, keptFiles.size, written)
  }

  /**
   * Reads files that are not known yet, and merges them into `whole`. The result has one part per group of files.
   *
   * @param bytes bytes of all files of the table
   */
  private def read(unread: Vector[DataFile], bytes: Long, whole: TableSketch): Vector[TableFile.NewPart] = {
    val parts    = Parts.divided(unread, whole.recipe)
    val sketches = if (parts.isEmpty) Vector.empty
    else Collect(session, files, whole.recipe, parts, Parts.sampleRows(parts, bytes, sampleRows), whole)
    parts.zip(sketches).map { case (p, s) => TableFile.NewPart(p.map(_.fingerprint), p.map(_.length).sum, s) }
  }

  /**
   * Stores these parts together with those that others have stored meanwhile, and merges the latter into `whole`. The
   * result has all parts that are stored.
   */
  private def save(
      own: Vector[TableFile.NewPart],
      gone: Set[Long],
      whole: TableSketch,
      now: Long
  ): Vector[TableFile.NewPart] = {
    var held = own
    store.update(key) { latest =>
      val others = latest.toVector.flatMap(heldByOthers(_, gone, whole, held))
      held = Parts.atMost(held ++ others, whole.recipe)
      TableFile.NewTable(key, name, now, whole.recipe, held, whole.toBytes)
    }
    held
  }

  /** Notes for the user on files and statistics. */
  private def notes(
      stored: Option[StoredTable],
      newer: Option[NewerFile],
      recipe: Recipe,
      partitionFilters: Seq[Expression],
      found: Listing
  ): Seq[String] = {
    val none =
      if (found.wanted.isEmpty && partitionFilters.nonEmpty) Seq("these partitions have no files, so nothing was read")
      else Nil
    val lost =
      if (partitionFilters.nonEmpty && stored.exists(_.header.recipe != recipe))
        Seq("statistics of other partitions were removed, because they were collected for other columns or settings")
      else Nil
    none ++ lost ++ newer.map(_.replaced)
  }

  /**
   * Stored parts that were collected by the recipe of `whole`; they are merged into `whole`. A broken part is left out,
   * so that its files are read again.
   */
  private def partsOf(
      table: StoredTable,
      whole: TableSketch
  )(wanted: TableFile.Part => Boolean): Vector[TableFile.NewPart] =
    if (table.header.recipe != whole.recipe) Vector.empty
    else for {
      p      <- table.header.parts.filter(wanted)
      bytes  <- store.part(table, p)
      sketch <- store.sketch(table, bytes)
    } yield {
      whole.merge(sketch)
      TableFile.NewPart(p.files, p.bytes, if (table.header.version == TableFile.Version) bytes else sketch.toBytes)
    }

  /** Files that were read once and no longer exist. */
  private def gone(known: Option[TableFile.Header], present: Set[Long]): Set[Long] =
    if (partial) Set.empty
    else known.toVector.flatMap(_.parts).flatMap(_.files).filterNot(present).toSet

  /**
   * Parts that are now stored for other files. Another session may have collected them for another partition while this
   * session was reading. Or they were stored before, but this session did not find them because another session was
   * just replacing the table's file in the store.
   */
  private def heldByOthers(
      table: StoredTable,
      gone: Set[Long],
      whole: TableSketch,
      own: Vector[TableFile.NewPart]
  ): Vector[TableFile.NewPart] = {
    val mine = own.iterator.flatMap(_.files).toSet
    partsOf(table, whole)(!_.files.exists(f => gone(f) || mine(f)))
  }

  private def sampleRows: Int = DovetailConf.SampleRows.get(conf).toInt

  /**
   * Recipe of the requested columns and of those collected before, with notes on columns for which nothing is
   * collected.
   */
  private def recipeOf(
      columns: Option[Seq[String]],
      groups: Seq[Seq[String]],
      known: Option[Recipe]
  ): (Recipe, Seq[String]) = {
    val asked    = columns.getOrElse(output.map(_.name)).map(resolve(conf, output.map(_.name), name))
    val inGroups = groups.map(_.map(resolve(conf, output.map(_.name), name)))
    val before   = known.toVector.flatMap(_.columns).filter(c =>
      output.exists(a => a.name == c.name && a.dataType == c.dataType)
    ).map(_.name)
    val names               = (asked ++ inGroups.flatten ++ before).toSet
    val (collected, others) =
      output.filter(a => names(a.name)).partition(a => Recipe.collects(a.dataType) || Recipe.measures(a.dataType))
    val fields    = collected.map(a => (a.name, a.dataType, mayKeep(a.name)))
    val positions = collected.map(_.name).zipWithIndex.toMap
    val older     = known.toVector.flatMap(r => r.groups.map(_.map(r.columns(_).name)))
    val grouped   = (inGroups.map(_.toVector).toVector ++ older).filter(_.forall(positions.contains)).map(_.map(
      positions
    ).sorted).distinct
    val notes   = others.map(a => s"${a.name} has type ${a.dataType.typeName}, for which no statistics are collected")
    val sampled = DovetailConf.SampleEnabled.get(conf) && DovetailConf.StoreValues.get(conf)
    val recipe  = Recipe.forColumns(fields, grouped, sampled, DovetailConf.HistogramEnabled.get(conf))
    checkLength(recipe)
    (recipe, notes)
  }

  /** Fails if the store could not read the description of the columns again. */
  private def checkLength(recipe: Recipe): Unit =
    try BoundedJson.read(recipe.schema.json.getBytes("UTF-8"))
    catch {
      case e: BrokenFile => throw ErrorCondition.NotAnalyzable(
          s"the schema of the columns of $name is too long to be stored: ${e.getMessage}. Choose some with " +
            "COLUMNS (…).",
          "name" -> name
        )
    }

  private lazy val privacy = PrivateColumns(conf)

  /** Names of the table by which an entry of the private columns may refer to it. */
  lazy val names: Seq[Seq[String]] = if (privacy.isEmpty) Nil else PrivateColumns.namesOf(session, relation, sameFiles)

  private def sameFiles(table: CatalogTable): Boolean = table.storage.locationUri.exists(location =>
    TableKey.of(new Path(location), hadoop) == TableKey.place(relation, files, hadoop)
  )

  private def mayKeep(column: String): Boolean = DovetailConf.StoreValues.get(conf) && !privacy(names, column)
}

object AnalyzeTable {

  /** Names of formats without lines of text, which are also the ends of the names of their files. */
  private val BinaryFormats = Vector("parquet", "orc", "avro")

  /**
   * The table's files as they are now.
   *
   * @param wanted files of the partitions to read
   */
  final private class Listing(all: Vector[DataFile], val wanted: Vector[DataFile]) {

    /** Fingerprints of all files. */
    val present: Set[Long] = all.iterator.map(_.fingerprint).toSet

    /** Bytes of all files. */
    val bytes: Long = all.map(_.length).sum
  }

  /** @param whole the table's sketch, merged from all stored parts */
  final private case class Collection(whole: TableSketch, filesRead: Int, filesKept: Int, notes: Seq[String])

  /** @param read names of the table and its columns, to find the entries of the private columns that match none */
  final case class Result(
      table: String,
      rows: Long,
      columns: Int,
      filesRead: Int,
      filesKept: Int,
      seconds: Double,
      notes: Seq[String],
      read: Option[(Seq[Seq[String]], Seq[String])] = None
  )

  /** The column of a table that a user means by `name`. */
  def resolve(conf: SQLConf, columns: Seq[String], table: String)(name: String): String =
    columns.find(conf.resolver(_, name)).getOrElse(
      throw ErrorCondition.ColumnNotFound(
        s"$table has no column $name. Columns: ${columns.mkString(", ")}.",
        "table"  -> table,
        "column" -> name
      )
    )
}
