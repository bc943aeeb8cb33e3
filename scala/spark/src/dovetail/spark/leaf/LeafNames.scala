package org.apache.spark.sql.dovetail.leaf

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project, SubqueryAlias}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.dovetail.base.IdentityMemo
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation, FileTable}
import org.apache.spark.unsafe.types.UTF8String

/** Names of the leaves of a plan: one for people, and one by which the same data is found again. */
object LeafNames {

  /** The leaf of a plan that only filters rows and selects or computes columns. */
  def below(plan: LogicalPlan): Option[LeafNode] = plan match {
    case leaf: LeafNode                            => Some(leaf)
    case _: Filter | _: Project | _: SubqueryAlias => below(plan.children.head)
    case _                                         => None
  }

  /** Identity of the data that a leaf reads: its table, or its paths. */
  def identity(leaf: LeafNode): Option[String] = leaf match {
    case r: LogicalRelation => r.catalogTable.map(_.identifier.unquotedString).orElse(r.relation match {
        case f: HadoopFsRelation => Some(byPaths(f.location).identity)
        case _                   => None
      })
    case r: HiveTableRelation => Some(r.tableMeta.identifier.unquotedString)
    // the name of a table without a catalog may only tell its kind
    case r: DataSourceV2ScanRelation => inCatalog(r.relation).orElse(r.relation.table match {
        case f: FileTable => Some(f.name)
        case _            => None
      })
    case _ => None
  }

  /** The same, for files of a table the path above the folders of partitions. */
  def withoutValues(leaf: LeafNode): Option[String] = leaf match {
    case r: LogicalRelation if r.catalogTable.isEmpty =>
      r.relation match {
        case f: HadoopFsRelation => Some(byPaths(f.location).table)
        case _                   => None
      }
    case _ => identity(leaf)
  }

  /** Name of a connector's table with its catalog: two catalogs may have tables of the same names. */
  private def inCatalog(r: DataSourceV2Relation): Option[String] =
    r.identifier.map(i => Identifier.of(r.catalog.map(_.name).toArray ++ i.namespace, i.name).toString)

  /** Full name in SQL of the table that a leaf reads, which is the same in every database; None if it is no table. */
  def inSql(leaf: LeafNode): Option[String] = leaf match {
    case r: LogicalRelation          => r.catalogTable.map(_.identifier.quotedString)
    case r: HiveTableRelation        => Some(r.tableMeta.identifier.quotedString)
    case r: DataSourceV2ScanRelation =>
      for (catalog <- r.relation.catalog; table <- r.relation.identifier)
        yield (catalog.name +: table.namespace.toSeq :+ table.name).map(quoteIdentifier).mkString(".")
    case _ => None
  }

  /**
   * One text for some paths. Many paths, as a pattern with `*` gives them, are named by the first one, their number and
   * a hash, because the text is a part of many others.
   */
  def together(paths: Seq[Path]): String =
    if (paths.size <= MostPaths) paths.mkString(" ")
    else {
      val hash = paths.foldLeft(paths.size.toLong)((h, p) => XXH64.hashUTF8String(UTF8String.fromString(p.toString), h))
      f"${paths.head} and ${paths.size - 1} more ($hash%016x)"
    }

  /** What names a table without a catalog. A pattern with `*` gives a path for each of its files. */
  final private class PathNames(paths: Seq[Path]) {
    lazy val identity: String     = together(paths)
    lazy val table: String        = together(paths.map(above).distinct)
    lazy val name: Option[String] = folder(paths)
  }

  /** Lists of files whose names are remembered: those of the tables of a few queries. */
  private val Remembered = 256

  private val byPaths = new IdentityMemo[FileIndex, PathNames](Remembered)(index => new PathNames(index.rootPaths))

  /** Most paths that are named one by one: a user reads no more of them, and each one may be a hundred characters. */
  private val MostPaths = 8

  /** Name of the leaf for people: its table, the last part of its path, or its kind. */
  def name(leaf: LeafNode): String = named(leaf).getOrElse(leaf match {
    case _: LogicalRelation  => "relation"
    case _: InMemoryRelation => "cached"
    case other               => other.nodeName.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(java.util.Locale.ROOT)
  })

  /**
   * Name of files: one file or folder has its own name; part files, partitions and several files have that of their
   * folder.
   */
  private def folder(paths: Seq[Path]): Option[String] = paths.headOption.flatMap { first =>
    val together = paths.size > 1 && paths.forall(p => p.getName.contains('.') && p.getParent == first.getParent)
    val named    = whole(if (together && first.getParent != null) first.getParent else first)
    // the root of a bucket has no name of its own
    Seq(named.getName, named.toUri.getAuthority).find(n => n != null && n.nonEmpty)
  }

  /** The path above the part files that Spark writes, and above the folders of partitions. */
  @tailrec private def whole(path: Path): Path =
    if (isPart(path.getName) && path.getParent != null && !path.getParent.isRoot) whole(path.getParent) else path

  private def isPart(name: String): Boolean = name.startsWith("part-") || name.contains('=')

  /** The path above the uppermost folder of a partition. */
  private def above(path: Path): Path = {
    val folders = Iterator.iterate(path)(_.getParent).takeWhile(p => p != null && !p.isRoot).toVector
    folders.filter(_.getName.contains('=')).lastOption.flatMap(p => Option(p.getParent)).getOrElse(path)
  }

  /**
   * Name of a table or a file, which is not empty; None for data that a program has made (a range, a local relation, an
   * RDD).
   */
  def named(leaf: LeafNode): Option[String] = (leaf match {
    case r: LogicalRelation =>
      r.catalogTable.map(_.identifier.table).orElse(r.relation match {
        case f: HadoopFsRelation => byPaths(f.location).name
        case _                   => None
      })
    case r: HiveTableRelation        => Some(r.tableMeta.identifier.table)
    case r: DataSourceV2ScanRelation => Some(last(r.relation.name))
    case r: InMemoryRelation         => r.cacheBuilder.tableName.map(t => last(t.stripPrefix("In-memory table ")))
    case _                           => None
  }).filter(_.nonEmpty)

  private def last(name: String): String = name.substring(name.lastIndexOf('.') + 1)
}
