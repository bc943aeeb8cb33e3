package org.apache.spark.sql.dovetail.sql

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.JsonNodeFactory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.{BoundedJson, ErrorCondition}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.leaf.GivenRows
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}

/** The row counts in a file (`DOVETAIL LOAD ROWS`), as entries of a session. */
final class GivenRowsFile(session: SparkSession) {
  import GivenRowsFile._

  /** The entries, and for each one that the session cannot use, its subject and the reason. */
  def entries(of: Vector[Saved]): (Vector[GivenRows.Entry], Vector[String]) = {
    val read = of.map(one =>
      try Right(new GivenRowsForm(in(one.database), "DOVETAIL LOAD ROWS")(one.of, one.rows))
      // one table that was dropped does not cost the other row counts
      catch { case Survivable(e) => Left(s"${one.of.text}: ${ErrorCondition.text(e).takeWhile(_ != '\n')}") }
    )
    (read.collect { case Right(entry) => entry }, read.collect { case Left(why) => why })
  }

  private val here   = CurrentDatabase(session)
  private var copies = Map(here -> session)

  /** A session in which this database is current. */
  private def in(database: Option[String]): SparkSession = {
    val there = database.fold(here)(session.sessionState.sqlParser.parseMultipartIdentifier)
    copies.getOrElse(
      there, {
        val copy = CurrentDatabase.copy(session, there)
        copies += there -> copy
        copy
      }
    )
  }
}

object GivenRowsFile {

  /** @param database catalog and database, in SQL, in which the names of a query are read; None: the current ones */
  final case class Saved(of: Subject, rows: Double, database: Option[String])

  def toJson(entries: Vector[GivenRows.Entry]): JsonNode = {
    val list = JsonNodeFactory.instance.arrayNode()
    entries.foreach { e =>
      val saved = list.addObject()
      e.of match {
        case t: OfTable => saved.put("table", e.names.table.getOrElse(t.text))
        case q: OfQuery => saved.put("query", q.text).put("database", e.names.database)
      }
      saved.put("rows", e.rows)
    }
    list
  }

  /** Reads the file; fails with a message for the user if the JSON does not contain row counts. */
  def fromJson(json: JsonNode): Vector[Saved] = {
    if (!json.isArray) throw new IllegalArgumentException(
      "it must be a list of {\"query\": …, \"rows\": …} or {\"table\": …, \"rows\": …}."
    )
    BoundedJson.elements(json).map { e =>
      def text(field: String) = Some(e.path(field)).filter(_.isTextual).map(_.asText)
      val of                  = text("table").map(OfTable).orElse(text("query").map(OfQuery))
      if (of.isEmpty || !e.path("rows").isNumber || e.get("rows").asDouble < 0.0)
        throw new IllegalArgumentException(s"an entry must have a query or a table, and rows of 0 or more; found $e.")
      Saved(of.get, e.get("rows").asDouble, text("database"))
    }
  }
}
