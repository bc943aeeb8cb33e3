package org.apache.spark.sql.dovetail.steer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, ObjectType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * What the SQL text of an expression leaves out although the result depends on it: the patterns of LIKE ANY, the schema
 * and the options of `from_json`, the arguments of a function that Spark calls as a method of a Java object. Without
 * these, the text of one predicate would be the text of another, and the rows of one would count for the other.
 */
private[steer] object UnwrittenArguments {

  /** Text of what is left out in an expression and below it; empty for most expressions. */
  def apply(e: Expression): String = e.collect {
    case x if !isWritten(x)        => marked(x, arguments(x))
    case x if switches(x).nonEmpty => marked(x, switches(x))
  }.mkString

  private def marked(e: Expression, arguments: Iterator[String]): String =
    s"\u0002${e.getClass.getSimpleName}(${arguments.mkString(", ")})"

  /**
   * Booleans and enumerations, which no text has: whether `size` of NULL is -1, whether NULLs are ignored, what happens
   * on an overflow. Sessions and Spark lines with other defaults have the same text.
   */
  private def switches(e: Expression): Iterator[String] = e match {
    case other if isPlain(other) => Iterator.empty
    case other                   => other.productIterator.collect {
        case b: Boolean           => b.toString
        case v: Enumeration#Value => v.toString
      }
  }

  private def isPlain(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: BinaryComparison | _: And | _: Or | _: Cast | _: UserDefinedExpression => true
    case _                                                                                                     => false
  }

  private def isWritten(e: Expression): Boolean = e match {
    case l: Literal => !l.dataType.isInstanceOf[ObjectType]
    // functions of users are told apart by their names; what they compute is not part of any text
    case other if isPlain(other) => true
    case _: NonSQLExpression     => false
    case other                   => other.productIterator.forall(isShown)
  }

  /** Whether an argument is part of the SQL text, or one of the [[switches]]. */
  private def isShown(argument: Any): Boolean = argument match {
    case _: Expression | _: Boolean | _: DataType | _: ExprId | None | Nil => true
    case _: Enumeration#Value                                              => true
    case Some(inner)                                                       => isShown(inner)
    case some: Seq[_]                                                      => some.forall(isShown)
    case _                                                                 => false
  }

  private def arguments(e: Expression): Iterator[String] = e match {
    case l: Literal => Iterator(text(l.value))
    case other      => other.productIterator.map(text)
  }

  private def text(argument: Any): String = argument match {
    case null              => "null"
    case e: Expression     => e.sql
    case t: DataType       => t.json
    case _: ExprId         => ""
    case s: String         => s.length.toString + ":" + s
    case s: UTF8String     => text(s.toString)
    case some: Array[_]    => some.map(text(_)).mkString("[", ", ", "]")
    case some: Map[_, _]   => some.map { case (k, v) => text(k) -> text(v) }.toVector.sorted.mkString("{", ", ", "}")
    case some: Iterable[_] => some.map(text).mkString("[", ", ", "]")
    case other if declaresText(other) => other.toString
    // the name of such an object is another one each time
    case _ => PlanForm.Nameless
  }

  private def declaresText(value: Any): Boolean =
    value.getClass.getMethod("toString").getDeclaringClass != classOf[Object]
}
