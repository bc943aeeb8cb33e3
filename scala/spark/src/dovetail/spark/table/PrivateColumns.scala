package org.apache.spark.sql.dovetail.table

import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{DovetailConf, ErrorCondition, FailOpen}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * The columns whose values are neither kept nor read while a query is planned: the setting
 * `spark.dovetail.privateColumns`, in any spelling that SQL has for them.
 *
 * In doubt a column is private. Letter case does not matter. The name of a table that is read by its path is unknown:
 * its columns are private if any entry contains their name. If the setting cannot be read, all columns are private.
 *
 * @param unreadable why the setting cannot be read: it contains something that is not a name
 */
final case class PrivateColumns(entries: Vector[PrivateColumns.ColumnPattern], unreadable: Option[String]) {
  import PrivateColumns._

  def isEmpty: Boolean = entries.isEmpty && unreadable.isEmpty

  /** @param tables names of the table that has the column, each as its parts; empty if the table has no name */
  def apply(tables: Seq[Seq[String]], column: String): Boolean =
    unreadable.isDefined || entries.exists(e =>
      if (tables.isEmpty) e.names(column) else tables.exists(e.names(_, column))
    )

  def apply(leaf: LeafNode, column: String): Boolean = !isEmpty && apply(namesOf(leaf).toSeq, column)

  /**
   * Notes for a user who analyzes tables.
   *
   * @param read analyzed tables, with their columns
   * @return notes on entries that match no column of these tables, nor of any other table
   */
  def notes(session: SparkSession, read: Seq[(Seq[Seq[String]], Seq[String])]): Seq[String] = entries.flatMap { e =>
    def ofRead = read.exists { case (tables, columns) =>
      columns.exists(c => if (tables.isEmpty) e.names(c) else tables.exists(e.names(_, c)))
    }
    val others = e.tables(session).map(t => t.schema.fieldNames.exists(c => e.names(parts(t.identifier), c)))
    if (ofRead || others.contains(true) || e.foreign) None
    else {
      val columns = read.flatMap(_._2).distinct
      val known   = if (read.isEmpty) ""
      else s". Columns: ${columns.take(Shown).mkString(", ")}${if (columns.size > Shown) ", …" else ""}"
      Some(s"${DovetailConf.PrivateColumns.key} names ${e.text}, which is not a column of the analyzed tables$known")
    }
  }

  /**
   * Throws an exception if the setting is not a list of names, or if an entry names a column that this very table does
   * not have. It is called before any value is read.
   */
  def check(tables: Seq[Seq[String]], columns: Seq[String]): Unit = {
    unreadable.foreach(why =>
      throw ErrorCondition.InvalidSetting(
        s"${DovetailConf.PrivateColumns.key}: $why.",
        "key" -> DovetailConf.PrivateColumns.key
      )
    )
    for (e <- entries; t <- tables if e.means(t) && !columns.exists(e.names(t, _)))
      throw ErrorCondition.ColumnNotFound(
        s"${DovetailConf.PrivateColumns.key} names ${e.text}, but ${t.mkString(".")} has no such column. " +
          s"Columns: ${columns.mkString(", ")}.",
        "table"  -> t.mkString("."),
        "column" -> e.text
      )
  }
}

object PrivateColumns {

  /**
   * A name in SQL, as its parts: `column` or `table.column`, with database and catalog in front if given, and with a
   * field of the column behind it.
   */
  final case class ColumnPattern(text: String, parts: Vector[String]) {
    private val lower = parts.map(_.toLowerCase(Locale.ROOT))

    def names(column: String): Boolean = lower.contains(column.toLowerCase(Locale.ROOT))

    def names(table: Seq[String], column: String): Boolean = {
      val (t, c) = (table.map(_.toLowerCase(Locale.ROOT)), column.toLowerCase(Locale.ROOT))
      lower.indices.exists(i => lower(i) == c && t.endsWith(lower.take(i)))
    }

    /** Whether the entry names a column of this table. */
    def means(table: Seq[String]): Boolean = {
      val t = table.map(_.toLowerCase(Locale.ROOT))
      (1 until lower.size).exists(i => t.endsWith(lower.take(i)))
    }

    /**
     * Whether the entry may belong to another catalog than that of the session. Not all tables of other catalogs are
     * known.
     */
    def foreign: Boolean = lower.size > 2 && lower.head != SessionCatalog

    /** Tables of the session catalog of which the entry may name a column. */
    def tables(session: SparkSession): Seq[CatalogTable] = {
      val catalog = session.sessionState.catalog
      try {
        val named = (1 until parts.size).map(parts.take).flatMap {
          case Vector(table) => catalog.listDatabases().take(MostDatabases).map(db => TableIdentifier(table, Some(db)))
          case Vector(db, table)                                          => Seq(TableIdentifier(table, Some(db)))
          case Vector(c, db, table) if c.equalsIgnoreCase(SessionCatalog) => Seq(TableIdentifier(table, Some(db)))
          case _                                                          => Nil
        }
        named.filter(catalog.tableExists).map(catalog.getTableMetadata)
      } catch { case NonFatal(_) => Nil }
    }
  }

  /** Number of databases in which a table without a database is searched: a catalog has some hundreds. */
  private val MostDatabases = 1000

  /** Number of columns that a note lists. */
  private val Shown = 20

  private val SessionCatalog = "spark_catalog"

  def apply(conf: SQLConf): PrivateColumns = {
    val columns = read(DovetailConf.PrivateColumns.get(conf))
    columns.unreadable.foreach(why =>
      FailOpen.warnOnce(
        s"private columns $why",
        s"${DovetailConf.PrivateColumns.key}: $why. Until it is corrected, no values of any column are stored"
      )
    )
    columns
  }

  def read(text: String): PrivateColumns = {
    val found = split(text).map(_.trim).filter(_.nonEmpty).map(e => e -> partsOf(e))
    val wrong = found.collectFirst { case (e, None) =>
      s"$e is not a column name: write column, table.column or database.table.column, with backticks around names " +
        "with characters other than letters, digits and _"
    }
    PrivateColumns(found.collect { case (e, Some(parts)) => ColumnPattern(e, parts) }, wrong)
  }

  /** Splits the setting at commas, except for commas in backticks. */
  private def split(text: String): Vector[String] = {
    val quoted = text.scanLeft(false)((inside, c) => if (c == '`') !inside else inside)
    val commas = text.indices.filter(i => text(i) == ',' && !quoted(i)).toVector
    (-1 +: commas).zip(commas :+ text.length).map { case (from, to) => text.substring(from + 1, to) }
  }

  /**
   * Parts of a name, as Spark reads it. A name that Spark cannot read because it lacks backticks is split at its dots
   * if it has no backtick at all.
   */
  private def partsOf(entry: String): Option[Vector[String]] =
    try Some(CatalystSqlParser.parseMultipartIdentifier(entry).toVector)
    catch {
      case NonFatal(_) =>
        if (entry.contains('`')) None else Some(entry.split('.').map(_.trim).toVector).filter(_.forall(_.nonEmpty))
    }

  def namesOf(leaf: LeafNode): Option[Seq[String]] = leaf match {
    case r: LogicalRelation          => r.catalogTable.map(t => parts(t.identifier))
    case r: HiveTableRelation        => Some(parts(r.tableMeta.identifier))
    case r: DataSourceV2ScanRelation =>
      r.relation.identifier.map(i => r.relation.catalog.map(_.name).toSeq ++ i.namespace :+ i.name)
    case _ => None
  }

  private def parts(t: TableIdentifier): Seq[String] =
    t.catalog.getOrElse(SessionCatalog) +: t.database.toSeq :+ t.table

  /**
   * All names that a user may use for the table in an entry: its own name, and the names of other tables with the same
   * files. A path has none.
   */
  def namesOf(session: SparkSession, relation: LogicalRelation, sameFiles: CatalogTable => Boolean): Seq[Seq[String]] =
    namesOf(relation).toSeq.flatMap(own =>
      own +: PrivateColumns(session.sessionState.conf).entries.flatMap(_.tables(session)).filter(sameFiles).map(t =>
        parts(t.identifier)
      )
    )
      .distinct
}
