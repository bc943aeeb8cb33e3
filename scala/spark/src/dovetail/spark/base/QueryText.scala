package org.apache.spark.sql.dovetail.base

/**
 * The text that Spark keeps with an operator (`Origin.sqlText`): the SQL that the user wrote, followed by the hints of
 * DataFrames. Dovetail stores these hints in the text because no other part of an operator reaches the optimizer
 * unchanged.
 */
object QueryText {
  private val Begin = "\n-- hints of DataFrames\n"
  private val End   = "\n-- end of hints"

  /** The SQL that the user wrote; empty if the operator comes from a DataFrame. */
  def written(text: String): String = if (hasHints(text)) text.take(begin(text)) else text

  def hints(text: String): String =
    if (hasHints(text)) text.substring(begin(text) + Begin.length, text.length - End.length) else ""

  def hinted(text: String, hint: String): String =
    if (hasHints(text)) s"${text.stripSuffix(End)} $hint$End" else s"$text$Begin$hint$End"

  // this runs for every operator during analysis, and a text may be long, so only its end is looked at
  private def hasHints(text: String): Boolean = text.endsWith(End) && begin(text) >= 0

  private def begin(text: String): Int = text.lastIndexOf(Begin)
}
