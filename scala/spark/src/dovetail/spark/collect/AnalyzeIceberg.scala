package org.apache.spark.sql.dovetail.collect

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.dovetail.base.Nanoseconds
import org.apache.spark.sql.dovetail.stats.ShowStatistics
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

/**
 * What DOVETAIL ANALYZE does for an Iceberg table. Iceberg counts distinct values itself, by its procedure
 * compute_table_stats. It keeps them with the snapshot of the table, and reports them as a data source does. Rows,
 * bytes and bounds are always there.
 */
final class AnalyzeIceberg(session: SparkSession, catalog: String, table: Seq[String]) {
  import AnalyzeIceberg._

  private val shown = (catalog +: table).mkString(".")

  def apply(columns: Option[Seq[String]]): AnalyzeTable.Result = {
    val start  = System.nanoTime()
    val name   = (catalog +: table).map(quoteIdentifier).mkString(".")
    val output = session.table(name).columns.toSeq
    val asked  = columns.map(_.map(AnalyzeTable.resolve(session.sessionState.conf, output, shown)))
    val only   = asked.fold("")(names => s", columns => array(${names.map(text).mkString(", ")})")
    session.sql(
      s"CALL ${quoteIdentifier(catalog)}.system.compute_table_stats" +
        s"(table => ${text(name)}$only)"
    ).collect()
    val rows = ShowStatistics(session, name).head(ShowStatistics.columns.indexWhere(_._1 == "rows")) match {
      case n: Long => n; case _ => 0L
    }
    val note = if (session.sessionState.conf.cboEnabled) Nil
    else Seq(s"Iceberg reports the distinct values that it counts only if ${SQLConf.CBO_ENABLED.key} is true")
    AnalyzeTable.Result(
      shown,
      rows,
      asked.getOrElse(output).size,
      0,
      0,
      Nanoseconds.toSeconds(System.nanoTime() - start),
      note
    )
  }
}

object AnalyzeIceberg {
  private val Package = "org.apache.iceberg.spark."

  /** Catalog and name of the table that a leaf reads, if it is an Iceberg table. */
  def tableOf(leaf: LeafNode): Option[(String, Seq[String])] = leaf match {
    case r: DataSourceV2Relation if r.table.getClass.getName.startsWith(Package) =>
      for (c <- r.catalog; i <- r.identifier) yield c.name -> (i.namespace.toSeq :+ i.name)
    case _ => None
  }

  private def text(s: String): String = s"'${s.replace("\\", "\\\\").replace("'", "\\'")}'"
}
