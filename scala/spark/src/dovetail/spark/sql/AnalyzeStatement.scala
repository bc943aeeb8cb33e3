package org.apache.spark.sql.dovetail.sql

import java.util.Locale

/**
 * `DOVETAIL ANALYZE`, taken apart. Names and values are left as text for Spark's own parser.
 *
 * @param kind      TABLE (a table or a view), PATH or DATABASE
 * @param name      as written
 * @param partition column and value, both as written
 */
final case class AnalyzeStatement(
    kind: String,
    name: String,
    partition: Seq[(String, String)],
    columns: Option[Seq[String]],
    groups: Seq[Seq[String]]
) {

  /** Whether it names things that one table has, and another has not. */
  def restricted: Boolean = partition.nonEmpty || columns.nonEmpty || groups.nonEmpty
}

object AnalyzeStatement {

  val Usages: Seq[String] = Seq(
    "DOVETAIL ANALYZE TABLE <table or view> [PARTITION (column = value, …)] [COLUMNS (column, …)] [GROUPS ((column, " +
      "…), …)]",
    "DOVETAIL ANALYZE PATH <format>.`<path>` [COLUMNS …] [GROUPS …]",
    "DOVETAIL ANALYZE DATABASE <database>"
  )

  private val Token   = """`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[(),=]|[^\s(),=`'"]+""".r
  private val Kinds   = Set("TABLE", "PATH", "DATABASE")
  private val Clauses = Seq("PARTITION", "COLUMNS", "GROUPS")

  final private case class Word(text: String, start: Int, end: Int) {
    def is(keyword: String): Boolean = text.equalsIgnoreCase(keyword)
  }

  def apply(text: String): AnalyzeStatement = {
    val words = Token.findAllMatchIn(text).map(m => Word(m.matched, m.start, m.end)).toVector
    val kind  = words.headOption.map(_.text.toUpperCase(Locale.ROOT)).filter(Kinds).getOrElse(wrong(
      text,
      "TABLE, PATH or DATABASE is missing"
    ))
    val named = words.tail.takeWhile(w => !(Clauses.exists(w.is)))
    if (named.isEmpty) wrong(text, s"the name of the ${kind.toLowerCase(Locale.ROOT)} is missing")
    foreign(named).foreach(w => wrong(text, s"${w.text} is not expected there"))
    val rest    = words.drop(1 + named.size)
    val clauses = split(text, rest)
    if (kind == "DATABASE" && clauses.nonEmpty) wrong(text, s"${clauses.head._1} is of one table")
    AnalyzeStatement(
      kind,
      text.substring(named.head.start, named.last.end),
      clauses.collect { case ("PARTITION", body) => items(body).map(partition(text, _)) }.flatten,
      clauses.collectFirst { case ("COLUMNS", body) => items(body).map(column(text, _)) },
      clauses.collect { case ("GROUPS", body) => items(body).map(group(text, _)) }.flatten
    )
  }

  /**
   * The first word that cannot be part of a name: a string or a parenthesis, or one that no dot joins to the word
   * before it.
   */
  private def foreign(named: Vector[Word]): Option[Word] =
    (named.head +: named).zip(named).collectFirst {
      case (before, w)
          if "'\"(),=".contains(
            w.text.head
          ) || (w.start > before.end && !before.text.endsWith(".") && !w.text.startsWith(".")) => w
    }

  /** Every clause with the words between its parentheses. */
  private def split(text: String, words: Vector[Word]): Seq[(String, Vector[Word])] = if (words.isEmpty) Nil
  else {
    val (head, rest) = (words.head, words.tail)
    if (!Clauses.exists(head.is)) wrong(text, s"${head.text} is not expected there")
    if (!rest.headOption.exists(_.is("("))) wrong(text, s"a parenthesis is missing after ${head.text}")
    val close = depths(rest).indexOf(0)
    if (close < 0) wrong(text, s"a parenthesis after ${head.text} is not closed")
    (head.text.toUpperCase(Locale.ROOT), rest.slice(1, close)) +: split(text, rest.drop(close + 1))
  }

  /** How many parentheses are open after each word. */
  private def depths(words: Vector[Word]): Vector[Int] =
    words.scanLeft(0) { case (d, w) => if (w.is("(")) d + 1 else if (w.is(")")) d - 1 else d }.tail

  /** The words between commas that are in no parentheses of their own. */
  private def items(words: Vector[Word]): Seq[Vector[Word]] = {
    val open   = depths(words)
    val commas = words.indices.filter(i => open(i) == 0 && words(i).is(","))
    (-1 +: commas).zip(commas :+ words.size).map { case (from, to) => words.slice(from + 1, to) }
  }

  private def column(text: String, words: Vector[Word]): String = words match {
    case Vector(w) => unquoted(w.text)
    case _         => wrong(text, s"'${words.map(_.text).mkString(" ")}' is not a column's name")
  }

  private def group(text: String, words: Vector[Word]): Seq[String] = words match {
    case open +: inner :+ close if open.is("(") && close.is(")") && inner.size > 2 => items(inner).map(column(text, _))
    case _ => wrong(text, s"a group is two or more columns in parentheses, not '${words.map(_.text).mkString(" ")}'")
  }

  private def partition(text: String, words: Vector[Word]): (String, String) = words match {
    case name +: equals +: value if equals.is("=") && value.nonEmpty =>
      unquoted(name.text) -> text.substring(value.head.start, value.last.end)
    case _ => wrong(text, s"a partition is column = value, not '${words.map(_.text).mkString(" ")}'")
  }

  private def unquoted(name: String): String =
    if (name.startsWith("`")) name.drop(1).dropRight(1).replace("``", "`") else name

  private def wrong(text: String, reason: String): Nothing =
    throw new IllegalArgumentException(s"DOVETAIL ANALYZE $text: $reason. Allowed: ${Usages.mkString(", ")}.")
}
