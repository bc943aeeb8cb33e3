package org.apache.spark.sql.dovetail.sql

import java.time.Instant
import java.time.temporal.ChronoUnit

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.dovetail.base.{BoundedCache, DovetailConf, ErrorCondition, PlannedStatement}
import org.apache.spark.sql.dovetail.leaf.GivenRows
import org.apache.spark.sql.dovetail.plan.JoinFailures
import org.apache.spark.sql.dovetail.sql.Statement._
import org.apache.spark.sql.dovetail.steer.{Capture, JsonFile, OrderHint, Pin, PinnedGroup, Pins}
import org.apache.spark.sql.dovetail.table.PrivateColumns
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.{Row, SparkSession}

/** Executes a [[Statement.Steer]]. Returns one row of text for each thing that it did. */
case class SteerCommand(statement: Statement.Steer) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Seq(AttributeReference("done", StringType, nullable = false)())

  override def run(session: SparkSession): Seq[Row] = {
    val known              = GivenRows(session)
    val pins               = Pins(session)
    def form(name: String) = new GivenRowsForm(session, s"DOVETAIL $name")
    val done               = statement match {
      case SetRows(rows, of) =>
        GivenRows.set(session, Seq(form("SET ROWS")(of, rows.toDouble))); Seq(s"$rows rows for ${of.text}")
      case ForgetRows(None)    => Seq(s"${known.clear()} row counts removed")
      case ForgetRows(Some(t)) => Seq(if (forgotten(session, t)) s"removed: ${t.text}"
        else s"there was no row count for ${t.text}")
      case ForgetFailures =>
        val (n, unsaved) = JoinFailures(session).clear()
        val allowed      = if (unsaved.isEmpty) ": they are allowed again" else SteerCommand.notStored(unsaved)
        Seq(s"$n failed joins removed$allowed")
      case ForgetHistory(of) => Seq(HistoryCommand.forget(session, of))
      case SaveHistory(path) => Seq(HistoryCommand.save(session, path))
      case LoadHistory(path) => Seq(HistoryCommand.load(session, path))
      case ClearCaches       =>
        Seq(s"${BoundedCache.clearAll()} entries removed from the caches: the next query reads its files again")
      case SaveRows(path) =>
        val (frames, written) = known.all.partition(_.of match { case q: OfQuery => q.isFrame; case _ => false })
        JsonFile.write(session, path, GivenRowsFile.toJson(written))
        val left =
          if (frames.isEmpty) ""
          else s"; row counts of ${frames.size} DataFrames are not saved: they have no SQL"
        Seq(s"${written.size} row counts written to $path$left")
      case LoadRows(path) =>
        val told         = JsonFile.read(session, path)(GivenRowsFile.fromJson)
        val (found, not) = new GivenRowsFile(session).entries(told)
        GivenRows.set(session, found)
        s"${found.size} row counts read from $path" +: not.map(why => s"left out of $path: $why")
      case MakePin(name, order, query) => made(session, pins, name, order, query)
      case RemovePin(name)             =>
        val (there, unsaved) = pins.remove(name)
        if (!there) throw ErrorCondition.PinNotFound(
          s"DOVETAIL UNPIN: there is no pin '$name'. Pins: ${SteerCommand.names(pins)}.",
          "pin" -> name
        )
        Seq(s"pin '$name' removed${SteerCommand.notStored(unsaved)}")
      case SavePins(path) =>
        val (all, problem) = pins.look
        val lacks          = SteerCommand.lacks(pins.file, problem)
        JsonFile.write(session, path, Pin.toJson(all), lacks)
        Seq(s"${all.size} pins written to $path${lacks.fold("")("; " + _)}")
      case LoadPins(path) =>
        val found   = JsonFile.read(session, path)(Pin.fromJson)
        val unsaved = pins.add(found)
        found.map(p => s"pin '${p.name}'${SteerCommand.kept(unsaved)}")
    }
    done.map(Row(_))
  }

  /** Removes a row count, also of a table or a query that Spark cannot plan any more. Tells whether there was. */
  private def forgotten(session: SparkSession, of: Subject): Boolean = {
    val known               = GivenRows(session)
    def formerly(): Boolean = {
      val byName = of match {
        case OfTable(name) =>
          val former = FormerNames(session, name)
          known.forget(e => e.isTable && former(e.form))
        case _: OfQuery => false
      }
      byName || known.forget(_.of == of)
    }
    try {
      val key = new GivenRowsForm(session, "DOVETAIL FORGET ROWS")(of, 0.0).key
      known.forget(_.key == key)
    } catch { case NonFatal(_) if formerly() => true }
  }

  private def made(
      session: SparkSession,
      pins: Pins,
      name: String,
      order: Option[String],
      query: String
  ): Seq[String] = {
    val state   = session.sessionState
    val planned = PlannedStatement.queryOf(PlannedStatement(session, query))
    val decided = Capture { planned.optimizedPlan; () }
    if (decided.isEmpty) throw ErrorCondition.NotRecognizable(
      "DOVETAIL PIN: Dovetail orders no group of three or more relations in this query: dovetail_explain tells why.",
      "asker" -> "DOVETAIL PIN"
    )
    val chosen = order.fold(decided.map(d => d -> d.shape))(text => Vector(SteerCommand.asked(text, decided)))
    val groups = chosen.map { case (d, shape) =>
      val number = d.form.order.zipWithIndex.toMap
      PinnedGroup(d.names.tables, shape.render(d.names.tables(_)), d.form.text, shape.render(number(_).toString))
    }.distinct
    val text =
      if (
        DovetailConf.StoreValues.get(state.conf) && !SteerCommand.readsPrivate(
          planned.analyzed,
          PrivateColumns(state.conf)
        )
      ) OfQuery(query).text
      else ""
    val unsaved = pins.add(Vector(Pin(name, Instant.now().truncatedTo(ChronoUnit.SECONDS).toString, text, groups)))
    groups.map(g => s"pin '$name': ${g.order}${SteerCommand.kept(unsaved)}")
  }
}

private object SteerCommand {

  /**
   * The group that an order is for, and the order. Fails with a message for the user if it fits no group of the query.
   */
  def asked(
      text: String,
      decided: Vector[Capture.CapturedGroup]
  ): (Capture.CapturedGroup, dovetail.kernel.enumerate.Shape) = {
    val read =
      decided.map(d =>
        d -> OrderHint.read(text, d.names.accepted).filterOrElse(d.legal, "outer or semi joins forbid it")
      )
    read.collectFirst { case (d, Right(shape)) => d -> shape }.getOrElse(
      throw ErrorCondition.InvalidOrder(
        s"DOVETAIL PIN: '$text' is not an order of this query: " +
          s"${read.collect { case (_, Left(why)) => why }.distinct.mkString("; ")}.",
        "order" -> text
      )
    )
  }

  /** Whether a query reads a private column, so that its text may contain values of this column. */
  def readsPrivate(query: LogicalPlan, columns: PrivateColumns): Boolean = !columns.isEmpty && {
    val leaves = query.collectWithSubqueries { case l: LeafNode => l }
    val hidden = AttributeSet(leaves.flatMap(l => l.output.filter(a => columns(l, a.name))))
    // leaves are skipped: a leaf lists all its columns, whether they are read or not
    query.collectWithSubqueries {
      case p if !p.isInstanceOf[LeafNode] => p.expressions.exists(_.references.exists(hidden.contains))
    }.contains(true)
  }

  /** What a list lacks if the store's file cannot be read. */
  def lacks(file: String, problem: Option[String]): Option[String] =
    problem.map(why => s"the entries of $file are missing: ${why.stripSuffix(".")}")

  def names(pins: Pins): String = if (pins.all.isEmpty) "none" else pins.all.map(_.name).mkString(", ")

  // by these words, the Python package recognizes statements that changed only this application
  def kept(unsaved: Option[String]): String = unsaved.fold("")(why => s", in this application only: $why")

  def notStored(unsaved: Option[String]): String =
    unsaved.fold("")(why => s" from this application, but not from the store: $why")
}
