package org.apache.spark.sql.dovetail.deadline

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionSet}
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}

/**
 * The files of a scan, if Delta Lake has already chosen them by the statistics in its log. Nothing has to be listed for
 * them.
 *
 * @param deleted rows of these files that deletion vectors remove; None if the log does not have this number
 */
final case class ChosenFiles(directories: Seq[PartitionDirectory], deleted: Option[Long])

/** Finds the chosen files by reflection, because Dovetail is not built with Delta Lake. */
private[deadline] object ChosenFiles {
  import TableVersion.property

  /**
   * The files that the scan of an index will read; None for other indexes and for more than `most` files.
   *
   * @param list lists the files that pass the given predicates; for the predicates by which the files were chosen, the
   *             index has the list at hand
   */
  def apply(index: FileIndex, most: Long)(list: Seq[Expression] => Option[Seq[PartitionDirectory]])
      : Option[ChosenFiles] = for {
    scan      <- property(index, "preparedScan")
    filters   <- property(scan, "allFilters").collect { case s: ExpressionSet => s.toSeq }
    additions <- property(scan, "files").collect { case s: scala.collection.Seq[_] if s.size <= most => s.toVector }
    listed    <- list(filters)
    if listed.iterator.map(_.files.size).sum == additions.size
  } yield ChosenFiles(listed, deleted(additions))

  /** Whether Delta Lake has chosen the files of the index. */
  def areIn(index: FileIndex): Boolean = property(index, "preparedScan").isDefined

  private def deleted(additions: Vector[Any]): Option[Long] = Try {
    val vector = additions.headOption.map(_.getClass.getMethod("deletionVector"))
    additions.flatMap(a => vector.flatMap(m => Option(m.invoke(a)))).map { v =>
      v.getClass.getMethod("cardinality").invoke(v).asInstanceOf[java.lang.Long].longValue
    }.sum
  }.toOption
}
