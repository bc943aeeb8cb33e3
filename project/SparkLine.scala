import sbt._
import sbt.VirtualAxis

/** One supported Spark line.
  *
  * [[SparkLine.all]] is the only list of Spark lines in this project: the build makes a kernel and a spark row of each,
  * `bundleJars` puts one jar of each into the wheel, and the `sparkLines` task prints the list as JSON for the wheel
  * build, the tests and CI.
  *
  * @param short  Spark minor as users name it, "4.1"
  * @param full   the patch release we compile and test against
  * @param scala  the Scala patch release this Spark was built with: never newer, or the jar asks for methods the
  *               runtime has not
  * @param python the newest pyspark patch release of the line (Python tests)
  * @param shims  directories under scala/spark/shims
  */
final case class SparkLine(short: String, full: String, scala: String, python: String, shims: Seq[String])
    extends VirtualAxis.WeakAxis {
  val idSuffix: String        = "Spark" + short.replace(".", "")
  val directorySuffix: String = "-spark" + short
  val scalaBinary: String     = scala.split('.').take(2).mkString(".")
  // projectmatrix appends the Scala binary version to a row's id only where it is not the matrix's default (2.13)
  val rowSuffix: String = idSuffix + (if (scalaBinary == "2.12") "2_12" else "")

  def jarName(version: String): String = s"dovetail-spark-${short}_$scalaBinary-$version.jar"
  def json: String                     =
    s"""{"line":"$short","spark":"$full","scala":"$scala","scalaBinary":"$scalaBinary",""" +
      s""""pyspark":"$python","id":"spark$rowSuffix"}"""
}

object SparkLine {
  val all: Seq[SparkLine] = Seq(
    SparkLine("3.5", "3.5.9", "2.12.18", "3.5.9", Seq("spark-3")),
    SparkLine("4.0", "4.0.4", "2.13.16", "4.0.4", Seq("spark-4")),
    SparkLine("4.1", "4.1.3", "2.13.17", "4.1.4", Seq("spark-4")),
    SparkLine("4.2", "4.2.0", "2.13.18", "4.2.1", Seq("spark-4"))
  )

  /** The line on which the whole suite runs; the others run rules, answers and Python. */
  val primary: SparkLine = all.find(_.short == "4.1").get
}
