package org.apache.spark.sql.dovetail.base

/**
 * The text that Spark keeps with an operator (`Origin.sqlText`): the SQL that the user wrote, followed by the hints of
 * DataFrames. Dovetail stores these hints in the text because no other part of an operator reaches the optimizer
 * unchanged.
 */
object QueryText {
  private val Mark = "\n-- hints of DataFrames\n"

  /** The SQL that the user wrote; empty if the operator comes from a DataFrame. */
  def written(text: String): String = text.split(Mark, 2).head

  def hints(text: String): String = if (hasHints(text)) text.split(Mark, 2)(1) else ""

  // this runs for every operator during analysis, and a text may be long, so the cheap test comes first
  private def hasHints(text: String): Boolean = text.endsWith(End) && text.contains(Mark)

  private val End = "*/"

  def hinted(text: String, hint: String): String =
    if (hasHints(text)) s"$text $hint" else s"$text$Mark$hint"
}
