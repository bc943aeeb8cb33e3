package org.apache.spark.sql.dovetail

import org.apache.spark.sql.SparkSession

/** A session with the settings, views and listeners of another one, as Spark makes one for each streaming query. */
object SessionCopy {

  /** By reflection: the method is of `SparkSession` up to Spark 3.5, and of the classic one later. */
  def apply(session: SparkSession): SparkSession = {
    val method = session.getClass.getMethods.find(_.getName == "cloneSession").get
    method.invoke(session).asInstanceOf[SparkSession]
  }
}
