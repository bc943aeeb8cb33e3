package org.apache.spark.sql.dovetail.leaf

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileTable}

/** What a leaf of a plan is called: by people, and where the same data is to be found again. */
object LeafNames {

  /** The leaf of which a plan only chooses and computes: rows by predicates, columns. */
  def below(plan: LogicalPlan): Option[LeafNode] = plan match {
    case leaf: LeafNode                            => Some(leaf)
    case _: Filter | _: Project | _: SubqueryAlias => below(plan.children.head)
    case _                                         => None
  }

  /** The table or the paths that the leaf reads. */
  def identity(leaf: LeafNode): Option[String] = leaf match {
    case r: LogicalRelation => r.catalogTable.map(_.identifier.unquotedString).orElse(r.relation match {
        case f: HadoopFsRelation => Some(f.location.rootPaths.mkString(" "))
        case _                   => None
      })
    case r: HiveTableRelation => Some(r.tableMeta.identifier.unquotedString)
    // a table of no catalog has a name that may say no more than its kind
    case r: DataSourceV2ScanRelation => r.relation.identifier.map(_.toString).orElse(r.relation.table match {
        case f: FileTable => Some(f.name)
        case _            => None
      })
    case _ => None
  }

  /** What people call the leaf: its table, the last part of its path, or its kind. */
  def name(leaf: LeafNode): String = named(leaf).getOrElse(leaf match {
    case _: LogicalRelation  => "relation"
    case _: InMemoryRelation => "cached"
    case other               => other.nodeName.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(java.util.Locale.ROOT)
  })

  /** What files are called: one file or folder by its name, parts, partitions and several files by their folder. */
  private def folder(paths: Seq[Path]): Option[String] = paths.headOption.map { first =>
    val together = paths.size > 1 && paths.forall(p => p.getName.contains('.') && p.getParent == first.getParent)
    whole(if (together && first.getParent != null) first.getParent else first).getName
  }

  /** Above the files that Spark writes, and the folders of partitions. */
  @tailrec private def whole(path: Path): Path =
    if (isPart(path.getName) && path.getParent != null && !path.getParent.isRoot) whole(path.getParent) else path

  private def isPart(name: String): Boolean = name.startsWith("part-") || name.contains('=')

  /** The name of a table or a file; what a program has made (a range, a local relation, an RDD) has none. */
  def named(leaf: LeafNode): Option[String] = leaf match {
    case r: LogicalRelation =>
      r.catalogTable.map(_.identifier.table).orElse(r.relation match {
        case f: HadoopFsRelation => folder(f.location.rootPaths)
        case _                   => None
      })
    case r: HiveTableRelation        => Some(r.tableMeta.identifier.table)
    case r: DataSourceV2ScanRelation => Some(r.relation.name.split('.').last)
    case r: InMemoryRelation         => r.cacheBuilder.tableName.map(_.stripPrefix("In-memory table ").split('.').last)
    case _                           => None
  }
}
