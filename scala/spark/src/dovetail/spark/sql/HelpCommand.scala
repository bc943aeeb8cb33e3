package org.apache.spark.sql.dovetail.sql

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.{Row, SparkSession}

/**
 * `DOVETAIL HELP [<word>]`: lists statements, one row each. With a word, it lists the statements with this verb; if
 * there are none, the statements that contain the word; if there are none either, all statements.
 */
case class HelpCommand(word: Option[String]) extends LeafRunnableCommand {
  override val output: Seq[Attribute] =
    Seq("statement", "does").map(AttributeReference(_, StringType, nullable = false)())

  override def run(session: SparkSession): Seq[Row] = {
    val (verb, mentioned) = word.fold((Statement.Forms, Statement.Forms)) { w =>
      val has = (text: String) => text.toUpperCase(Locale.ROOT).split("[^A-Z]+").contains(w.toUpperCase(Locale.ROOT))
      (Statement.Forms.filter(_.verb.equalsIgnoreCase(w)), Statement.Forms.filter(f => has(f.usage)))
    }
    val shown = Seq(verb, mentioned, Statement.Forms).find(_.nonEmpty).get
    shown.map(f => Row(f.usage, f.does))
  }
}
