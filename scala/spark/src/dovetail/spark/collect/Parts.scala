package org.apache.spark.sql.dovetail.collect

import org.apache.spark.sql.dovetail.sketch.{Recipe, RowSample, TableSketch}
import org.apache.spark.sql.dovetail.store.{DataFile, TableFile}
import org.apache.spark.sql.dovetail.store.TableFile.NewPart

/**
 * How the files of a table are divided into parts, each with a sketch of its own: one file per part, up to a number
 * that bounds the store and the driver's memory; then neighbours by path share one.
 */
object Parts {

  /** Sketches of single columns in one table, each 3 to 8 KiB compressed: about 100 MiB at most. */
  private val MostColumnSketches = 20000

  /** Parts of a table with very many columns. */
  private val LeastParts = 4

  /** Rows sampled of every part, however small its share: a query may leave nothing but that. */
  private val LeastSampleRows = 50

  /**
   * Times its share of the sample that is taken of a part, because its share of rows may be larger than that of bytes.
   */
  private val SampleReserve = 2.0

  private def limit(recipe: Recipe): Int =
    math.max(LeastParts, math.min(TableFile.MostParts, MostColumnSketches / math.max(recipe.columns.size, 1)))

  /** @param files ordered by path */
  def divided(files: Vector[DataFile], recipe: Recipe): Vector[Vector[DataFile]] =
    if (files.isEmpty) Vector.empty else files.grouped(chunk(files.size, limit(recipe))).toVector

  /** Merges neighbours where there are too many parts. */
  def atMost(parts: Vector[NewPart], recipe: Recipe): Vector[NewPart] =
    if (parts.size <= limit(recipe)) parts
    else parts.grouped(chunk(parts.size, limit(recipe))).map(merged(_, recipe)).toVector

  private def chunk(n: Int, most: Int): Int = (n + most - 1) / most

  private def merged(parts: Vector[NewPart], recipe: Recipe): NewPart = {
    val sketches = parts.map(p => TableSketch.fromBytes(p.sketch, recipe, TableSketch.Version))
    val whole    = new TableSketch(recipe, math.min(RowSample.MaxRows, sketches.map(_.sampleRows).sum))
    sketches.foreach(whole.merge)
    NewPart(parts.flatMap(_.files), parts.map(_.bytes).sum, whole.toBytes)
  }

  /** Rows to sample of each part of a table of `bytes`, of which the whole sample has `rows`. */
  def sampleRows(parts: Vector[Vector[DataFile]], bytes: Long, rows: Int): Vector[Int] = parts.map { p =>
    val share = if (bytes > 0L) p.map(_.length).sum.toDouble / bytes else 1.0
    math.min(rows, math.max(LeastSampleRows, math.ceil(rows * share * SampleReserve).toInt))
  }
}
