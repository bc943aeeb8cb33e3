package org.apache.spark.sql.dovetail.base

/** Nanoseconds, in which the JVM and Spark measure time, in the fractional units that reports show. */
object Nanoseconds {
  val PerMilli = 1e6

  private val PerSecond = 1e9

  def toMillis(nanos: Long): Double  = nanos.toDouble / PerMilli
  def toSeconds(nanos: Long): Double = nanos.toDouble / PerSecond
}
