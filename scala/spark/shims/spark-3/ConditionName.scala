package org.apache.spark.sql.dovetail.base

import org.apache.spark.SparkThrowable

/** Spark 3.5 calls the name of an error condition its error class. */
private[base] trait ConditionName extends SparkThrowable {
  def condition: ErrorCondition

  def getErrorClass: String = condition.name
}
