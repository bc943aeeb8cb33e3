package org.apache.spark.sql.dovetail.sample

import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Approximate bytes of memory that the keys of caches take: a table may have thousands of columns and options. */
private[sample] object KeyBytes {

  def apply(options: Map[String, String]): Long =
    options.iterator.map { case (k, v) => PerEntry + k.length + v.length }.sum

  def apply(dataType: DataType): Long = dataType match {
    case s: StructType => s.fields.iterator.map(f => PerField + f.name.length + apply(f.dataType)).sum
    case a: ArrayType  => PerField + apply(a.elementType)
    case m: MapType    => PerField + apply(m.keyType) + apply(m.valueType)
    case _             => 0L
  }

  /** Bytes of two texts and of their entry in a map, without their characters. */
  private val PerEntry = 150L

  /** Bytes of a field, its name and its places in the indexes of its struct, without the characters of the name. */
  private val PerField = 200L
}
