package org.apache.spark.sql.dovetail

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.zip.ZipFile

/**
 * Join orders of TPC-DS, with the query texts of Spark's own tests and injected statistics of scale 1.
 *
 * `order <query> [key=value …]` prints for each group of three or more joined inputs what was done with it, its inputs,
 * its operators with their conflict rules, and the order that was chosen or kept. The query texts are in Spark's tests
 * jar. The build passes the jar on the primary line only, and keeps it off the class path, because it registers its own
 * data sources.
 */
class TpcdsGoldenSuite extends GoldenSuite("tpcds") {

  override protected def commands: Seq[String] = Seq("order")

  override protected def runs: Boolean = TpcdsGoldenSuite.jar.isDefined

  override protected def output(file: Path, c: GoldenCase): Option[Vector[String]] = c.command match {
    case "order" =>
      // as Spark 4 runs them
      val settings    = Map("spark.sql.ansi.enabled" -> "true") ++ keyValues(c.arguments.tail)
      val (_, groups) = planned(TpcdsGoldenSuite.text(c.arguments.head), settings)
      Some(groups.flatMap(describe))
    case _ => None
  }

  private def describe(p: PlannedGroup): Vector[String] = {
    val inputs = p.report.relations.zipWithIndex.map { case (r, i) => s"${letter(i)} ${r.name}" }
    val order  = p.report.after.orElse(p.report.before).map(t => s"  ${short(p.report, t.order)}")
    Vector(verdict(p.report), inputs.mkString("  ", ", ", "")) ++ operators(p) ++ order
  }
}

object TpcdsGoldenSuite {

  /** Path of Spark's tests jar, which build.sbt passes. */
  lazy val jar: Option[String] = sys.props.get("dovetail.spark.tests")

  private def text(query: String): String = {
    val zip = new ZipFile(jar.get)
    try {
      val entry = Option(zip.getEntry(s"tpcds/$query.sql")).getOrElse(
        throw new IllegalArgumentException(
          s"Spark's tests have no query '$query': q1 to q99, with q14a, q14b and so on"
        )
      )
      new String(zip.getInputStream(entry).readAllBytes(), UTF_8)
    } finally zip.close()
  }
}
