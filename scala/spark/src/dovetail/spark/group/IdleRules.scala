package org.apache.spark.sql.dovetail.group

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.StructType

/**
 * The rules of Spark's early scan pushdown that find nothing to do in a plan, because it reads no relation of the kind
 * that they change. Most queries read flat tables of files without partitions, and these rules take some tenths of a
 * millisecond to find that out: they visit all operators, the one for connectors ten times.
 *
 * The rules are compared by their names, because a vendor's Spark may lack one of them.
 */
final private[group] class IdleRules(plan: LogicalPlan) {
  import IdleRules._

  private val leaves      = plan.collectLeaves()
  private lazy val nested = leaves.exists(hasFields)

  /** Whether the plan reads tables with partitions, of files or of Hive. */
  lazy val partitioned: Boolean = leaves.exists(isPartitioned)

  /** Whether the plan reads relations of connectors for which no scan is built yet. */
  lazy val connected: Boolean = leaves.exists(isOfConnector)

  /** Whether this rule is for the relations of connectors. */
  def isForConnectors(rule: Rule[LogicalPlan]): Boolean = ForConnectors(rule.ruleName)

  /** Whether this is such a rule. It is false for all rules of other software. */
  def contains(rule: Rule[LogicalPlan]): Boolean = rule.ruleName match {
    case name if ForConnectors(name) => !connected
    case ForPartitions               => !partitioned
    case ForFields                   => !nested
    case _                           => false
  }
}

private object IdleRules {
  private val Sources = "org.apache.spark.sql.execution.datasources"

  /** Rules for the relations of connectors (DataSource V2). */
  private val ForConnectors =
    Set("GroupBasedRowLevelOperationScanPlanning", "V2ScanPartitioningAndOrdering", "V2ScanRelationPushDown")
      .map(rule => s"$Sources.v2.$rule")

  /** The rule that prunes the partitions of tables of files. */
  private val ForPartitions = s"$Sources.PruneFileSourcePartitions"

  /** The rule that prunes the fields of structs in files. Other rules prune columns. */
  private val ForFields = s"$Sources.SchemaPruning"

  private def isOfConnector(leaf: LogicalPlan): Boolean = leaf match {
    case _: DataSourceV2Relation => true
    case _                       => false
  }

  private def isPartitioned(leaf: LogicalPlan): Boolean = leaf match {
    case r: LogicalRelation => r.relation match {
        case f: HadoopFsRelation => f.partitionSchema.nonEmpty
        case _                   => false
      }
    case h: HiveTableRelation => h.isPartitioned
    case _                    => false
  }

  private def hasFields(leaf: LogicalPlan): Boolean =
    leaf.output.exists(_.dataType.existsRecursively(_.isInstanceOf[StructType]))
}
