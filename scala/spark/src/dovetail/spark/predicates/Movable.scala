package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Whether a predicate may be evaluated at another join than the one it was written at, on rows that it might not have seen there.
 *
 * Not if it is non-deterministic, if it holds Python (still inside the expression here, and extracted only after our rule) or a correlated subquery, or if
 * it fails on ordinary values: under ANSI semantics `a.x / b.y > 2` and `CAST(a.name AS INT) = b.id` are errors for some rows, and the written order may
 * be what keeps such rows away. (Overflow of ordinary arithmetic is left out of account, as in Spark's own predicate pushdown.)
 */
object Movable {

  def apply(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: PythonUDF          => true
    case s: SubqueryExpression => s.children.nonEmpty
    case other                 => fails(other)
  }

  /** Evaluating it on more rows than written costs little: none of the user's own code. */
  def cheap(e: Expression): Boolean = !e.exists(_.isInstanceOf[UserDefinedExpression])

  private def fails(e: Expression): Boolean = e match {
    case d: DivModLike   => SQLConf.get.ansiEnabled && !d.right.foldable
    case c: Cast         => c.evalMode == EvalMode.ANSI && narrows(c.child.dataType, c.dataType)
    case g: GetArrayItem => g.failOnError
    case m: ElementAt    => m.failOnError
    case _: RaiseError   => true
    case _               => false
  }

  private def narrows(from: DataType, to: DataType): Boolean = from match {
    case _: StringType  => !to.isInstanceOf[StringType]
    case _: NumericType => to.isInstanceOf[NumericType] && !Cast.canUpCast(from, to)
    case _              => false
  }
}
