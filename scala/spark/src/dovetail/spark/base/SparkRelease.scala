package org.apache.spark.sql.dovetail.base

import org.apache.spark.SPARK_VERSION

/** Tells early releases of a Spark line, which have faults that later ones do not have. */
object SparkRelease {

  /**
   * Whether Spark is a release of this line before the given one.
   *
   * @param line    such as 3.5
   * @param patch   third number of the first release without the fault
   * @param running version of Spark; vendors add more numbers and words to it
   */
  def isBefore(line: String, patch: Int, running: String = SPARK_VERSION): Boolean =
    running.startsWith(s"$line.") && {
      val digits = running.drop(line.length + 1).takeWhile(c => c >= '0' && c <= '9')
      digits.nonEmpty && digits.length < MostDigits && digits.toInt < patch
    }

  /** Digits of a number that need not fit into an Int. */
  private val MostDigits = 9
}
