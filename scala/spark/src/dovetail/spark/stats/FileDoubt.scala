package org.apache.spark.sql.dovetail.stats

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * How far the files of a table contradict its row count. Statistics may be old or wrong, and files are packed, so what rows need in memory is not much
 * less than what they need in files. Where it is, everything made of the table may be as much larger than estimated, and is the riskier to broadcast.
 */
object FileDoubt {

  /** How many times more bytes than rows account for are still put down to texts that are longer than assumed, and to formats that waste space. */
  private val Tolerance = 10.0

  /** How many times larger a leaf may be than `rows`, those of its whole table, say; 1 where its files agree, and where it has none. */
  def apply(leaf: LogicalPlan, rows: Double): Double = leaf match {
    case p @ (_: Project | _: Filter | _: SubqueryAlias) => apply(p.children.head, rows)
    case r: LogicalRelation                              => r.relation match {
        case f: HadoopFsRelation => times(f.location.sizeInBytes, r, rows)
        case _                   => 1.0
      }
    case r: HiveTableRelation => r.tableMeta.stats.fold(1.0)(s => times(s.sizeInBytes.min(BigInt(Long.MaxValue)).toLong, r, rows))
    case _                    => 1.0
  }

  private def times(bytes: Long, relation: LeafNode, rows: Double): Double = {
    val unknown = bytes <= 0L || bytes >= relation.conf.defaultSizeInBytes
    val least   = math.max(rows, 1.0) * relation.output.map(width).sum
    if (unknown || bytes <= least * Tolerance) 1.0 else bytes / least
  }

  private def width(a: Attribute): Double = math.max(1.0, a.dataType.defaultSize.toDouble)
}
