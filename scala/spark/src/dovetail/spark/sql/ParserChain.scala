package org.apache.spark.sql.dovetail.sql

import java.lang.reflect.Modifier

import scala.util.Try

import org.apache.spark.sql.catalyst.parser.ParserInterface

/**
 * The parsers of the extensions of a session: each hands on to the one that it has in a field. Other extensions look
 * for their own parser along these fields, as Iceberg does for sort orders.
 */
private[sql] object ParserChain {

  /** A parser and those that it hands on to, from the outermost to Spark's. */
  def apply(parser: ParserInterface): Vector[ParserInterface] = below(Vector(parser), 0)

  private def below(found: Vector[ParserInterface], next: Int): Vector[ParserInterface] =
    if (next == found.size) found
    else below(found ++ delegates(found(next)).filterNot(p => found.exists(_ eq p)), next + 1)

  private def delegates(of: ParserInterface): Vector[ParserInterface] =
    fields(of.getClass).flatMap { field =>
      // Java protects the fields of its own classes, such as those of a proxy
      Try { field.setAccessible(true); field.get(of) }.toOption.collect { case p: ParserInterface => p }
    }

  private def fields(of: Class[_]): Vector[java.lang.reflect.Field] =
    if (of == null) Vector.empty
    else of.getDeclaredFields.toVector.filter(f =>
      !Modifier.isStatic(f.getModifiers) && classOf[ParserInterface].isAssignableFrom(f.getType)
    ) ++ fields(of.getSuperclass)
}
