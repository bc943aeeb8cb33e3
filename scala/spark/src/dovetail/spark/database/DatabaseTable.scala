package org.apache.spark.sql.dovetail.database

/**
 * A database's statistics on one of its tables, as of the database's last ANALYZE. [[PostgresqlCatalog]] reads them,
 * [[DatabaseStatistics]] caches them, and `stats.DatabaseProfile` turns them into a profile. Values are texts, as the
 * database writes them.
 */
final case class DatabaseTable(rows: Double, columns: Map[String, DatabaseColumn])

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
)
