package org.apache.spark.sql.dovetail.predicates

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}

/**
 * An expression as the key of a cache that outlives the query: equal expressions have equal keys.
 *
 * The expression itself would keep the whole text of its query in memory, because every node knows its place in the
 * text (`TreeNode.origin`). A key has only the classes of the nodes and their arguments.
 *
 * @param bytes estimated bytes of memory that the key takes
 */
final class ExpressionKey private (private val parts: Vector[Any], val bytes: Long) {
  override def equals(other: Any): Boolean = other match {
    case k: ExpressionKey => k.parts == parts
    case _                => false
  }
  override val hashCode: Int    = parts.hashCode
  override def toString: String = parts.mkString("ExpressionKey(", " ", ")")
}

object ExpressionKey {
  def apply(e: Expression): ExpressionKey = {
    val canonical = e.canonicalized
    val parts     = Vector.newBuilder[Any]
    add(canonical, parts += _)
    new ExpressionKey(parts.result(), ExpressionBytes(canonical))
  }

  /** Adds the class of a node, the number of its arguments and the arguments, which tells trees of any shape apart. */
  private def add(part: Any, to: Any => Unit): Unit = part match {
    // the bytes of a binary value are compared, not the array
    case Literal(bytes: Array[Byte], of) => to(classOf[Literal]); to(of); to(ByteBuffer.wrap(bytes))
    case l: Literal                      => to(classOf[Literal]); to(l.dataType); to(l.value)
    case e: Expression                   => to(e.getClass); to(e.productArity); e.productIterator.foreach(add(_, to))
    case Some(e: Expression)             => to(Some); add(e, to)
    case es: Seq[_]                      => to(es.size); es.foreach(add(_, to))
    case other                           => to(other)
  }
}
