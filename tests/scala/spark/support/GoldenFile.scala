package org.apache.spark.sql.dovetail

import java.nio.file.{Files, Path, Paths}

/**
 * One case of a golden file, in the form of CockroachDB's data-driven tests:
 *
 * {{{
 * # comments
 * command argument key=value
 * input, up to a line of four dashes
 * ----
 * expected output, up to an empty line
 * }}}
 */
final case class GoldenCase(
    comments: Vector[String],
    command: String,
    arguments: Vector[String],
    input: Vector[String],
    expected: Vector[String],
    line: Int
) {
  def render(output: Vector[String]): Vector[String] =
    (comments :+ (command +: arguments).mkString(" ")) ++ input ++ (GoldenFile.Separator +: output)
}

object GoldenFile {
  val Separator = "----"

  /** Whether to write the output into the files as the expected output. */
  val rewriting: Boolean = sys.env.get("DOVETAIL_REWRITE_GOLDEN").contains("1")

  def all(directory: String): Vector[Path] = {
    val files = Files.list(Paths.get("tests", "golden", directory))
    try {
      val found = Vector.newBuilder[Path]
      files.forEach(p => { found += p; () })
      found.result().filter(_.toString.endsWith(".test")).sortBy(_.toString)
    } finally files.close()
  }

  def read(file: Path): Vector[GoldenCase] = {
    val lines = new String(Files.readAllBytes(file), "UTF-8").split("\n", -1).toVector.map(_.replaceAll("\\s+$", ""))
    cases(lines, 1)
  }

  def write(file: Path, cases: Vector[Vector[String]]): Unit = {
    Files.write(file, cases.map(_.mkString("\n")).mkString("", "\n\n", "\n").getBytes("UTF-8"))
    ()
  }

  private def cases(lines: Vector[String], first: Int): Vector[GoldenCase] = {
    val blank = lines.takeWhile(_.isEmpty).size
    if (blank == lines.size) Vector.empty
    else {
      val start            = lines.drop(blank)
      val (comments, rest) = start.span(l => l.startsWith("#") || l.isEmpty)
      val line             = first + blank + comments.size
      require(rest.nonEmpty, s"line $line: comments without a command")
      val words              = rest.head.split("\\s+").toVector
      val (input, separated) = rest.tail.span(_ != Separator)
      require(separated.nonEmpty, s"line $line: '${rest.head}' has no line '$Separator' after its input")
      val (expected, after) = separated.tail.span(_.nonEmpty)
      GoldenCase(comments, words.head, words.tail, input, expected, line) +: cases(
        after,
        line + 1 + input.size + 1 + expected.size
      )
    }
  }
}
