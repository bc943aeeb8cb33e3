package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  EqualTo,
  Expression,
  In,
  InSet,
  Literal
}
import org.apache.spark.sql.dovetail.base.TextHash

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

  /** A text of limited length for comparisons: lists of many values, and the whole text, are replaced by a hash. */
  def short(e: Expression): String = {
    val text = apply(e.transform {
      case i: InSet if i.hset.size > MostValues => EqualTo(i.child, Literal(s"${i.hset.size} ${i.hset.hashCode}"))
      case i: In if i.list.size > MostValues    => EqualTo(i.value, Literal(s"${i.list.size} ${i.list.hashCode}"))
    })
    if (text.length <= MostCharacters) text else s"${text.length} ${TextHash.hex(text)}"
  }

  /** Values of a list that are written one by one. */
  private val MostValues = 100

  /** Longest short text: the memory of many of them is that of some texts of queries. */
  private val MostCharacters = 500

  /**
   * Name of a table that occurs more than once, such as `day#2`. SQL would put it between backticks; explain does not.
   */
  private val Numbered = """`(\w+#\d+)`\.""".r
}
