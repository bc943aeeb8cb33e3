package org.apache.spark.sql.dovetail.sql

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.base.ErrorCondition.NotRecognizable
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.history.{History, HistoryFile, HistoryForms, ShowHistory}
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}
import org.apache.spark.sql.dovetail.steer.JsonFile
import org.apache.spark.sql.execution.columnar.InMemoryRelation

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
        val which = tables(session, name)
        history.forget(_.tables.exists(which))
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

  /**
   * Tells which names in the history are those of a table. The plan of a table that is cached or dropped does not name
   * it, so then its name is compared, too.
   */
  private def tables(session: SparkSession, name: String): String => Boolean = {
    lazy val former = FormerNames(session, name)
    try {
      val top    = new PlannedQuery(session, s"SELECT * FROM $name", Asker).top
      val names  = HistoryForms.tables(top).toSet
      val cached = top.collectLeaves().exists(_.isInstanceOf[InMemoryRelation])
      (stored: String) => names(stored) || (cached && former(stored))
    } catch { case NonFatal(_) if History(session).now.entries.exists(_.tables.exists(former)) => former }
  }

  def save(session: SparkSession, path: String): String = {
    ShowHistory.settle(session)
    val history = History(session)
    val lacks   = SteerCommand.lacks(history.file, history.problem)
    val entries = history.now.entries
    JsonFile.write(session, path, HistoryFile.toJson(entries), lacks)
    s"${entries.size} entries of the history written to $path${lacks.fold("")("; " + _)}"
  }

  def load(session: SparkSession, path: String): String = {
    val entries = JsonFile.read(session, path)(HistoryFile.fromJson)
    val unsaved = History(session).take(entries)
    s"${entries.size} entries of the history read from $path${SteerCommand.kept(unsaved)}"
  }

  private val Asker = "DOVETAIL FORGET HISTORY"
}
