package org.apache.spark.sql.dovetail.advise

import java.util.Locale

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.dovetail.leaf.LeafNames

/** How DOVETAIL ANALYZE can analyze a leaf of a plan, or why it cannot; for [[AdviseQuery]]. */
sealed private[advise] trait AnalyzeTarget

private[advise] object AnalyzeTarget {

  /** @param kind TABLE or PATH */
  final case class Files(kind: String, name: String) extends AnalyzeTarget {
    def statement(columns: Seq[String], groups: Seq[Seq[String]]): String = {
      def list(names: Seq[String]) = names.map(quoted).mkString("(", ", ", ")")
      s"DOVETAIL ANALYZE $kind $name COLUMNS ${list(columns)}" +
        s"${if (groups.isEmpty) "" else groups.map(list).mkString(" GROUPS (", ", ", ")")}"
    }
  }

  /**
   * @param reason  reason why DOVETAIL ANALYZE cannot analyze the leaf
   * @param instead makes the statement of Spark that analyzes the given columns, if there is one
   */
  final case class Refusal(reason: String, instead: Option[Seq[String] => String] = None) extends AnalyzeTarget

  /** Self-describing file formats, which can be read by path. */
  private val SelfDescribing = Set("parquet", "orc")

  /** Options that change neither the names of columns nor the rows. */
  private val Harmless = Set("path", "inferschema")

  /** Names of columns of a CSV file that is read without a header. */
  private val Numbered = "_c[0-9]+".r.pattern

  /** Whether format and path are enough to read the same rows and columns. */
  private def byPath(format: String, files: HadoopFsRelation): Boolean = {
    def plain = files.options.keys.forall(k => Harmless(k.toLowerCase(Locale.ROOT)))
    format match {
      case "json" => plain
      case "csv"  => plain && files.dataSchema.fieldNames.forall(Numbered.matcher(_).matches)
      case other  => plain && SelfDescribing(other)
    }
  }

  def apply(leaf: LeafNode): AnalyzeTarget = leaf match {
    case LogicalTable(files) => files
    case r: LogicalRelation  =>
      r.relation match {
        case _: HadoopFsRelation =>
          Refusal(
            "its files are read with options or from several paths: pass the DataFrame to dovetail.analyze, or " +
              "create a table from it"
          )
        case other => Refusal(s"it does not consist of files (${other.getClass.getSimpleName})")
      }
    case _: DataSourceV2ScanRelation => Refusal("it is a table of a V2 source, which reports its statistics itself")
    case r: HiveTableRelation        =>
      val name = quotedName(r.tableMeta.identifier)
      Refusal(
        "it is a Hive table whose files Spark does not read itself: Spark's own ANALYZE collects its statistics",
        Some(columns => s"ANALYZE TABLE $name COMPUTE STATISTICS FOR COLUMNS ${columns.map(quoted).mkString(", ")}")
      )
    case _: InMemoryRelation => Refusal("it is cached, and Spark counts its rows")
    case other               => Refusal(s"it does not consist of files (${other.nodeName})")
  }

  /** The name of a leaf in statements, or its name for people if it has none. */
  def name(leaf: LeafNode): String = leaf match {
    case LogicalTable(files)         => files.name
    case r: DataSourceV2ScanRelation => r.relation.name
    case r: HiveTableRelation        => r.tableMeta.identifier.unquotedString
    case other                       => LeafNames.identity(other).getOrElse(LeafNames.name(other))
  }

  private object LogicalTable {
    def unapply(r: LogicalRelation): Option[Files] = r.relation match {
      case files: HadoopFsRelation =>
        val table = r.catalogTable.map(t => Files("TABLE", quotedName(t.identifier)))
        table.orElse((files.fileFormat, files.location.rootPaths) match {
          case (f: DataSourceRegister, Seq(path)) if byPath(f.shortName(), files) =>
            Some(Files("PATH", s"${f.shortName()}.${quoteIdentifier(path.toString)}"))
          case _ => None
        })
      case _ => None
    }
  }

  private def quotedName(t: TableIdentifier): String =
    (t.catalog ++ t.database ++ Seq(t.table)).map(quoted).mkString(".")

  private def quoted(name: String): String = if (name.matches("[A-Za-z_][A-Za-z0-9_]*")) name else quoteIdentifier(name)
}
