package org.apache.spark.sql.dovetail

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.dovetail.sketch.{Recipe, TableSketch}
import org.apache.spark.sql.dovetail.store.{StatisticsStore, StoredTable, StoreFiles, TableFile}
import org.apache.spark.sql.types.{DataType, LongType}

/**
 * A program that writes one table's statistics again and again until it is killed: `StoreWriter <directory> <key>
 * <name>`.
 *
 * Each piece of a file tells its writer and the number of the write: the name is `<name>-<i>`, the table has i rows,
 * and all bytes of its parts are the same. So a reader can tell a file that one write made from a file that mixes
 * several writes.
 */
object StoreWriter {
  private val Parts = 8

  /** Less than the format allows for a part with one column. */
  private val PartBytes = 100000

  /** A word of NULL bits and one value. */
  private val RowBytes = 16

  def table(key: String, name: String, i: Int): TableFile.NewTable = {
    val recipe = Recipe.forColumns(Vector(("a", LongType: DataType, true)), Vector.empty, sampled = false)
    val whole  = new TableSketch(recipe, sampleRows = 0)
    val row    = new UnsafeRow(1)
    row.pointTo(new Array[Byte](RowBytes), RowBytes)
    (1 to i).foreach(r => whole.add(row, r.toLong))
    val parts = Vector.tabulate(Parts)(p =>
      TableFile.NewPart(Vector(p.toLong), 1L, Array.fill(PartBytes)((name.hashCode + i).toByte))
    )
    TableFile.NewTable(key, s"$name-$i", i.toLong, recipe, parts, whole.toBytes)
  }

  /** What is wrong with a table that a writer wrote, or None if it is intact. */
  def fault(store: StatisticsStore, table: StoredTable): Option[String] = {
    val name = table.header.name.takeWhile(_ != '-')
    val i    = table.header.name.drop(name.length + 1).toInt
    val byte = (name.hashCode + i).toByte
    // a part may be missing if another file has replaced this one
    val parts = table.header.parts.flatMap(store.part(table, _))
    if (table.statistics.rows != i || table.header.collectedAt != i)
      Some(s"$i rows were written, and ${table.statistics.rows} are there")
    else if (parts.exists(b => b.length != PartBytes || b.exists(_ != byte))) Some(s"a part of $name-$i is not its own")
    else None
  }

  def main(arguments: Array[String]): Unit = {
    val store = new StatisticsStore(new StoreFiles(new Path(arguments(0)), new Configuration()))
    Iterator.from(1).foreach(i => store.write(table(arguments(1), arguments(2), i % 100 + 1)))
  }
}
