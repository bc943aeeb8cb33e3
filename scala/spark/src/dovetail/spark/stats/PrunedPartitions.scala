package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{RelationProfile, Source}
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.deadline.ListedFiles
import org.apache.spark.sql.dovetail.footers.PartitionProfile
import org.apache.spark.sql.dovetail.table.{TableStatistics, TableStatisticsSource}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf

/** What is known of a table of the catalog of which Spark has pruned partitions before Dovetail sees it. */
final private[stats] class PrunedPartitions(known: TableStatisticsSource, catalog: CatalogCounts, conf: SQLConf) {

  /**
   * Partition columns by which Spark has pruned `relation`, if its row count comes from the size of the remaining
   * partitions. This row count already accounts for the predicates on these columns. Spark prunes the partitions that
   * its catalog manages; others keep an index of all files.
   */
  def apply(relation: LogicalRelation): AttributeSet = relation.relation match {
    case f: HadoopFsRelation
        if conf.manageFilesourcePartitions && !f.location.isInstanceOf[CatalogFileIndex] && ofWhatIsLeft(relation) =>
      val names = relation.catalogTable.filter(_.tracksPartitionsInCatalog).toSeq.flatMap(_.partitionColumnNames)
      AttributeSet(relation.output.filter(a => names.contains(a.name)))
    case _ => AttributeSet.empty
  }

  private def ofWhatIsLeft(relation: LogicalRelation): Boolean = {
    val told = known.rows(relation)
    known.find(relation).exists(s => s.fresh || told.isEmpty) || (told.isEmpty && catalog(relation).isEmpty)
  }

  /**
   * Takes the values of these columns from the partitions that are left. Statistics of other files, which stand for
   * those of these partitions, have other values.
   *
   * @param table   statistics that were collected
   * @param profile the profile that they give
   */
  def listed(leaf: LeafNode, table: TableStatistics, profile: RelationProfile): RelationProfile = leaf match {
    case r: LogicalRelation if !table.fresh =>
      r.relation match {
        case f: HadoopFsRelation => listed(r, f, profile)
        case _                   => profile
      }
    case _ => profile
  }

  private def listed(r: LogicalRelation, f: HadoopFsRelation, profile: RelationProfile): RelationProfile = {
    val names   = f.partitionSchema.fieldNames
    val columns = apply(r).toSeq.filter(a => names.contains(a.name) && profile.columns.contains(a.exprId.id))
    val files   = if (columns.isEmpty) None else ListedFiles(f.location).map(ListedFiles.withRows)
    files.fold(profile) { all =>
      profile.copy(columns = profile.columns ++ columns.map { a =>
        val i = names.indexOf(a.name)
        a.exprId.id -> PartitionProfile.byBytes(a.dataType, i, all, profile.rows.value, Source.Collected)
      })
    }
  }
}
