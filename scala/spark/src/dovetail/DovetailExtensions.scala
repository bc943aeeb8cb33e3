package dovetail

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.dovetail.BuildInfo
import org.slf4j.LoggerFactory

/**
 * The class that users name in `spark.sql.extensions`.
 *
 * A jar is built for one Spark line. On another line it switches itself off and logs one line, and Spark goes on
 * without it: this class checks the version before it touches anything that may not exist there. A failure while
 * hooking in must not end the user's session either.
 */
class DovetailExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = hook(extensions, SPARK_VERSION)

  /** @param running version of the running Spark; tests pass other versions */
  private[dovetail] def hook(extensions: SparkSessionExtensions, running: String): Unit = {
    val log = LoggerFactory.getLogger("dovetail")
    if (!running.startsWith(BuildInfo.sparkLine + "."))
      log.error(
        s"Dovetail ${BuildInfo.version} is off: this jar is built for Spark ${BuildInfo.sparkLine}, and this is " +
          s"Spark $running. " +
          "Use the jar of this Spark line (dovetail jar-path)."
      )
    else
      try org.apache.spark.sql.dovetail.Injection(extensions)
      catch {
        case e @ (_: LinkageError | _: Exception) =>
          log.error(s"Dovetail ${BuildInfo.version} is off: it could not be installed in Spark $running: $e", e)
      }
  }
}
