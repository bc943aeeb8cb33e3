package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.profile.{Estimate, Source}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.dovetail.base.ErrorCondition.NotRecognizable
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.leaf.{GivenRows, LeafNames}
import org.apache.spark.sql.dovetail.steer.PlanForm
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}

/**
 * Makes entries of [[GivenRows]]: a row count with the canonical form by which other queries recognize its subject.
 *
 * @param asker the statement, as error messages name it
 */
final class GivenRowsForm(session: SparkSession, asker: String) {

  def apply(of: Subject, rows: Double): GivenRows.Entry = of match {
    case OfTable(name) =>
      val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name).map(quoteIdentifier).mkString(".")
      new PlannedQuery(session, s"SELECT * FROM $parts", asker).top match {
        case l: LeafNode =>
          table(l, of, rows).getOrElse(refuse(s"$name (${l.nodeName}) has no name or path to recognize it by"))
        case _ =>
          refuse(s"$name is a view that is not just one table. Write FOR SELECT * FROM $name instead of FOR TABLE")
      }
    case asked @ OfQuery(sql) =>
      val query = new PlannedQuery(session, sql, asker)
      query.top match {
        case JoinGroup(group) =>
          val form = query.ordering.form(group)
          if (form.whole.nameless)
            refuse(s"an input or a predicate of it cannot be recognized in other queries: ${of.text}")
          GivenRows.Entry(
            asked,
            isTable = false,
            rows,
            form.whole.text,
            form.whole.order.map(form.relations(_)),
            names(None)
          )
        case l: LeafNode if table(l, of, rows).isDefined => table(l, asked, rows).get
        case other                                       =>
          val form =
            GivenRowsForm.single(other).getOrElse(refuse(s"it cannot be recognized in other queries: ${of.text}"))
          GivenRows.Entry(asked, isTable = false, rows, s"r0: $form", Vector(form), names(None))
      }
  }

  private def table(leaf: LeafNode, of: Subject, rows: Double): Option[GivenRows.Entry] =
    LeafNames.identity(leaf).map(id =>
      GivenRows.Entry(of, isTable = true, rows, id, Vector(id), names(LeafNames.inSql(leaf)))
    )

  private def names(table: Option[String]): GivenRows.Names =
    GivenRows.Names(table, CurrentDatabase(session).map(quoteIdentifier).mkString("."))

  private def refuse(why: String): Nothing = throw NotRecognizable(s"$asker: $why.", "asker" -> asker)
}

object GivenRowsForm {

  /** The row count that the user gave for a plan that is not a join. */
  def rows(session: SparkSession, plan: LogicalPlan): Option[Estimate] = {
    val known = GivenRows(session).queries.filter(_.relations.size == 1)
    if (known.isEmpty) None
    else single(plan).flatMap(f => known.find(_.relations.head == f)).map(e => Estimate.exactly(e.rows, Source.Given))
  }

  private def single(plan: LogicalPlan): Option[String] = {
    val texts = new PlanForm(literals = true)
    texts.learn(0, plan)
    Some(texts.input(plan)).filterNot(_.contains(PlanForm.Nameless))
  }
}
