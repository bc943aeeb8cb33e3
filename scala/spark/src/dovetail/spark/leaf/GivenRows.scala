package org.apache.spark.sql.dovetail.leaf

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LeafNode

/**
 * Rows that the user has told of, in one session: of a table as a whole, or of what a query returns, which holds
 * wherever a query joins the same relations by the same predicates (`DOVETAIL SET ROWS`).
 */
final class GivenRows {
  import GivenRows._

  private var entries = Vector.empty[Entry]

  /** In the order they were told of. */
  def all: Vector[Entry] = synchronized(entries)

  def queries: Vector[Entry] = all.filterNot(_.isTable)

  def set(told: Seq[Entry]): Unit = synchronized {
    val again = told.map(_.key).toSet
    entries =
      entries.filterNot(e => again(e.key)) ++ told.groupBy(_.key).values.map(_.last).toVector.sortBy(told.indexOf(_))
  }

  /** Whether there was one. */
  def forget(key: (Boolean, String)): Boolean = synchronized {
    val before = entries.size
    entries = entries.filterNot(_.key == key)
    entries.size < before
  }

  /** How many there were. */
  def clear(): Int = synchronized { val n = entries.size; entries = Vector.empty; n }

  /** Rows of the table that a leaf reads. */
  def rowsOf(leaf: LeafNode): Option[Double] = {
    val tables = all.filter(_.isTable)
    if (tables.isEmpty) None else LeafNames.identity(leaf).flatMap(id => tables.find(_.form == id)).map(_.rows)
  }
}

object GivenRows {

  /** What a number of rows is of, as it was written. */
  sealed trait Subject { def text: String }
  final case class OfTable(text: String) extends Subject
  final case class OfQuery(sql: String)  extends Subject {

    /** A query that only the caller had: its text names a view that is gone once the statement has run. */
    val isFrame: Boolean = View.pattern.matcher(sql).matches()

    override def text: String = if (isFrame) "a DataFrame" else sql
  }

  /** How the Python package names a DataFrame in SQL. */
  private lazy val View = "SELECT \\* FROM __dovetail_[a-z]+_[0-9a-f]{32}".r

  /**
   * @param of        as it was written
   * @param isTable   of a table as a whole, which a query may be, too
   * @param form      the table's identity, or the query's form
   * @param relations of a query, the forms of its relations, in the order of the form
   */
  final case class Entry(of: Subject, isTable: Boolean, rows: Double, form: String, relations: Vector[String]) {
    def key: (Boolean, String) = (isTable, form)
  }

  // a session that is gone takes its rows along
  private val sessions = Collections.synchronizedMap(new WeakHashMap[SparkSession, GivenRows])

  def apply(session: SparkSession): GivenRows = sessions.computeIfAbsent(session, _ => new GivenRows)
}
