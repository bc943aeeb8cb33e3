import sbt._
import sbt.VirtualAxis

/**
 * One supported Spark line: a row of project/lines.txt, which explains the columns.
 *
 * The build makes a kernel project and a spark project for each row. `bundleJar` and `bundleJars` put their jars into
 * the Python package.
 */
final case class SparkLine(
    short: String,
    full: String,
    scala: String,
    primary: Boolean,
    fromPyspark: Boolean,
    shims: Seq[String]
) extends VirtualAxis.WeakAxis {
  val idSuffix: String        = "Spark" + short.replace(".", "")
  val directorySuffix: String = "-spark" + short
  val scalaBinary: String     = scala.split('.').take(2).mkString(".")
  // sbt-projectmatrix appends the Scala binary version to a project's name if it is not the default (2.13);
  // tools/line.sh does the same
  val projectSuffix: String = idSuffix + (if (scalaBinary == "2.12") "2_12" else "")

  def jarName(version: String): String = s"dovetail-spark-${short}_$scalaBinary-$version.jar"

  /** The facts about the line that the Python package needs. */
  def json: String = s"""{"line":"$short","spark":"$full","scalaBinary":"$scalaBinary"}"""

  /** Spark's jars of a line that Maven Central does not have: those of pyspark in the line's virtual environment. */
  def pysparkJars(root: File): Seq[File] = {
    val jars = (root / ".venv" / short / "lib" * "python3*" / "site-packages" / "pyspark" / "jars" * "*.jar").get
    if (jars.isEmpty)
      throw new MessageOnlyException(
        s"the jars of Spark $full come from pyspark, and .venv/$short has none. Run `make .venv/$short/ready` first."
      )
    jars
  }
}

object SparkLine {
  private val table = "project/lines.txt"

  /** All rows, oldest line first. */
  val all: Seq[SparkLine] = {
    val rows =
      IO.readLines(file(table)).filterNot(text => text.isEmpty || text.startsWith("#")).map(_.split(" +").toSeq)
    rows.tail.map { cells =>
      require(cells.size == rows.head.size, s"$table: ${rows.head.size} columns are expected in ${cells.mkString(" ")}")
      val row = rows.head.zip(cells).toMap
      SparkLine(
        row("line"),
        row("spark"),
        row("scala"),
        choice(row, "suite", yes = "whole", no = "small"),
        choice(row, "jars", yes = "pyspark", no = "maven"),
        row("shims").split(',').toSeq
      )
    }
  }

  val primary: SparkLine = all.filter(_.primary) match {
    case Seq(line) => line
    case lines     => sys.error(s"$table: one row has the suite `whole`, not ${lines.size}")
  }

  private def choice(row: Map[String, String], column: String, yes: String, no: String): Boolean = {
    require(Set(yes, no)(row(column)), s"$table: $column is $yes or $no, not ${row(column)}")
    row(column) == yes
  }
}
