package org.apache.spark.sql.dovetail.collect

import org.apache.spark.sql.dovetail.sketch.{Recipe, RowSample, TableSketch}
import org.apache.spark.sql.dovetail.store.{DataFile, TableFile}
import org.apache.spark.sql.dovetail.store.TableFile.NewPart

/**
 * Divides the files of a table into parts with one sketch each. Every file is a part, up to a number that bounds the
 * store and the driver's memory. Beyond that number, files that are neighbors by path share a part.
 */
object Parts {

  /** Limit of the sketches of single columns in one table, each 3 to 8 KiB compressed: about 100 MiB at most. */
  private[collect] val MostColumnSketches = 20000

  /** Number of parts that even a table with very many columns may have. */
  private val LeastParts = 4

  /** Number of rows sampled from every part, however small its share: a query may prune all other parts. */
  private val LeastSampleRows = 50

  /** Factor by which the sample of a part exceeds its share by bytes, because its share of the rows may be larger. */
  private val SampleReserve = 2.0

  private def limit(recipe: Recipe): Int =
    math.max(LeastParts, math.min(TableFile.MostParts, MostColumnSketches / math.max(recipe.columns.size, 1)))

  /** @param files files ordered by path */
  def divided(files: Vector[DataFile], recipe: Recipe): Vector[Vector[DataFile]] =
    if (files.isEmpty) Vector.empty else files.grouped(chunk(files.size, limit(recipe))).toVector

  /** Merges neighboring parts if there are too many. */
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

  /** Number of rows to sample from each part of a table of `bytes` bytes, whose whole sample has `rows` rows. */
  def sampleRows(parts: Vector[Vector[DataFile]], bytes: Long, rows: Int): Vector[Int] = parts.map { p =>
    val share = if (bytes > 0L) p.map(_.length).sum.toDouble / bytes else 1.0
    math.min(rows, math.max(LeastSampleRows, math.ceil(rows * share * SampleReserve).toInt))
  }
}
