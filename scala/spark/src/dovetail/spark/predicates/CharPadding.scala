package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke

/** What Spark makes of a CHAR column wherever it is read: its text, padded with blanks to the length of the type. */
object CharPadding {

  /** The text, and the characters that it has then. */
  def unapply(e: Expression): Option[(Expression, Double)] = e match {
    case p: StaticInvoke if p.functionName == "readSidePadding" =>
      p.arguments match {
        case Seq(text, Literal(n: Number, _)) => Some((text, n.doubleValue))
        case _                                => None
      }
    case _ => None
  }
}
