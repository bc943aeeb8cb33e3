package org.apache.spark.sql.dovetail.database

/**
 * A database's statistics on one of its tables, as of the database's last ANALYZE. [[PostgresqlCatalog]] reads them,
 * [[DatabaseStatistics]] caches them, and `stats.DatabaseProfile` turns them into a profile. Values are texts, as the
 * database writes them.
 */
final case class DatabaseTable(rows: Double, columns: Map[String, DatabaseColumn]) {

  /** Approximate bytes of memory. */
  lazy val bytes: Long = columns.iterator.map { case (name, c) => name.length + c.bytes }.sum
}

/**
 * Statistics on one column.
 *
 * @param nulls    share of the rows with NULL
 * @param distinct number of distinct values that are not NULL; None if unknown
 * @param width    average bytes per value
 * @param frequent most frequent values with their shares of all rows, most frequent first
 * @param bounds   bounds of an equi-depth histogram of the other values, ascending
 */
final case class DatabaseColumn(
    nulls: Double,
    distinct: Option[Double],
    width: Double,
    frequent: Vector[(String, Double)],
    bounds: Vector[String]
) {

  /** Approximate bytes of memory. Texts have one byte per character, or two. */
  def bytes: Long = DatabaseColumn.OwnBytes +
    (frequent.iterator.map(_._1) ++ bounds.iterator).map(t => DatabaseColumn.PerText + 2L * t.length).sum
}

object DatabaseColumn {

  /** Bytes of a column without its values. */
  private val OwnBytes = 200L

  /** Bytes of a text without its characters, and of a share beside it. */
  private val PerText = 100L
}
