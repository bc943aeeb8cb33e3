package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}

/** An expression as people write it: columns with their table or alias, without catalog and database. */
object ExpressionText {
  def apply(e: Expression): String = apply(e, _ => None)

  /** @param called name or alias of the input that a column belongs to, if known */
  def apply(e: Expression, called: Attribute => Option[String]): String =
    Numbered.replaceAllIn(
      e.transform { case a: AttributeReference =>
        a.withQualifier(called(a).fold(a.qualifier.takeRight(1))(Seq(_)))
      }.sql,
      "$1."
    )

  /**
   * Name of a table that occurs more than once, such as `day#2`. SQL would put it between backticks; explain does not.
   */
  private val Numbered = """`(\w+#\d+)`\.""".r
}
