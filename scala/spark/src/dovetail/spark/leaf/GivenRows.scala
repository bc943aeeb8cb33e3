package org.apache.spark.sql.dovetail.leaf

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.util.QueryExecutionListener

/**
 * Row counts that the user has set in one session (`DOVETAIL SET ROWS`): of a whole table, or of the result of a query.
 * The latter holds wherever a query joins the same relations by the same predicates.
 *
 * Spark plans the query of a cache, and the batches of a stream, in a copy of the session. A copy has the listeners of
 * the session, so the row counts are a listener, which listens to nothing.
 */
final class GivenRows extends QueryExecutionListener {
  import GivenRows._

  override def onSuccess(function: String, execution: QueryExecution, nanos: Long): Unit        = ()
  override def onFailure(function: String, execution: QueryExecution, failure: Exception): Unit = ()

  private var entries = Vector.empty[Entry]

  /** All entries, in the order in which they were set. */
  def all: Vector[Entry] = synchronized(entries)

  def queries: Vector[Entry] = all.filterNot(_.isTable)

  def set(told: Seq[Entry]): Unit = synchronized {
    val again = told.map(_.key).toSet
    entries =
      entries.filterNot(e => again(e.key)) ++ told.groupBy(_.key).values.map(_.last).toVector.sortBy(told.indexOf(_))
  }

  /** Removes entries, and tells whether there were some. */
  def forget(which: Entry => Boolean): Boolean = synchronized {
    val before = entries.size
    entries = entries.filterNot(which)
    entries.size < before
  }

  /** Removes all entries, and tells how many there were. */
  def clear(): Int = synchronized { val n = entries.size; entries = Vector.empty; n }

  /** Rows that the user has set for the table that a leaf reads. */
  def rowsOf(leaf: LeafNode): Option[Double] = {
    val tables = all.filter(_.isTable)
    if (tables.isEmpty) None else LeafNames.identity(leaf).flatMap(id => tables.find(_.form == id)).map(_.rows)
  }
}

object GivenRows {

  /** What a row count belongs to, as the user wrote it. */
  sealed trait Subject { def text: String }
  final case class OfTable(text: String) extends Subject
  final case class OfQuery(sql: String)  extends Subject {

    /**
     * Whether the query is a DataFrame that only the caller has. Its text names a view that is dropped after the
     * statement.
     */
    val isFrame: Boolean = View.pattern.matcher(sql).matches()

    override def text: String = if (isFrame) "a DataFrame" else sql
  }

  /** The query by which the Python package passes a DataFrame in SQL. */
  private lazy val View = "SELECT \\* FROM __dovetail_[a-z]+_[0-9a-f]{32}".r

  /**
   * @param table    full name of the table; None if it is a query, or no table of a catalog
   * @param database catalog and database that were current, in SQL
   */
  final case class Names(table: Option[String], database: String)

  /**
   * @param of        what the row count belongs to, as it was written
   * @param isTable   whether the count is for a whole table; this includes a query that reads just a whole table
   * @param form      identity of the table, or form of the query
   * @param relations forms of the query's relations, in the order of its form
   * @param names     what the names in `of` mean, for a session with another current database
   */
  final case class Entry(
      of: Subject,
      isTable: Boolean,
      rows: Double,
      form: String,
      relations: Vector[String],
      names: Names
  ) {
    def key: (Boolean, String) = (isTable, form)
  }

  // weak keys: the row counts of a session are removed with it
  private val sessions = Collections.synchronizedMap(new WeakHashMap[SparkSession, GivenRows])

  def apply(session: SparkSession): GivenRows = sessions.computeIfAbsent(
    session,
    _ => session.listenerManager.listListeners().collectFirst { case g: GivenRows => g }.getOrElse(new GivenRows)
  )

  /** Sets row counts in a session, and in the copies that Spark makes of it from now on. */
  def set(session: SparkSession, told: Seq[Entry]): Unit = {
    val known = GivenRows(session)
    known.set(told)
    if (!session.listenerManager.listListeners().contains(known)) session.listenerManager.register(known)
  }
}
