package org.apache.spark.sql.dovetail.database

import java.sql.{Connection, ResultSet}

import scala.collection.mutable

/**
 * Reads PostgreSQL's statistics on a table, with one query on `pg_class` and `pg_stats` that does not read the table
 * itself.
 *
 * The number of rows is the rows per page at the last ANALYZE or VACUUM times the current number of pages, as in
 * PostgreSQL's own planner. A negative number of distinct values is a share of the rows.
 */
private[database] object PostgresqlCatalog {

  /** Most characters of a column's frequent values or bounds that are fetched. Only very wide texts have more. */
  private val MostCharacters = 65536

  private val Query =
    s"""SELECT c.relkind::text, c.reltuples::float8, c.relpages::float8,
       |  CASE WHEN c.relkind IN ('r', 'm')
       |    THEN pg_relation_size(c.oid)::float8 / current_setting('block_size')::float8 END,
       |  s.attname::text, s.null_frac::float8, s.avg_width::float8, s.n_distinct::float8,
       |  CASE WHEN length(s.most_common_vals::text) <= $MostCharacters THEN s.most_common_vals::text::text[] END,
       |  CASE WHEN length(s.most_common_vals::text) <= $MostCharacters THEN s.most_common_freqs::float8[] END,
       |  CASE WHEN length(s.histogram_bounds::text) <= $MostCharacters THEN s.histogram_bounds::text::text[] END
       |FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       |LEFT JOIN pg_catalog.pg_stats s
       |  ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.inherited = (c.relkind = 'p')
       |  AND s.attname::text = ANY (?)
       |WHERE c.oid = to_regclass(?)::oid AND c.relkind IN ('r', 'm', 'p', 'f')""".stripMargin

  /**
   * @param name    name of the table, as in SQL
   * @param columns columns whose statistics are wanted
   * @param seconds timeout of the query on the server
   */
  def read(connection: Connection, name: String, columns: Seq[String], seconds: Int): Option[DatabaseTable] = {
    val statement = connection.prepareStatement(Query)
    try {
      statement.setQueryTimeout(seconds)
      statement.setArray(1, connection.createArrayOf("text", columns.toArray[AnyRef]))
      statement.setString(2, name)
      val found = statement.executeQuery()
      var rows  = Option.empty[Double]
      val known = mutable.LinkedHashMap.empty[String, DatabaseColumn]
      while (found.next()) {
        rows = rowsOf(found)
        for (n <- rows; column <- Option(found.getString(5))) known(column) = columnOf(found, n)
      }
      rows.map(DatabaseTable(_, known.toMap))
    } finally statement.close()
  }

  /** Number of rows; None for a table that was never analyzed. */
  private def rowsOf(found: ResultSet): Option[Double] = {
    val (tuples, pages, now) = (found.getDouble(2), found.getDouble(3), found.getDouble(4))
    // partitioned and foreign tables have no pages
    if (found.wasNull()) Some(tuples).filter(_ > 0.0)
    else if (tuples < 0.0 || (tuples == 0.0 && pages == 0.0 && now > 0.0)) None
    else Some(if (pages > 0.0) tuples / pages * now else tuples)
  }

  private def columnOf(found: ResultSet, rows: Double): DatabaseColumn = {
    val nulls    = found.getDouble(6)
    val width    = found.getDouble(7)
    val distinct = found.getDouble(8)
    DatabaseColumn(
      nulls,
      if (distinct > 0.0) Some(distinct) else if (distinct < 0.0) Some(-distinct * rows) else None,
      width,
      texts(found, 9).zip(numbers(found, 10)),
      texts(found, 11)
    )
  }

  private def texts(found: ResultSet, i: Int): Vector[String] = array(found, i).collect { case s: String => s }

  private def numbers(found: ResultSet, i: Int): Vector[Double] = array(found, i).collect { case n: Number =>
    n.doubleValue
  }

  private def array(found: ResultSet, i: Int): Vector[Any] = Option(found.getArray(i)).map(_.getArray) match {
    case Some(values: Array[_]) => values.toVector
    case _                      => Vector.empty
  }
}
