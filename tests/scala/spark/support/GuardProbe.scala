package dovetail

import org.apache.spark.sql.SparkSessionExtensions

/** Installs Dovetail in `extensions` as if Spark had another version. */
object GuardProbe {
  def apply(extensions: SparkSessionExtensions, version: String): Unit =
    new DovetailExtensions().hook(extensions, version)
}
