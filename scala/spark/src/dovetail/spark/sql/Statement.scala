package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.dovetail.leaf.GivenRows.Subject

/** A parsed DOVETAIL statement. Queries and names remain text, which Spark's own parser reads later. */
sealed trait Statement

object Statement {

  /**
   * @param kind      TABLE (a table or a view), PATH or DATABASE
   * @param name      name as written
   * @param partition pairs of a partition column and a value as written
   * @param columns   columns to analyze; None means all
   * @param groups    groups of columns to analyze together
   */
  final case class Analyze(
      kind: String,
      name: String,
      partition: Seq[(String, String)],
      columns: Option[Seq[String]],
      groups: Seq[Seq[String]]
  ) extends Statement {

    /** Whether it names partitions, columns or groups, which are specific to one table. */
    def restricted: Boolean = partition.nonEmpty || columns.nonEmpty || groups.nonEmpty
  }

  final case class Profile(query: String) extends Statement

  /** @param rows rows of the larger inputs; None restores the built-in constants */
  final case class Calibrate(rows: Option[Long]) extends Statement

  /** @param verb verb of the requested statements, or another word in them; None means all statements */
  final case class Help(verb: Option[String]) extends Statement

  /** Statements by which users steer Dovetail: known row counts, pinned orders, the history, failed joins, caches. */
  sealed trait Steer extends Statement

  final case class SetRows(rows: Long, of: Subject)                            extends Steer
  final case class ForgetRows(of: Option[Subject])                             extends Steer
  case object ForgetFailures                                                   extends Steer
  final case class ForgetHistory(of: Option[Subject])                          extends Steer
  final case class SaveHistory(path: String)                                   extends Steer
  final case class LoadHistory(path: String)                                   extends Steer
  case object ClearCaches                                                      extends Steer
  final case class SaveRows(path: String)                                      extends Steer
  final case class LoadRows(path: String)                                      extends Steer
  final case class MakePin(name: String, order: Option[String], query: String) extends Steer
  final case class RemovePin(name: String)                                     extends Steer
  final case class SavePins(path: String)                                      extends Steer
  final case class LoadPins(path: String)                                      extends Steer

  /**
   * One form of a statement, as DOVETAIL HELP shows it.
   *
   * @param usage syntax; parts in brackets are optional
   * @param does  description in one sentence
   */
  final case class Form(usage: String, does: String) {

    /** The word after DOVETAIL. */
    def verb: String = usage.split(' ')(1)
  }

  /** Every form, in the order of the reference page. */
  val Forms: Seq[Form] = Seq(
    Form(
      "DOVETAIL ANALYZE TABLE <table or view> [PARTITION (column = value, …)] [COLUMNS (column, …)] " +
        "[GROUPS ((column, …), …)]",
      "collects statistics of a table, or of the tables below a view, in one pass"
    ),
    Form(
      "DOVETAIL ANALYZE PATH <format>.`<path>` [PARTITION …] [COLUMNS …] [GROUPS …]",
      "collects statistics of files"
    ),
    Form("DOVETAIL ANALYZE DATABASE <database>", "collects statistics of all tables of a database"),
    Form("DOVETAIL PROFILE <query>", "runs a query once and returns what it did, as JSON"),
    Form("DOVETAIL CALIBRATE [<n> ROWS | RESET]", "measures the constants of the cost model on this cluster"),
    Form("DOVETAIL SET ROWS <number> FOR TABLE <table>", "sets the row count of a table"),
    Form("DOVETAIL SET ROWS <number> FOR <query>", "sets the row count of a query"),
    Form("DOVETAIL FORGET ROWS [FOR TABLE <table> | FOR <query>]", "removes one row count, or all"),
    Form("DOVETAIL FORGET FAILURES", "allows broadcasts and hash tables again that made a query fail"),
    Form("DOVETAIL CLEAR CACHES", "clears what this driver has read from files"),
    Form("DOVETAIL SAVE ROWS '<path>'", "writes the row counts to a JSON file"),
    Form("DOVETAIL LOAD ROWS '<path>'", "reads row counts from a JSON file"),
    Form("DOVETAIL PIN <name> [AS '<order>'] FOR <query>", "pins a join order, or the one that the query gets now"),
    Form("DOVETAIL UNPIN <name>", "removes a pin"),
    Form("DOVETAIL SAVE PINS '<path>'", "writes all pins to a JSON file"),
    Form("DOVETAIL LOAD PINS '<path>'", "reads pins from a JSON file"),
    Form(
      "DOVETAIL FORGET HISTORY [FOR TABLE <table> | FOR <query>]",
      "removes the history of queries with a table, of one query, or of all queries"
    ),
    Form("DOVETAIL SAVE HISTORY '<path>'", "writes the history of queries to a JSON file"),
    Form("DOVETAIL LOAD HISTORY '<path>'", "adds the history of queries in a JSON file"),
    Form("DOVETAIL HELP [<word>]", "lists all statements, or those that begin with or contain a word")
  )

  val Verbs: Seq[String] = Forms.map(_.verb).distinct.sorted
}
