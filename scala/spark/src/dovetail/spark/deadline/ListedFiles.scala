package org.apache.spark.sql.dovetail.deadline

import org.apache.spark.sql.execution.datasources.{FileIndex, PartitioningAwareFileIndex}

/**
 * Runs what asks an index for its files: in memory where Spark has listed them, else aside, for a listing takes as long
 * as a catalog and a file system like.
 */
object ListedFiles {

  /** None where the listing takes too long; it goes on, and Spark remembers what it finds. */
  def apply[A](index: FileIndex)(files: => A): Option[A] = index match {
    case _: PartitioningAwareFileIndex => Some(files)
    case _ => Aside(index.rootPaths.headOption.fold("a listing of files")(p => s"the listing of $p"))(_ => files)
  }
}
