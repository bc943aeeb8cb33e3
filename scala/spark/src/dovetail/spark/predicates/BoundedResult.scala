package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BinaryType, DataType, DecimalType, StringType}

/**
 * Whether the value of an expression takes no more memory than the inputs of the expression, apart from a constant
 * factor. While Dovetail plans a query, it tries predicates on sampled rows, including rows that another filter of the
 * query removes first. On such a row, `repeat(s, n)` or `sequence(1, n)` could take all memory of the driver.
 *
 * Values of a fixed size are bounded. Strings, binaries, arrays and structs are bounded if the function is known to be.
 */
object BoundedResult {

  /** Checks this node only, not its children. */
  def apply(e: Expression): Boolean = e match {
    // a lambda function can double its result in every step
    case _: HigherOrderFunction => false
    // Java computes the power of ten of a text like '1e-600000000'
    case c: Cast if c.dataType.isInstanceOf[DecimalType]                 => !c.child.dataType.isInstanceOf[StringType]
    case _ if fixed(e.dataType)                                          => true
    case _: Cast | _: BoundReference                                     => true
    case _: RegExpExtract | _: StringSplit | _: SubstringIndex           => true
    case _: GetArrayItem | _: ElementAt | _: GetStructField | _: Reverse => true
    case _: Md5 | _: Sha1 | _: Sha2 | _: Hex | _: Base64 | _: SoundEx    => true
    // TotalExpression leaves out functions whose result can have any length
    case other => TotalExpression(other)
  }

  private def fixed(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => false
    case other                      => Widths.fixed(other).isDefined
  }
}
