package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke

/**
 * Matches the expression that Spark puts around a CHAR column wherever the column is read: it pads the text with blanks
 * to the length of the type.
 */
object CharPadding {

  /** The text before padding, and its number of characters after padding. */
  def unapply(e: Expression): Option[(Expression, Double)] = e match {
    case p: StaticInvoke if p.functionName == "readSidePadding" =>
      p.arguments match {
        case Seq(text, Literal(n: Number, _)) => Some((text, n.doubleValue))
        case _                                => None
      }
    case _ => None
  }
}
