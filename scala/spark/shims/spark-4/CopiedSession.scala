package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.SparkSession

/** A session with the settings, views and listeners of another one, as Spark makes it for a streaming query. */
private[dovetail] object CopiedSession {
  def apply(session: SparkSession): SparkSession =
    session.asInstanceOf[org.apache.spark.sql.classic.SparkSession].cloneSession()
}
