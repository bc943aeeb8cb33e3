package org.apache.spark.sql.dovetail.sql

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.ErrorCondition.NotRecognizable
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.history.{History, HistoryFile, HistoryForms, ShowHistory}
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}
import org.apache.spark.sql.dovetail.steer.JsonFile

/**
 * Runs the statements about the history of queries, for [[SteerCommand]]. Each returns one line that says what it did.
 */
object HistoryCommand {

  def forget(session: SparkSession, of: Option[Subject]): String = {
    ShowHistory.settle(session)
    val history         = History(session)
    val (gone, unsaved) = of match {
      case None                => history.forget(_ => true)
      case Some(OfTable(name)) =>
        lazy val former               = FormerNames(session, name)
        val tables: String => Boolean =
          try HistoryForms.tables(new PlannedQuery(session, s"SELECT * FROM $name", Asker).top).toSet
          catch { case NonFatal(_) if history.now.entries.exists(_.tables.exists(former)) => former }
        history.forget(_.tables.exists(tables))
      case Some(OfQuery(sql)) =>
        val query = new PlannedQuery(session, sql, Asker)
        val about = query.top.collect { case JoinGroup(group) => query.ordering.isAbout(group) }.flatten
        if (about.isEmpty) throw NotRecognizable(
          s"$Asker: this query has no joins by which the history would know it: $sql.",
          "asker" -> Asker
        )
        history.forget(e => about.exists(_(e)))
    }
    s"$gone entries of the history removed${SteerCommand.notStored(unsaved)}"
  }

  def save(session: SparkSession, path: String): String = {
    ShowHistory.settle(session)
    val entries = History(session).now.entries
    JsonFile.write(session, path, HistoryFile.toJson(entries))
    s"${entries.size} entries of the history written to $path"
  }

  def load(session: SparkSession, path: String): String = {
    val entries = JsonFile.read(session, path)(HistoryFile.fromJson)
    val unsaved = History(session).take(entries)
    s"${entries.size} entries of the history read from $path${SteerCommand.kept(unsaved)}"
  }

  private val Asker = "DOVETAIL FORGET HISTORY"
}
