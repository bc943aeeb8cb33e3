package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/** Tells file formats in which rows take less space than in memory, and of which a scan reads only some columns. */
object ColumnarFormat {
  private val Names = Seq("Parquet", "Orc", "Delta")

  def apply(f: HadoopFsRelation): Boolean = Names.exists(f.fileFormat.getClass.getSimpleName.startsWith(_))
}
