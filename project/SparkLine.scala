import sbt._
import sbt.VirtualAxis

/** One supported Spark line.
  *
  * project/spark-lines.tsv is the only list of Spark lines in this project: the build makes a kernel and a spark row of
  * each, `bundleJars` puts one jar of each into the wheel, and the Makefile, the tests and CI read the same file through
  * tools/line.sh.
  *
  * @param short  Spark minor as users name it, "4.1"
  * @param full   the patch release we compile and test against
  * @param scala  the Scala patch release this Spark was built with: never newer, or the jar asks for methods the runtime
  *               has not
  * @param python the newest pyspark patch release of the line (Python tests)
  * @param maven  whether Maven Central has this Spark; else the jars inside the pyspark package are the class path
  * @param shims  directories under scala/spark/shims
  */
final case class SparkLine(
    short: String,
    full: String,
    scala: String,
    python: String,
    maven: Boolean,
    shims: Seq[String]
) extends VirtualAxis.WeakAxis {
  val idSuffix: String        = "Spark" + short.replace(".", "")
  val directorySuffix: String = "-spark" + short
  val scalaBinary: String     = scala.split('.').take(2).mkString(".")
  // projectmatrix appends the Scala binary version to a row's id only where it is not the matrix's default (2.13)
  val rowSuffix: String = idSuffix + (if (scalaBinary == "2.12") "2_12" else "")

  def jarName(version: String): String = s"dovetail-spark-${short}_$scalaBinary-$version.jar"
  def json: String =
    s"""{"line":"$short","spark":"$full","scala":"$scala","scalaBinary":"$scalaBinary",""" +
      s""""pyspark":"$python","id":"spark$rowSuffix"}"""

  /** Spark's jars inside the pyspark package of this line's virtual environment (`make .venv/4.3/ready`). */
  def pysparkJars(root: File): Seq[File] = {
    val found = (root / ".venv" / short / "lib" * "python3*" / "site-packages" / "pyspark" / "jars" * "*.jar").get
    if (found.isEmpty)
      sys.error(s"Spark $short is compiled against the jars of pyspark $python: run make .venv/$short/ready first")
    // sbt brings Scala's own
    found.filterNot(jar => SparkLine.Scala.exists(name => jar.getName.startsWith(name)))
  }
}

object SparkLine {
  private val Scala = Seq("scala-library-", "scala-compiler-", "scala-reflect-")

  private val rows: Seq[Map[String, String]] = {
    val lines = IO.readLines(file("project/spark-lines.tsv")).filter(_.trim.nonEmpty).map(_.split("\t").toSeq)
    lines.tail.map(lines.head.zip(_).toMap)
  }

  private def line(row: Map[String, String]) =
    SparkLine(
      row("line"),
      row("spark"),
      row("scala"),
      row("pyspark"),
      row("jars") == "maven",
      row("shims").split(",").toSeq
    )

  val all: Seq[SparkLine] = rows.map(line)

  /** The line on which the whole suite runs; the others run rules, answers and Python. */
  val primary: SparkLine = line(rows.find(_("role") == "primary").get)
}
