package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions.{Expression, InSet, Literal}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Estimates the bytes of memory that an expression takes, for caches with expressions as keys. A list of values can
 * take several megabytes.
 */
object ExpressionBytes {

  def apply(e: Expression): Long = {
    var bytes = 0L
    e.foreach {
      case l: Literal => bytes += PerNode + inMemory(l.value)
      case i: InSet   => bytes += PerNode + i.hset.iterator.map(PerValue + inMemory(_)).sum
      case _          => bytes += PerNode
    }
    bytes
  }

  private def inMemory(value: Any): Long = value match {
    case text: UTF8String => PerText + ofValue(text)
    case other            => ofValue(other)
  }

  /** Bytes of the characters of a text, or of a binary value; 0 for any other value. */
  def ofValue(value: Any): Long = value match {
    case text: UTF8String   => text.numBytes.toLong
    case bytes: Array[Byte] => bytes.length.toLong
    case _                  => 0L
  }

  /** Bytes of a node: its class and its arguments. */
  private val PerNode = 200L

  /** Bytes of a number in a set. */
  private val PerValue = 60L

  /** Bytes of a text without its characters. */
  private val PerText = 40L
}
