package org.apache.spark.sql.dovetail.database

import java.util.IdentityHashMap
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf, FailOpen, HeapLimit}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCOptions, JDBCPartition, JDBCRelation}
import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCScan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, V1ScanWrapper}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.jdbc.JdbcDialects

/**
 * Reads the statistics that databases behind JDBC tables have collected. It connects with the relation's own options,
 * in a separate thread and within the planning time, and caches the answers for a while. Only PostgreSQL is supported,
 * and only relations that name a table, because a database has no statistics on the result of a subquery. One object
 * serves one run of the rule.
 *
 * @param columns columns of a leaf whose statistics are wanted, of a few hundred at most
 */
final class DatabaseStatistics(conf: SQLConf, columns: LeafNode => Seq[Attribute]) {
  import DatabaseStatistics._

  private val enabled = DovetailConf.JdbcStatistics.get(conf)
  private val found   = new IdentityHashMap[LeafNode, Option[DatabaseTable]]

  /** Statistics of a leaf. None if it is not such a table, or if the database has none or does not answer in time. */
  def apply(leaf: LeafNode): Option[DatabaseTable] = {
    readAhead(Seq(leaf))
    found.get(leaf)
  }

  /** Reads the statistics of all these leaves, with one connection per database. */
  def readAhead(leaves: Seq[LeafNode]): Unit = {
    val tables = leaves.filterNot(found.containsKey).map(l => l -> (if (enabled) tableOf(l) else None))
    val asked  = tables.flatMap(_._2).distinct.map(t =>
      Question(t, tables.collect { case (leaf, Some(`t`)) => columns(leaf).map(_.name) }.flatten.distinct)
    )
    val stale = asked.filter(q => recent(q.table).forall(!_.has(q.columns))).map(_.withRecent)
    stale.map(_.table.place).distinct.foreach(place => ask(place, stale.filter(_.table.place == place)))
    tables.foreach { case (leaf, table) => found.put(leaf, table.flatMap(recent).flatMap(_.table)) }
  }

  private def tableOf(leaf: LeafNode): Option[Table] = leaf match {
    case r: LogicalRelation => r.relation match {
        case j: JDBCRelation => Table.of(j)
        case _               => None
      }
    case r: DataSourceV2ScanRelation => r.scan match {
        case w: V1ScanWrapper if PushedPredicates.onlyFilters(w) =>
          w.v1Scan match {
            case s: JDBCScan => Table.of(s.relation)
            case _           => None
          }
        case _ => None
      }
    case _ => None
  }
}

private object DatabaseStatistics {

  /** Most bytes of the cache: a few thousand tables. A column takes some ten kilobytes at most, and usually a few. */
  private val MostBytes = HeapLimit(16L * 1024 * 1024, part = 64L)

  /** Bytes of an entry without its texts. */
  private val Overhead = 1000L

  /**
   * Most columns of a table whose statistics are fetched: more than a query joins and filters by. With the longest
   * values that are fetched, they take some ten megabytes.
   */
  private val MostColumns = 100

  /** Nanoseconds for which an answer is cached: about the interval at which a database analyzes a changing table. */
  private val AnswerAge = TimeUnit.MINUTES.toNanos(10)

  /** A table name in SQL of up to three parts, each an identifier or a name in double quotes. */
  private val Name = """(?:(?:[A-Za-z_][A-Za-z0-9_$]*|"[^"]+")\.){0,2}(?:[A-Za-z_][A-Za-z0-9_$]*|"[^"]+")""".r.pattern

  private val Postgresql = "jdbc:postgresql:"

  /**
   * A table in a database, and the user who reads it.
   *
   * @param options connection options; they contain a password, so they are used for the connection only
   */
  final private class Table(val url: String, user: String, val name: String, val options: JDBCOptions) {

    /** Name of the database for people: the URL without its parameters and without a user and password. */
    val place: String = s"the database ${url.takeWhile(_ != '?').replaceAll("//[^/]*@", "//")}"

    private val key                          = (url, user, name)
    override def equals(other: Any): Boolean = other match { case t: Table => t.key == key; case _ => false }
    override def hashCode: Int               = key.hashCode
  }

  private object Table {
    def of(relation: JDBCRelation): Option[Table] = {
      val options = relation.jdbcOptions
      if (
        options.url.startsWith(Postgresql) && Name.matcher(options.tableOrQuery).matches && wholeTable(relation) &&
        // a statement at the start of the session may change which table a name refers to
        options.sessionInitStatement.isEmpty
      )
        Some(new Table(options.url, options.parameters.getOrElse("user", ""), options.tableOrQuery, options))
      else None
    }

    /** Whether a relation reads all rows. It may read partitions by predicates that do not cover the whole table. */
    private def wholeTable(relation: JDBCRelation): Boolean =
      relation.jdbcOptions.partitionColumn.isDefined || relation.parts.forall {
        case p: JDBCPartition => p.whereClause == null
        case _                => false
      }
  }

  /** What to ask a database about a table. */
  final private class Question private (val table: Table, val columns: Seq[String]) {

    /** The same, with the columns that earlier queries have asked for: the answer takes the place of theirs. */
    def withRecent: Question = Question(table, columns ++ recent(table).fold(Seq.empty[String])(_.asked))
  }

  private object Question {
    def apply(table: Table, columns: Seq[String]): Question =
      new Question(table, columns.distinct.take(MostColumns))
  }

  /** @param asked columns that were asked for; the table has those that the database has statistics on */
  final private case class Answer(table: Option[DatabaseTable], asked: Seq[String], until: Long) {
    def has(columns: Seq[String]): Boolean = table.isEmpty || columns.forall(asked.contains)

    val bytes: Long = Overhead + asked.map(_.length * 2L).sum + table.fold(0L)(_.bytes)
  }

  private val answers = new BoundedCache[Table, Answer]("statistics of databases", MostBytes)(_.bytes)

  private def recent(table: Table): Option[Answer] = answers.get(table).filter(_.until - System.nanoTime() > 0L)

  /** Reads the statistics of several tables of one database, over one connection. */
  private def ask(place: String, tables: Seq[Question]): Unit =
    try Aside(place)(until => overOneConnection(place, tables, until))
    catch { case Survivable(e) => failed(place, tables.map(_.table), e) }

  private def overOneConnection(place: String, tables: Seq[Question], until: Long): Unit = {
    val options    = tables.head.table.options
    val connection = JdbcDialects.get(options.url).createConnectionFactory(options)(-1)
    try {
      connection.setReadOnly(true)
      tables.foreach { q =>
        val left = until - System.nanoTime()
        if (left > 0L) {
          val table =
            try PostgresqlCatalog.read(connection, q.table.name, q.columns, seconds(left))
            catch { case e: Throwable if NonFatal(e) => warn(place, e); None }
          answers.put(q.table, Answer(table, q.columns, System.nanoTime() + AnswerAge))
        }
      }
    } finally connection.close()
  }

  /** The timeout for the server in seconds; at least 1, because JDBC has no smaller unit. */
  private def seconds(nanos: Long): Int =
    math.max(1L, math.min(TimeUnit.NANOSECONDS.toSeconds(nanos), TimeUnit.NANOSECONDS.toSeconds(LongestTimeout))).toInt

  /** Longest timeout in nanoseconds; it applies to commands, which have no limit on planning time. */
  private val LongestTimeout = TimeUnit.SECONDS.toNanos(10)

  private def failed(place: String, tables: Seq[Table], e: Throwable): Unit = {
    warn(place, e)
    tables.foreach(answers.put(_, Answer(None, Nil, System.nanoTime() + Aside.TriedAgainAfter)))
    PlanningTime.cut(s"$place did not give its statistics")
  }

  /** Logs a warning without the exception's message, which may contain the connection's URL. */
  private def warn(place: String, e: Throwable): Unit = {
    val state = e match { case s: java.sql.SQLException => s" (SQL state ${s.getSQLState})"; case _ => "" }
    FailOpen.warnOnce(
      s"$place ${e.getClass.getName}$state",
      s"Statistics of $place cannot be read. Its tables are planned without them: ${e.getClass.getName}$state"
    )
  }
}
