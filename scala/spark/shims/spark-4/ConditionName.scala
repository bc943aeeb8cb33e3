package org.apache.spark.sql.dovetail.base

import org.apache.spark.SparkThrowable

/** The name of an error condition, as Spark 4 asks for it. */
private[base] trait ConditionName extends SparkThrowable {
  def condition: ErrorCondition

  def getCondition: String = condition.name
}
