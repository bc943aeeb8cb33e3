package org.apache.spark.sql.dovetail.base

import org.apache.spark.SparkThrowable

/** The name of an error condition, under the method name of Spark 4. */
private[base] trait ConditionName extends SparkThrowable {
  def condition: ErrorCondition

  def getCondition: String = condition.name
}
