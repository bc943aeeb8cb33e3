package dovetail

import org.apache.spark.sql.SparkSessionExtensions

/** Hooks Dovetail into `extensions` as if Spark were of another version. */
object GuardProbe {
  def apply(extensions: SparkSessionExtensions, version: String): Unit =
    new DovetailExtensions().hook(extensions, version)
}
