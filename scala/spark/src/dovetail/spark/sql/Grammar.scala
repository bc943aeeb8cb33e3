package org.apache.spark.sql.dovetail.sql

import java.util.Locale

import scala.util.parsing.combinator.Parsers
import scala.util.parsing.input.{Position, Reader}

import org.antlr.v4.runtime.ParserRuleContext
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.dovetail.leaf.GivenRows.{OfQuery, OfTable, Subject}
import org.apache.spark.sql.dovetail.sql.Statement._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The grammar of all DOVETAIL statements. It reads tokens of Spark's lexer and returns a [[Statement]], or throws
 * Spark's ParseException with the position of the first token that is not allowed. Queries and names remain text.
 *
 * @param text    text of the whole statement
 * @param spark   the session's parser, which evaluates string literals under the session's settings
 */
final private class Grammar(text: String, spark: ParserInterface) extends Parsers {
  override type Elem = Token

  private def statement: Parser[Statement] =
    keyword("DOVETAIL") ~> (analyze | profile | calibrate | steer | help | unknown) <~ opt(sign(";")) <~ end

  private def analyze: Parser[Statement] =
    keyword("ANALYZE") ~>! (
      keyword("TABLE") ~>! ofTable("TABLE") | keyword("PATH") ~>! ofTable("PATH") |
        keyword("DATABASE") ~>! name ^^ (n => Analyze("DATABASE", n, Nil, None, Nil)) |
        err("expected TABLE, PATH or DATABASE")
    )

  /** A name and clauses in any order. */
  private def ofTable(kind: String): Parser[Statement] = name ~ rep(clause) ^^ { case name ~ clauses =>
    clauses.foldLeft(Analyze(kind, name, Nil, None, Nil))((statement, add) => add(statement))
  }

  private def clause: Parser[Analyze => Analyze] =
    keyword("PARTITION") ~>! list(partition) ^^ (ps => (a: Analyze) => a.copy(partition = a.partition ++ ps)) |
      keyword("COLUMNS") ~>! list(column) ^^ (cs =>
        (a: Analyze) => a.copy(columns = Some(a.columns.getOrElse(Nil) ++ cs))
      ) |
      keyword("GROUPS") ~>! list(group) ^^ (gs => (a: Analyze) => a.copy(groups = a.groups ++ gs))

  private def partition: Parser[(String, String)] = column ~ (sign("=") ~>! value) ^^ { case name ~ v => name -> v }

  private def group: Parser[Seq[String]] =
    list(column).filter(_.size > 1).withFailureMessage("expected a group: two or more columns in parentheses")

  private def profile: Parser[Statement] = keyword("PROFILE") ~>! query ^^ Profile

  private def calibrate: Parser[Statement] =
    keyword("CALIBRATE") ~>! opt(
      keyword("RESET") ^^^ Calibrate(None) | number <~ keyword("ROWS") ^^ (n => Calibrate(Some(n)))
    ) ^^ (_.getOrElse(CalibrateCommand.Default))

  private def steer: Parser[Statement] =
    keyword("SET") ~>! (keyword("ROWS") ~> number) ~ target ^^ { case rows ~ of => SetRows(rows, of) } |
      keyword("FORGET") ~>! (
        keyword("FAILURES") ^^^ ForgetFailures | keyword("ROWS") ~>! opt(target) ^^ ForgetRows |
          keyword("HISTORY") ~>! opt(target) ^^ ForgetHistory | err("expected FAILURES, HISTORY or ROWS")
      ) |
      keyword("CLEAR") ~>! keyword("CACHES") ^^^ ClearCaches |
      keyword("SAVE") ~>! (
        keyword("PINS") ~>! string ^^ SavePins | keyword("ROWS") ~>! string ^^ SaveRows |
          keyword("HISTORY") ~>! string ^^ SaveHistory | err("expected HISTORY, PINS or ROWS")
      ) |
      keyword("LOAD") ~>! (
        keyword("PINS") ~>! string ^^ LoadPins | keyword("ROWS") ~>! string ^^ LoadRows |
          keyword("HISTORY") ~>! string ^^ LoadHistory | err("expected HISTORY, PINS or ROWS")
      ) |
      keyword("PIN") ~>! pinName ~ opt(keyword("AS") ~>! string) ~ (keyword("FOR") ~>! query) ^^ {
        case name ~ order ~ query => MakePin(name, order, query)
      } |
      keyword("UNPIN") ~>! pinName ^^ RemovePin

  private def help: Parser[Statement] = keyword("HELP") ~>! opt(word) ^^ (w => Help(w.map(_.text)))

  private def unknown: Parser[Statement] = Parser { in =>
    val nearest = Grammar.nearest(in.first.text).fold("")(v => s" (did you mean $v?)")
    Error(s"expected ${Verbs.init.mkString(", ")} or ${Verbs.last}$nearest", in)
  }

  private def target: Parser[Subject] =
    keyword("FOR") ~>! (keyword("TABLE") ~>! name ^^ OfTable | query ^^ OfQuery)

  /** A query: the rest of the statement, or the contents of a string literal if the rest is one literal. */
  private def query: Parser[String] =
    string <~ guard(opt(sign(";")) ~ end) | acceptIf(t => !t.isEnd && !t.is(";"))(_ => "expected a query") ~
      rep(acceptIf(!_.isEnd)(_ => "")) ^^ { case first ~ rest =>
        val all = (first +: rest).reverse.dropWhile(_.is(";")).reverse
        text.substring(first.start, all.last.end)
      }

  /** Name of a table, view or database: all tokens that are joined by dots or not separated by white space. */
  private def name: Parser[String] = words("a name")

  private def column: Parser[String]  = words("the name of a column") ^^ unquoted
  private def pinName: Parser[String] = words("the name of a pin") ^^ unquoted

  private def unquoted(name: String): String =
    if (name.startsWith("`")) name.drop(1).dropRight(1).replace("``", "`") else name

  private def words(what: String): Parser[String] = taken(what) { tokens =>
    val joined = tokens.zip(tokens.head +: tokens).takeWhile { case (t, before) =>
      !t.isSeparator && !t.isString && (t.start <= before.end || t.is(".") || before.is("."))
    }
    joined.size
  }

  /** A constant, as written, up to the comma or closing parenthesis after it. */
  private def value: Parser[String] = taken("a value") { tokens =>
    val depths = tokens.scanLeft(0)((d, t) => if (t.is("(")) d + 1 else if (t.is(")")) d - 1 else d).tail
    tokens.zip(depths).takeWhile { case (t, d) => d >= 0 && !(d == 0 && t.is(",")) }.size
  }

  /**
   * The text of the next tokens.
   *
   * @param what  what is expected, for the error message
   * @param count how many of the tokens before the end of the statement to take; 0 is an error
   */
  private def taken(what: String)(count: Vector[Token] => Int): Parser[String] = Parser {
    case in: Grammar.Tokens =>
      val before = in.tokens.init
      val n      = if (before.isEmpty) 0 else count(before)
      if (n == 0) Failure(s"expected $what", in)
      else Success(text.substring(before.head.start, before(n - 1).end), in.drop(n))
    case in => Failure(s"expected $what", in)
  }

  private def string: Parser[String] =
    rep1(acceptIf(_.isString)(_ => "expected a string")) ^^ { literals =>
      // adjacent literals are concatenated, as in a query
      spark.parseExpression(literals.map(_.text).mkString(" ")).eval().toString
    }

  private def number: Parser[Long] =
    acceptIf(t => t.text.forall(_.isDigit))(_ => "expected a whole number") >> { t =>
      if (t.text.length <= Grammar.Digits) success(t.text.toLong) else err(s"expected at most ${Grammar.Digits} digits")
    }

  private def word: Parser[Token] = acceptIf(!_.isEnd)(_ => "expected a word")

  private def keyword(k: String): Parser[Token] = acceptIf(_.is(k))(_ => s"expected $k")

  private def sign(s: String): Parser[Token] = acceptIf(_.is(s))(_ => s"expected '$s'")

  private def list[A](item: Parser[A]): Parser[List[A]] = sign("(") ~>! rep1sep(item, sign(",")) <~ sign(")")

  private def end: Parser[Token] = acceptIf(_.isEnd)(_ => "expected the end of the statement")

  def read(): Statement = statement(new Grammar.Tokens(Token.all(text))) match {
    case Success(found, _)       => found
    case Failure(expected, next) => wrong(expected, next.first)
    case Error(expected, next)   => wrong(expected, next.first)
  }

  private def wrong(expected: String, at: Token): Nothing = {
    val context = new ParserRuleContext
    context.start = at.source
    context.stop = at.source
    val verb    = Token.all(text).lift(1).fold("")(_.text)
    val allowed = Forms.filter(_.verb.equalsIgnoreCase(verb)).map(_.usage)
    val hint    = if (allowed.isEmpty) "DOVETAIL HELP lists all statements" else s"Allowed: ${allowed.mkString("; ")}"
    val near    = if (at.isEnd) at.text else s"'${at.text}'"
    throw new ParseException("PARSE_SYNTAX_ERROR", Map("error" -> near, "hint" -> s": $expected. $hint"), context)
  }
}

object Grammar {

  /** @throws ParseException with the position of the first token that is not allowed */
  def apply(text: String, spark: ParserInterface): Statement = new Grammar(text, spark).read()

  /** Whether the text is a DOVETAIL statement rather than one of Spark's. */
  def isIn(text: String): Boolean = {
    val begin = text.indexWhere(!_.isWhitespace)
    if (begin < 0) false
    else if (text.startsWith("--", begin) || text.startsWith("/*", begin))
      text.toUpperCase(Locale.ROOT).contains(Word) && Token.first(text).is(Word)
    else text.regionMatches(true, begin, Word, 0, Word.length) && {
      val after = text.drop(begin + Word.length).headOption
      after.forall(c => !Character.isJavaIdentifierPart(c) && c != '.')
    }
  }

  private val Word = "DOVETAIL"

  /** Digits that always fit into a Long. */
  private val Digits = 18

  /** Largest edit distance between an unknown word and the verb that is suggested for it. */
  private val Typos = 2

  private def nearest(word: String): Option[String] = {
    val upper = UTF8String.fromString(word.toUpperCase(Locale.ROOT))
    Verbs.map(v => upper.levenshteinDistance(UTF8String.fromString(v)) -> v).filter(_._1 <= Typos).sorted.headOption
      .map(_._2)
  }

  final private class Tokens(val tokens: Vector[Token]) extends Reader[Token] {
    override def first: Token        = tokens.head
    override def rest: Reader[Token] = new Tokens(tokens.tail)
    override def atEnd: Boolean      = tokens.isEmpty
    override def pos: Position       = Place(tokens.headOption.fold(Int.MaxValue - 1)(_.start))
  }

  /** A position in the text. It is only compared, because Spark makes the texts of errors. */
  final private case class Place(offset: Int) extends Position {
    override def line: Int                      = 1
    override def column: Int                    = offset + 1
    override protected def lineContents: String = ""
    override def <(that: Position): Boolean     = column < that.column
  }
}
