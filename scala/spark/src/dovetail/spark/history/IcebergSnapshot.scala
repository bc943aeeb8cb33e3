package org.apache.spark.sql.dovetail.history

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

/**
 * The snapshot of an Iceberg table that a scan reads. A query may read an old snapshot, a tag or a branch (`VERSION AS
 * OF`, `db.table.branch_x`, options of the reader), while the properties of the table name the current snapshot. So the
 * snapshot is known only if the table says that it is pinned to one, or that it is not pinned at all.
 */
object IcebergSnapshot {

  /** None for other tables, and if it is not known which snapshot is read. */
  private[history] def apply(scan: DataSourceV2ScanRelation): Option[String] =
    for {
      current <- Option(scan.relation.table.properties.get(Current))
      if !Selecting.exists(scan.relation.options.containsKey(_)) && !mayReadBranch(scan)
      pinned <- told(scan.relation.table, "snapshotId")
      branch <- told(scan.relation.table, "branch")
      if branch == null
      table  <- told(scan.relation.table, "table")
      schema <- told(table, "schema")
    } yield s"${if (pinned == null) current else pinned} $schema"

  /** The snapshots that the scans of a plan read now, in their order. A table object may turn to a later one. */
  def of(plan: LogicalPlan): Vector[Option[String]] =
    plan.collectLeaves().toVector.collect { case v: DataSourceV2ScanRelation =>
      try apply(v)
      catch { case Survivable(_) => None }
    }

  /**
   * Whether the session's setting may make the scan read a branch. Iceberg 1.10 names it neither in the table nor in
   * the options of the reader then.
   */
  private def mayReadBranch(scan: DataSourceV2ScanRelation): Boolean =
    SQLConf.get.contains(SessionBranch) &&
      Option(scan.relation.table.properties.get(ReadsBranches)).exists(_.equalsIgnoreCase("true"))

  /** The setting of a session that names a branch to read and to write (write, audit, publish). */
  private val SessionBranch = "spark.wap.branch"

  /** The table property without which Iceberg ignores [[SessionBranch]]. */
  private val ReadsBranches = "write.wap.enabled"

  /** The value of a method of Iceberg's table that Spark's interface does not have; None if there is no such method. */
  private def told(table: AnyRef, method: String): Option[AnyRef] =
    try Some(table.getClass.getMethod(method).invoke(table))
    catch { case NonFatal(_) | _: LinkageError => None }

  /** The table property in which Iceberg reports the current snapshot. */
  private val Current = "current-snapshot-id"

  /** Options of a reader that select the data of some snapshots; Spark gives their names in lower case. */
  private val Selecting =
    Set(
      "snapshot-id",
      "as-of-timestamp",
      "branch",
      "tag",
      "start-snapshot-id",
      "end-snapshot-id",
      "start-timestamp",
      "end-timestamp"
    )
}
