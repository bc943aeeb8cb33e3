package org.apache.spark.sql.dovetail

import org.apache.spark.sql.SparkSession

/**
 * A session with the settings, views and listeners of another one. Spark makes such a copy for each streaming query.
 */
object SessionCopy {

  /** Uses reflection, because the method is in `SparkSession` up to Spark 3.5, and in the classic session later. */
  def apply(session: SparkSession): SparkSession = {
    val method = session.getClass.getMethods.find(_.getName == "cloneSession").get
    method.invoke(session).asInstanceOf[SparkSession]
  }
}
