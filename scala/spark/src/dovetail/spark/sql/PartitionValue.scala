package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.base.ErrorCondition.InvalidArgument
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType, StringType}

/** A value that the user gives for a partition column (`PARTITION (column = value)`). */
private[sql] object PartitionValue {

  /** The predicate for the partitions that have this value. */
  def apply(session: SparkSession, text: String, column: Attribute): Expression = {
    val zone                                   = Some(session.sessionState.conf.sessionLocalTimeZone)
    def cast(e: Expression, as: DataType)      = Cast(e, as, zone, EvalMode.TRY)
    def isPossible(c: Cast)                    = c.checkInputDataTypes().isSuccess
    def isReturned(value: Expression, c: Cast) = {
      val back = cast(c, value.dataType)
      !isPossible(back) || EqualNullSafe(back, value).eval() == true
    }

    session.sessionState.sqlParser.parseExpression(text) match {
      case value if !value.foldable || !value.resolved =>
        refuse(text, s"PARTITION takes constants, but ${column.name} = $text is not a constant")
      case value if value.eval() == null => IsNull(column)
      case value                         =>
        val found = cast(value, column.dataType)
        val fits  = isPossible(found) && found.eval() != null && (isRead(value, column) || isReturned(value, found))
        if (!fits) {
          val of = column.dataType.sql
          refuse(text, s"PARTITION: column ${column.name} is $of, and $text (${value.dataType.sql}) is no value of it")
        }
        EqualTo(column, Literal.create(found.eval(), column.dataType))
    }
  }

  /**
   * Whether a cast may change the value: a string has many forms of one value, and a floating-point number is the
   * nearest one.
   */
  private def isRead(value: Expression, column: Attribute): Boolean = (value.dataType, column.dataType) match {
    case (_: StringType, _) | (_, FloatType | DoubleType) => true
    case _                                                => false
  }

  private def refuse(text: String, why: String): Nothing = throw InvalidArgument(
    s"$why. Give a value of the column's type, a string that Spark reads as one, or NULL.",
    "argument" -> text
  )
}
