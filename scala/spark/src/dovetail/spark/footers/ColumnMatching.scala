package org.apache.spark.sql.dovetail.footers

import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructField

/**
 * How Spark finds a table's column in a file. Usually it goes by name, as [[TableFooters]] does. But Spark may match
 * columns by field id or by position, or may use a default value for a column that the file does not have. The footer's
 * entry under the column's name then belongs to another column, or to no value at all.
 *
 * @param byId       Parquet: a column with a field id in the table has the same field id in the files
 * @param byPosition ORC: Spark ignores the names in files
 * @param mapped     names in the files, if columns have others there ([[DeltaColumns]])
 */
final class ColumnMatching private (byId: Boolean, byPosition: Boolean, mapped: Option[Map[String, String]]) {
  import ColumnMatching._

  /** Whether Spark takes the values of a column from the files' column [[nameOf]]. */
  def byName(a: Attribute): Boolean =
    !byPosition && !(byId && a.metadata.contains(FieldId)) && mapped.forall(_.contains(a.name))

  /** Name of a column in the files. */
  def nameOf(a: Attribute): String = mapped.flatMap(_.get(a.name)).getOrElse(a.name)

  /** Whether Spark reads values other than NULL for this column from a file that has no column of this name. */
  def hasOthers(a: Attribute, file: FileFooter): Boolean =
    a.metadata.contains(Default) || (file.columns.nonEmpty && file.columns.keysIterator.forall(_.startsWith(Nameless)))
}

object ColumnMatching {

  /**
   * @param hadoop looks up a setting of Hadoop by its name
   * @param mapped names in the files, if columns have others there
   */
  def apply(
      format: FooterFormat,
      conf: SQLConf,
      hadoop: String => Option[String],
      mapped: Option[Map[String, String]] = None
  ): ColumnMatching = new ColumnMatching(
    format == ParquetFooters && conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED),
    format == OrcFooters && isByPosition(hadoop),
    mapped
  )

  /**
   * A setting as Hadoop's readers of a relation see it: of its options, its session or the context. A Hadoop
   * configuration for them would be a copy of all settings.
   */
  def hadoopSetting(f: HadoopFsRelation, key: String): Option[String] =
    f.options.get(key).flatMap(Option(_)).orElse(Option(f.sparkSession.sessionState.conf.settings.get(key)))
      .orElse(Option(f.sparkSession.sparkContext.hadoopConfiguration.get(key)))

  /** Whether Spark ignores the names in ORC files, whatever they are. */
  def isByPosition(hadoop: String => Option[String]): Boolean =
    hadoop(OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute).exists(_.equalsIgnoreCase("true"))

  /**
   * Whether Spark finds the columns of a file by their names, but for special ones. In ORC files with names of old
   * versions of Hive, the table's other columns decide which values a column has.
   */
  def isByName(files: HadoopFsRelation): Boolean = files.fileFormat.isInstanceOf[ParquetFileFormat]

  /** Whether the values of a column in files depend on more than its name. */
  def isSpecial(column: StructField): Boolean =
    column.metadata.contains(FieldId) || column.metadata.contains(Default)

  /**
   * Which columns of a table have other values than those of the same name in its files, as text: columns with
   * defaults, those that are found by field id, and, if the letter case of names counts or ORC files are read by
   * position, a hint of that.
   */
  def unusual(files: HadoopFsRelation): Seq[String] = {
    val conf     = files.sparkSession.sessionState.conf
    val defaults = files.dataSchema.filter(_.metadata.contains(Default)).map(f =>
      s"${f.name} is ${f.metadata.getString(Default)} in older files"
    )
    val ids =
      if (!isByName(files) || !conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED)) Nil
      else
        files.dataSchema.filter(_.metadata.contains(FieldId)).map(f => s"${f.name} is ${f.metadata.getLong(FieldId)}")
    val ordered =
      if (isByName(files) || !isByPosition(hadoopSetting(files, _))) Nil
      else "by position" +: files.dataSchema.map(f => s"${f.name} ${f.dataType.catalogString}")
    defaults ++ ids ++ ordered ++ (if (conf.caseSensitiveAnalysis) Seq("by letter case") else Nil)
  }

  /**
   * Metadata key of the field id that a column has in Parquet files (`ParquetUtils.FIELD_ID_METADATA_KEY` in Spark).
   */
  private val FieldId = "parquet.field.id"

  /** Metadata key of the value that a column added later has in older files (`ResolveDefaultColumns` in Spark). */
  private val Default = "EXISTS_DEFAULT"

  /**
   * Prefix of the column names that old versions of Hive wrote to ORC files (`_col0`, `_col1`). Spark matches such
   * columns by position.
   */
  private val Nameless = "_col"
}
