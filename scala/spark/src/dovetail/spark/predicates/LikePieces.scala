package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.trees.TreePattern.LIKE_FAMLIY
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The texts between the wildcards of a LIKE pattern. A text that matches `a%b%c` begins with a, contains b and ends
 * with c. Spark matches a pattern of several such pieces by a regular expression, which takes many times as long as a
 * search for the pieces. Most rows that do not match lack one of them. So `plan.PredicateOrder` puts a test for each
 * piece before the LIKE, which stays: it alone knows the order of the pieces, and that they do not overlap.
 *
 * A test is NULL for the same rows as the LIKE, and true for all rows for which the LIKE is true. So `tests AND LIKE`
 * has the same value as the LIKE for every row, also below NOT and OR.
 */
object LikePieces {

  /** The kind of a test, its column and its text. */
  final private case class Piece(kind: Class[_], column: ExprId, text: UTF8String)

  /**
   * The predicate, with the tests that are missing before each LIKE. A second call changes nothing.
   *
   * @param searchable whether tests of a column may be added
   */
  def tested(predicate: Expression, searchable: Attribute => Boolean): Expression =
    if (!predicate.containsPattern(LIKE_FAMLIY)) predicate
    else {
      val adding = new Adding(searchable)
      val result = adding(predicate, Set.empty)
      if (adding.added > MostTests) predicate else result
    }

  /**
   * The predicate without tests that a LIKE beside them implies. Estimates and texts of predicates come out as if the
   * tests had not been added: a subquery has them before the query around it is planned, and so has a cached plan.
   */
  def untested(predicate: Expression): Expression = predicate match {
    case _ if !predicate.containsPattern(LIKE_FAMLIY) => predicate
    case _: And                                       => others(Conjuncts(predicate), predicate)(ifTrue)(And(_, _))
    case _: Or                                        => others(Disjuncts(predicate), predicate)(ifFalse)(Or(_, _))
    case Not(c) => val inner = untested(c); if (inner eq c) predicate else Not(inner)
    case other  => other
  }

  /**
   * The parts of a chain without the tests that other parts imply.
   *
   * @param facts what is true if the part does not decide the value of the chain
   */
  private def others(parts: Vector[Expression], whole: Expression)(facts: Expression => Vector[Expression])(
      joined: (Expression, Expression) => Expression
  ): Expression = {
    val implied                     = parts.flatMap(facts(_)).flatMap(implies).toSet
    def isImplied(part: Expression) = facts(part) match {
      case Vector(test) => piece(test).exists(implied)
      case _            => false
    }
    val result = (if (implied.isEmpty) parts else parts.filterNot(isImplied)).map(untested)
    if (result.corresponds(parts)(_ eq _)) whole else result.reduceLeft(joined)
  }

  /** What is true if a part of an AND is. */
  private def ifTrue(part: Expression): Vector[Expression] = Conjuncts(part)

  /** What is true if a part of an OR is false, as far as it consists of NOTs. */
  private def ifFalse(part: Expression): Vector[Expression] = Disjuncts(part).flatMap {
    case Not(c) => Conjuncts(c)
    case _      => Vector.empty
  }

  /** The pieces that a text has for certain if the predicate is true because of a LIKE. */
  private def implies(e: Expression): Set[Piece] = e match {
    case _ if !e.containsPattern(LIKE_FAMLIY) => Set.empty
    case l: Like                              => tests(l).map(_._1).toSet
    case And(l, r)                            => implies(l) ++ implies(r)
    case Or(l, r)                             => implies(l) & implies(r)
    case _                                    => Set.empty
  }

  private def piece(e: Expression): Option[Piece] = e match {
    case StartsWith(a: Attribute, Literal(text: UTF8String, _)) => Some(Piece(classOf[StartsWith], a.exprId, text))
    case EndsWith(a: Attribute, Literal(text: UTF8String, _))   => Some(Piece(classOf[EndsWith], a.exprId, text))
    case Contains(a: Attribute, Literal(text: UTF8String, _))   => Some(Piece(classOf[Contains], a.exprId, text))
    case _                                                      => None
  }

  final private class Adding(searchable: Attribute => Boolean) {
    var added = 0

    /** @param known pieces that are tested before: the predicate is not evaluated for a text without them */
    def apply(e: Expression, known: Set[Piece]): Expression = e match {
      case _: And  => inChain(Conjuncts(e), e, known)(ifTrue)(And(_, _))
      case _: Or   => inChain(Disjuncts(e), e, known)(ifFalse)(Or(_, _))
      case Not(c)  => negated(e, c, apply(c, known))
      case l: Like =>
        val missing = tests(l).collect { case (piece, test) if !known(piece) && isSearchable(l) => test }
        added += missing.size
        (missing :+ l).reduceLeft(And(_, _))
      case other => other
    }

    /** NOT (a AND b) as NOT a OR NOT b, as Spark would write it in several steps. */
    private def negated(whole: Expression, operand: Expression, changed: Expression): Expression = changed match {
      case same if same eq operand => whole
      case _: And                  => Conjuncts(changed).map(Not(_): Expression).reduceLeft(Or(_, _))
      case _                       => Not(changed)
    }

    private def isSearchable(l: Like): Boolean = l.left match {
      case a: Attribute => searchable(a)
      case _            => false
    }

    private def inChain(parts: Vector[Expression], whole: Expression, known: Set[Piece])(
        facts: Expression => Vector[Expression]
    )(joined: (Expression, Expression) => Expression): Expression = {
      val (_, result) = parts.foldLeft((known, Vector.empty[Expression])) { case ((before, done), part) =>
        val next = apply(part, before)
        (before ++ facts(next).flatMap(piece(_)), done :+ next)
      }
      if (result.corresponds(parts)(_ eq _)) whole else result.reduceLeft(joined)
    }
  }

  /**
   * The tests of a LIKE: none unless it compares a column without a collation with a constant of at least two pieces.
   * Spark itself replaces a LIKE of one piece. A pattern with `_` or with the escape character stays as it is. So does
   * one with the character that Spark's regular expressions see in place of bytes that are no text.
   */
  private def tests(l: Like): Vector[(Piece, Expression)] = (l.left, l.right) match {
    case (column: Attribute, Literal(pattern: UTF8String, t)) if column.dataType == StringType && t == StringType =>
      val text = pattern.toString
      if (text.exists(c => c == '_' || c == l.escapeChar || c == NoText)) Vector.empty
      else {
        val parts                     = text.split("%", -1).toVector
        def literal(part: String)     = Literal(UTF8String.fromString(part), StringType)
        def only(part: String)        = Some(part).filter(_.nonEmpty).toVector
        val found: Vector[Expression] =
          if (parts.count(_.nonEmpty) < 2) Vector.empty
          else
            only(parts.head).map(p => StartsWith(column, literal(p))) ++
              parts.tail.init.flatMap(only).map(p => Contains(column, literal(p))) ++
              only(parts.last).map(p => EndsWith(column, literal(p)))
        found.flatMap(test => piece(test).map(_ -> test)).distinct
      }
    case _ => Vector.empty
  }

  /** U+FFFD, by which Java replaces bytes that are no text. */
  private val NoText = '\uFFFD'

  /**
   * Most tests that are added to one filter. Programs make filters of many patterns. Java compiles no method above 8,000
   * bytes of code, and all conditions of a filter are in one method; a test takes about 50 bytes.
   */
  private val MostTests = 32
}
