package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructField

/**
 * How Spark finds a table's column in a file. Mostly by its name, as [[TableFooters]] does; what the footer says under
 * that name is of another column, or of no value at all, where Spark goes by numbers, or puts a default in the place of
 * a column that the file does not have.
 *
 * @param byId       Parquet: columns that have a number in the table have the same one in the files
 * @param byPosition ORC: names in files mean nothing
 */
final class ColumnMatching private (byId: Boolean, byPosition: Boolean) {
  import ColumnMatching._

  def byName(a: Attribute): Boolean = !byPosition && !(byId && a.metadata.contains(FieldId))

  /** Whether a file without a column of this name has values for it all the same, instead of NULLs. */
  def hasOthers(a: Attribute, file: FileFooter): Boolean =
    a.metadata.contains(Default) || (file.columns.nonEmpty && file.columns.keysIterator.forall(_.startsWith(Nameless)))
}

object ColumnMatching {

  def apply(format: FooterFormat, conf: SQLConf, hadoop: => Configuration): ColumnMatching = new ColumnMatching(
    format == ParquetFooters && conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED),
    format == OrcFooters && OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(hadoop)
  )

  /** A column whose values in files depend on more than its name. */
  def isSpecial(column: StructField): Boolean =
    column.metadata.contains(FieldId) || column.metadata.contains(Default)

  /** Metadata of a column (Spark's `ParquetUtils.FIELD_ID_METADATA_KEY`): its number in Parquet files. */
  private val FieldId = "parquet.field.id"

  /** Metadata of a column that came later (Spark's `ResolveDefaultColumns`): its value in the files of before. */
  private val Default = "EXISTS_DEFAULT"

  /** Old versions of Hive wrote columns as `_col0`, `_col1` to ORC files; Spark goes by the position then. */
  private val Nameless = "_col"
}
