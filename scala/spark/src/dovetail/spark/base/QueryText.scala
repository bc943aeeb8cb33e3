package org.apache.spark.sql.dovetail.base

/**
 * The text that Spark keeps with an operator: what somebody wrote, and after it the hints of DataFrames, which Dovetail
 * has written there because no other part of an operator reaches the optimizer untouched.
 */
object QueryText {
  private val Mark = "\n-- hints of DataFrames\n"

  /** What somebody wrote; empty where the operator is of a DataFrame. */
  def written(text: String): String = text.split(Mark, 2).head

  def hints(text: String): String = if (hasHints(text)) text.split(Mark, 2)(1) else ""

  // the analyzer asks of every operator, and a text may be long
  private def hasHints(text: String): Boolean = text.endsWith(End) && text.contains(Mark)

  private val End = "*/"

  def hinted(text: String, hint: String): String =
    if (hasHints(text)) s"$text $hint" else s"$text$Mark$hint"
}
