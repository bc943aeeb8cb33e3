package org.apache.spark.sql.dovetail.footers

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.FileScan
import org.apache.spark.sql.execution.datasources.v2.orc.OrcScan
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan

/** A file format whose footers have statistics. Both methods read a file and pass on all exceptions. */
trait FooterFormat {

  /** @param admit to be called with the bytes of a footer that may be large, before it is parsed ([[FooterMemory]]) */
  def footer(file: FileStatus, conf: Configuration, admit: Long => Unit): FileFooter

  /**
   * Distinct values of `columns`; None for a column about which the file says nothing.
   *
   * @param goOn asked before each further read; reading stops if it returns false
   */
  def distinct(
      file: FileStatus,
      conf: => Configuration,
      columns: Seq[ColumnFooter],
      goOn: () => Boolean
  ): Seq[(String, Option[Distinct])]

  /** Whether [[distinct]] reads the file for these columns. */
  def readsFor(columns: Seq[ColumnFooter]): Boolean
}

object FooterFormat {

  /** Delta and others read Parquet by a separate format that extends Spark's Parquet format. */
  def formatOf(format: FileFormat): Option[FooterFormat] = format match {
    case _: ParquetFileFormat => Some(ParquetFooters)
    case _: OrcFileFormat     => Some(OrcFooters)
    case _                    => None
  }

  def formatAndConf(scan: FileScan): Option[(FooterFormat, Configuration)] = scan match {
    case p: ParquetScan => Some(ParquetFooters -> p.hadoopConf)
    case o: OrcScan     => Some(OrcFooters -> o.hadoopConf)
    case _              => None
  }
}
