package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.RelationProfile
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.sample.FileSample
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}

/**
 * Columns of which the catalog knows nothing although it has the row count of their table. `ANALYZE TABLE … COMPUTE
 * STATISTICS` counts only rows, `… FOR COLUMNS` only the columns that it names, and Hive counts the rows that it
 * writes. A row count must not make estimates worse than no statistics at all, so these columns are taken from the
 * files, as those of a table without statistics.
 */
private[stats] object UnanalyzedColumns {

  def apply(r: LogicalRelation, statistics: CatalogStatistics, columns: Seq[Attribute]): Seq[Attribute] =
    r.relation match {
      case f: HadoopFsRelation =>
        val ofPartitions = if (mayBePruned(f)) f.partitionSchema.fieldNames.toSet else Set.empty[String]
        columns.filter(a =>
          !statistics.colStats.contains(a.name) && FileSample.readable(a.dataType) && !ofPartitions(a.name)
        )
      case _ => Nil
    }

  /**
   * Puts the columns of `found` into a profile of the same table. The files may have another number of rows than the
   * catalog: some partitions are pruned, or the count is old. Columns that look like keys then grow or shrink with it.
   */
  def filled(profile: RelationProfile, found: RelationProfile): RelationProfile =
    if (found.rows.value <= 0.0) profile
    else {
      val counted = if (found.rows.value == profile.rows.value) found else found.ofRows(profile.rows.value)
      profile.copy(columns = profile.columns ++ counted.columns)
    }

  /**
   * Whether the files may be those of some partitions only. The catalog's row count is that of all partitions, and the
   * predicates on partition columns are estimated for it: these columns must not have only the values that are left.
   */
  private def mayBePruned(f: HadoopFsRelation): Boolean =
    f.partitionSchema.nonEmpty && !f.location.isInstanceOf[CatalogFileIndex]
}
