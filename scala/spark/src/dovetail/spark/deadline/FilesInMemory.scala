package org.apache.spark.sql.dovetail.deadline

import org.apache.spark.sql.execution.datasources.{FileIndex, PartitioningAwareFileIndex}

/** Finds an index of Spark that has listed its files already, and answers from memory. */
object FilesInMemory {

  /**
   * The classes of Spark's own indexes. Subclasses in other libraries may ask a catalog or list a file system at each
   * call, and may not bear two threads at a time. The package does not tell: other libraries have classes in Spark's.
   */
  private val SparkIndexes = Set(
    "org.apache.spark.sql.execution.datasources.InMemoryFileIndex",
    "org.apache.spark.sql.execution.streaming.MetadataLogFileIndex",
    "org.apache.spark.sql.execution.streaming.runtime.MetadataLogFileIndex" // Spark 4.1 and later
  )

  /** The index that lists the files now, whatever the scans of a query have found ([[SharedFileIndex]]). */
  def unapply(index: FileIndex): Option[PartitioningAwareFileIndex] = index match {
    case shared: SharedFileIndex                                                 => Some(shared.source)
    case own: PartitioningAwareFileIndex if SparkIndexes(index.getClass.getName) => Some(own)
    case _                                                                       => None
  }
}
