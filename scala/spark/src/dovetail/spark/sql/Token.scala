package org.apache.spark.sql.dovetail.sql

import scala.collection.mutable

import org.antlr.v4.runtime.misc.Interval
import org.antlr.v4.runtime.{CharStream, CharStreams, CodePointCharStream, Token => SqlToken}
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer

/**
 * A token of SQL text, from Spark's own lexer. So comments, quotes and escapes have the same meaning in a DOVETAIL
 * statement as in a query.
 *
 * @param start offset of the first character in the text
 * @param end   offset behind the last character
 */
final case class Token(text: String, start: Int, end: Int, source: SqlToken) {
  def is(keyword: String): Boolean = text.equalsIgnoreCase(keyword)

  /** A string literal: 'a', "a", r'a'. */
  def isString: Boolean = {
    val quote = if (text.length > 2 && (text.head == 'r' || text.head == 'R')) text(1) else text.head
    quote == '\'' || quote == '"'
  }

  /** Whether the token ends a name. Spark's parser for names decides whether the name itself is valid. */
  def isSeparator: Boolean = text.length == 1 && "(),=;".contains(text.head)

  def isEnd: Boolean = source.getType == SqlToken.EOF
}

object Token {

  /** All tokens of the text except white space and comments. The last token is the end of the text. */
  def all(text: String): Vector[Token] = {
    val tokens = read(text)
    val found  = new mutable.ArrayBuffer[Token]
    while (found.isEmpty || !found.last.isEnd) found += tokens.next()
    found.toVector
  }

  /** The first token of the text. The rest is not read. */
  def first(text: String): Token = read(text).next()

  private def read(text: String): Iterator[Token] = {
    val lexer = new SqlBaseLexer(new UpperCase(CharStreams.fromString(text)))
    lexer.removeErrorListeners()
    val offsets = new Offsets(text)
    Iterator.continually(lexer.nextToken()).filter(_.getChannel == SqlToken.DEFAULT_CHANNEL).map { token =>
      if (token.getType == SqlToken.EOF) Token("end of the statement", text.length, text.length, token)
      else Token(token.getText, offsets(token.getStartIndex), offsets(token.getStopIndex + 1), token)
    }
  }

  /**
   * Offsets of code points in a text. ANTLR counts code points, but Java strings count UTF-16 units. Each offset is
   * found from the one before it, so that a long text is read once.
   */
  final private class Offsets(text: String) {
    private var (points, units) = (0, 0)

    def apply(point: Int): Int = {
      units = text.offsetByCodePoints(units, point - points)
      points = point
      units
    }
  }

  /**
   * Converts the text to upper case for Spark's lexer, which expects keywords so. Spark's own class for this is
   * private.
   */
  final private class UpperCase(text: CodePointCharStream) extends CharStream {
    override def LA(i: Int): Int = {
      val c = text.LA(i)
      if (c <= 0) c else Character.toUpperCase(c)
    }

    override def getText(interval: Interval): String = if (size > 0) text.getText(interval) else ""
    override def consume(): Unit                     = text.consume()
    override def getSourceName: String               = text.getSourceName
    override def index: Int                          = text.index
    override def mark: Int                           = text.mark
    override def release(marker: Int): Unit          = text.release(marker)
    override def seek(where: Int): Unit              = text.seek(where)
    override def size: Int                           = text.size
  }
}
