package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}

/**
 * Expressions whose values take no more memory than what they are computed from, apart from a factor. A predicate that
 * is tried while a query is planned sees rows that the query may have kept from it, and `repeat(s, n)` or
 * `sequence(1, n)` of such a row would take all memory of the driver.
 *
 * Values of a fixed size are bounded; texts, arrays and structs are where the function is known.
 */
object BoundedResult {

  /** The node alone. */
  def apply(e: Expression): Boolean = e match {
    // what a lambda function adds to, it may double each time
    case _: HigherOrderFunction                                          => false
    case _ if fixed(e.dataType)                                          => true
    case _: Cast | _: BoundReference                                     => true
    case _: RegExpExtract | _: StringSplit | _: SubstringIndex           => true
    case _: GetArrayItem | _: ElementAt | _: GetStructField | _: Reverse => true
    case _: Md5 | _: Sha1 | _: Sha2 | _: Hex | _: Base64 | _: SoundEx    => true
    // the list leaves out functions whose result can be of any length
    case other => TotalExpression(other)
  }

  private def fixed(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => false
    case other                      => Widths.fixed(other).isDefined
  }
}
