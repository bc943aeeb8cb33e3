package org.apache.spark.sql.dovetail.database

/**
 * What a database says of a table of its own, collected by the database and as old as its last ANALYZE: made by
 * [[PostgresqlCatalog]], kept by [[DatabaseStatistics]], turned into a profile by `stats.DatabaseProfile`. Values are
 * texts, as the database writes them.
 */
final case class DatabaseTable(rows: Double, columns: Map[String, DatabaseColumn])

/**
 * @param nulls    share of the rows
 * @param distinct values that are not NULL; None where unknown
 * @param width    bytes of a value on average
 * @param frequent values with their shares of all rows, most frequent first
 * @param bounds   of equally large parts of the other values, ascending
 */
final case class DatabaseColumn(
    nulls: Double,
    distinct: Option[Double],
    width: Double,
    frequent: Vector[(String, Double)],
    bounds: Vector[String]
)
