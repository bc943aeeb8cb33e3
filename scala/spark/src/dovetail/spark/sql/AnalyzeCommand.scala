package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.catalog.{CatalogTableType, HiveTableRelation}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LeafNode, LogicalPlan, OneRowRelation}
import org.apache.spark.sql.dovetail.base.ErrorCondition.{NotAnalyzable, PartitionNotFound, StoreNotWritable}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.base.{ErrorCondition, FailOpen}
import org.apache.spark.sql.dovetail.collect.{AnalyzeIceberg, AnalyzeTable}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.table.PrivateColumns
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Row, SparkSession}

/**
 * `DOVETAIL ANALYZE …`: collects statistics of a table, of the tables below a view, of files, or of all tables of a
 * database. Returns one row per table.
 *
 * If a table cannot be analyzed, the statement fails if it names this table. If the table is one of several below a
 * view or in a database, its row gets a note instead.
 */
case class AnalyzeCommand(statement: Statement.Analyze) extends LeafRunnableCommand {
  import AnalyzeCommand._

  override val output: Seq[Attribute] = Seq(
    "table"      -> StringType,
    "rows"       -> LongType,
    "columns"    -> IntegerType,
    "files_read" -> IntegerType,
    "files_kept" -> IntegerType,
    "seconds"    -> DoubleType,
    "notes"      -> StringType
  ).map { case (name, dataType) => AttributeReference(name, dataType)() }

  override def run(session: SparkSession): Seq[Row] = {
    val parts = session.sessionState.sqlParser.parseMultipartIdentifier(statement.name)
    privacy(
      session,
      if (statement.kind == "DATABASE") database(session, parts) else relations(session, parts)
    ).map(_.row)
  }

  /** Adds a note to the first row about private columns in the setting that do not exist. */
  private def privacy(session: SparkSession, done: Seq[TableResult]): Seq[TableResult] = {
    val columns = PrivateColumns(session.sessionState.conf)
    val notes   = if (done.forall(_.read.isEmpty)) Nil else columns.notes(session, done.flatMap(_.read))
    notes.foreach(n => FailOpen.warnOnce(s"private columns $n", n))
    if (notes.isEmpty) done
    else done.headOption.map(d =>
      d.copy(row =
        Row.fromSeq(
          d.row.toSeq.init :+ (Seq(d.row.getString(d.row.size - 1)).filter(_.nonEmpty) ++ notes).mkString("; ")
        )
      )
    ).toSeq ++
      done.drop(1)
  }

  private def database(session: SparkSession, parts: Seq[String]): Seq[TableResult] = {
    val catalog = session.sessionState.catalog
    val name    = parts match {
      case Seq(db)                                              => db
      case Seq(c, db) if c.equalsIgnoreCase(SessionCatalogName) => db
      case other                                                => throw NotAnalyzable(
          s"${other.mkString(".")} is not a database of the session catalog: analyze its tables one by one.",
          "name" -> other.mkString(".")
        )
    }
    catalog.listTables(name).filter(t => t.database.isDefined).sortBy(_.table).flatMap { t =>
      tolerant(t.unquotedString) {
        if (catalog.getTableMetadata(t).tableType == CatalogTableType.VIEW) Nil
        else relations(session, t.database.toSeq :+ t.table)
      }
    }
  }

  private def relations(session: SparkSession, parts: Seq[String]): Seq[TableResult] = {
    val plan   = session.sessionState.executePlan(UnresolvedRelation(parts)).analyzed
    val leaves = leavesOf(plan)
    leaves match {
      case Seq() =>
        throw NotAnalyzable(
          s"${statement.name} reads no table: there is nothing to analyze.",
          "name" -> statement.name
        )
      case Seq(leaf)                    => analyze(session, leaf)
      case many if statement.restricted =>
        throw NotAnalyzable(
          s"${statement.name} is a view of ${many.map(LeafNames.name).mkString(", ")}: PARTITION, COLUMNS and GROUPS " +
            "apply to one table. Analyze these tables by name.",
          "name" -> statement.name
        )
      case many => many.flatMap(leaf => tolerant(LeafNames.name(leaf))(analyze(session, leaf)))
    }
  }

  private def leavesOf(plan: LogicalPlan): Seq[LeafNode] = {
    val leaves = plan.collectWithSubqueries { case l: LeafNode => l }.filter {
      case _: CTERelationRef | _: OneRowRelation => false; case _ => true
    }
    // a table that the view reads twice is analyzed once
    leaves.foldLeft(Vector.empty[LeafNode])((seen, l) => if (seen.exists(_.sameResult(l))) seen else seen :+ l)
  }

  private def analyze(session: SparkSession, leaf: LeafNode): Seq[TableResult] = {
    val r = (leaf, AnalyzeIceberg.tableOf(leaf)) match {
      case (r: LogicalRelation, _) => r.relation match {
          case f: HadoopFsRelation =>
            new AnalyzeTable(session, r, f).apply(statement.columns, statement.groups, partitionFilters(session, r, f))
          case _ => refuse(leaf)
        }
      case (_, Some((catalog, table))) =>
        if (statement.partition.nonEmpty || statement.groups.nonEmpty)
          throw NotAnalyzable(
            s"${statement.name} is an Iceberg table, which Iceberg analyzes as a whole: leave out PARTITION and " +
              "GROUPS.",
            "name" -> statement.name
          )
        new AnalyzeIceberg(session, catalog, table).apply(statement.columns)
      case _ => refuse(leaf)
    }
    Seq(TableResult(
      Row(r.table, r.rows, r.columns, r.filesRead, r.filesKept, r.seconds, r.notes.mkString("; ")),
      r.read
    ))
  }

  private def refuse(leaf: LeafNode): Nothing = leaf match {
    case h: HiveTableRelation =>
      val name = h.tableMeta.identifier.unquotedString
      throw NotAnalyzable(
        s"$name is a Hive table whose files Spark does not read itself. Spark's own ANALYZE collects its statistics, " +
          s"and Dovetail uses them: ANALYZE TABLE $name COMPUTE STATISTICS FOR ALL COLUMNS " +
          "(in Python, dovetail.analyze with columns='all', mode='spark').",
        "name" -> name
      )
    case _ =>
      throw NotAnalyzable(
        s"${LeafNames.name(leaf)} (${leaf.nodeName}) does not consist of files that Spark reads itself. " +
          "DOVETAIL ANALYZE takes tables, views and paths of Parquet, ORC, CSV, JSON and other file formats. " +
          "For other sources, Dovetail uses the statistics that they report.",
        "name" -> LeafNames.name(leaf)
      )
  }

  private def partitionFilters(
      session: SparkSession,
      relation: LogicalRelation,
      files: HadoopFsRelation
  ): Seq[Expression] =
    statement.partition.map { case (name, text) =>
      val conf   = session.sessionState.conf
      val column = relation.output.find(a =>
        conf.resolver(a.name, name) && files.partitionSchema.exists(f => conf.resolver(f.name, name))
      ).getOrElse(
        throw PartitionNotFound(
          if (files.partitionSchema.isEmpty) s"${statement.name} is not partitioned. Leave out the partition."
          else
            s"${statement.name} is not partitioned by $name. Partition columns: " +
              s"${files.partitionSchema.fieldNames.mkString(", ")}.",
          "table"  -> statement.name,
          "column" -> name
        )
      )
      PartitionValue(session, text, column)
    }

  private def tolerant(name: String)(body: => Seq[TableResult]): Seq[TableResult] =
    try body
    catch {
      case e if StoreNotWritable.is(e) => throw e
      // a cancelled job ends the command: the user does not want the other tables either
      case Survivable(e) =>
        Seq(TableResult(Row(name, null, null, null, null, null, s"not analyzed: ${ErrorCondition.text(e)}"), None))
    }

  private val SessionCatalogName = "spark_catalog"
}

object AnalyzeCommand {

  /**
   * The result for one table.
   *
   * @param row  row of the answer
   * @param read names and columns of the table, to which the private columns are compared; None if it was not analyzed
   */
  final private case class TableResult(row: Row, read: Option[(Seq[Seq[String]], Seq[String])])
}
