package org.apache.spark.sql.dovetail.footers

import org.apache.parquet.schema.LogicalTypeAnnotation.{ListLogicalTypeAnnotation, MapLogicalTypeAnnotation}
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type}
import org.apache.parquet.schema.Type.Repetition

/**
 * The lists, maps and structs around a leaf of a Parquet schema, as Spark's rows have them.
 *
 * @param containers number of lists, maps and structs that a value is in, the outermost one included
 * @param repeated   whether some of them are lists or maps
 */
final case class ParquetNesting(containers: Int, repeated: Boolean)

/**
 * Finds the nesting by the rules for files from before the list format was settled (parquet-format, LogicalTypes,
 * "backward compatibility"). A list is two steps of the path if a group stands between the list and its elements, and
 * one step if the elements themselves are repeated. Other writers repeat a field that belongs to no list (Protocol
 * Buffers).
 */
object ParquetNesting {

  /** @param path path of the leaf */
  def apply(schema: MessageType, path: Vector[String]): ParquetNesting = {
    val types = path.scanLeft(schema: Type)((t, name) => t.asGroupType.getType(name))
    val steps = types.zip(types.tail).map { case (parent, t) => containers(parent, t) }
    ParquetNesting(steps.sum, types.exists(isRepeated))
  }

  private def containers(parent: Type, t: Type): Int = {
    val own = if (t.isPrimitive) 0 else 1
    if (!isRepeated(t)) own
    else if (!isList(parent)) own + 1
    else if (isElement(parent, t)) own
    else 0
  }

  private def isRepeated(t: Type): Boolean = !t.isInstanceOf[MessageType] && t.isRepetition(Repetition.REPEATED)

  /** Whether a type is a list or a map. `MAP_KEY_VALUE` is an old name of MAP. */
  private def isList(t: Type): Boolean = t.getLogicalTypeAnnotation match {
    case _: ListLogicalTypeAnnotation | _: MapLogicalTypeAnnotation => true
    case _: LogicalTypeAnnotation.MapKeyValueTypeAnnotation         => true
    case _                                                          => false
  }

  /** Whether the repeated field of a list is its element, rather than a group around the element. */
  private def isElement(list: Type, t: Type): Boolean = t match {
    case g: GroupType => list.getLogicalTypeAnnotation.isInstanceOf[ListLogicalTypeAnnotation] &&
      (g.getFieldCount > 1 || g.getName == "array" || g.getName == s"${list.getName}_tuple")
    case _ => true
  }
}
