package org.apache.spark.sql.dovetail.steer

import dovetail.kernel.enumerate.Shape
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.internal.SQLConf

/**
 * Parses join orders in the notation of explain: `((a b) c)`. They come from a hint in the query's text
 * ([[QueryHints]]) or from the setting `spark.dovetail.reorder.order`, and apply to a group with exactly these
 * relations.
 */
object OrderHint {

  /** Candidate orders for a group: first the orders in the query's text, then the order in the setting. */
  def ordersFor(group: JoinGroup, hints: QueryHints, conf: SQLConf): Vector[String] =
    (hints.orders(group) :+ DovetailConf.Order.get(conf)).map(_.trim).filter(_.nonEmpty).distinct

  /**
   * Parses an order over relations with these names, or returns what is wrong with the text. The outermost parentheses
   * may be left out.
   *
   * @param accepted accepted names of each relation; messages use the first one
   */
  def read(text: String, accepted: Vector[Vector[String]]): Either[String, Shape] = {
    val names = accepted.map(_.head)
    new Reader(text, accepted).shape.flatMap { shape =>
      val used = shape.leaves
      if (used.distinct.size < used.size) Left(s"it names ${names(used.diff(used.distinct).head)} twice")
      else if (used.size < names.size)
        Left(s"it leaves out ${names.indices.filterNot(used.contains).map(names).mkString(", ")}")
      else Right(shape)
    }
  }

  /**
   * Parses an order that is written with the numbers of a canonical form, and returns it as an order of the group's
   * relations, or what is wrong with the text.
   */
  def numbered(text: String, order: Vector[Int]): Either[String, Shape] =
    read(text, order.indices.map(i => Vector(i.toString)).toVector).map(renumbered(_, order))

  private def renumbered(shape: Shape, to: Vector[Int]): Shape = shape match {
    case Shape.Leaf(r)    => Shape.Leaf(to(r))
    case Shape.Join(l, r) => Shape.Join(renumbered(l, to), renumbered(r, to))
  }

  /** Redundant parentheses that are allowed around an input. */
  private val Superfluous = 10

  /**
   * A recursive-descent parser. Names may contain parentheses and spaces (`aggregate(a, b)`), so the longest name that
   * matches at a position is taken.
   */
  final private class Reader(text: String, accepted: Vector[Vector[String]]) {
    private val longestFirst =
      accepted.zipWithIndex.flatMap { case (names, i) => names.filter(_.nonEmpty).map(_ -> i) }.sortBy {
        case (name, _) => -name.length
      }
    private var at   = 0
    private var open = 0

    def shape: Either[String, Shape] = joins(closing = false).flatMap(s =>
      if (at < text.length) Left(s"there is unexpected text at the end: '${text.substring(at)}'") else Right(s)
    )

    /** Parses one or more inputs, joined from left to right, up to a closing parenthesis or the end. */
    private def joins(closing: Boolean): Either[String, Shape] = {
      var found = input()
      skip()
      while (found.isRight && at < text.length && text(at) != ')') {
        found = for (l <- found; r <- input()) yield Shape.Join(l, r); skip()
      }
      if (found.isRight && closing && at >= text.length) Left("a bracket is not closed") else found
    }

    private def input(): Either[String, Shape] = {
      skip()
      longestFirst.find { case (name, _) =>
        text.regionMatches(true, at, name, 0, name.length) && ends(at + name.length)
      } match {
        case Some((name, i)) => at += name.length; Right(Shape.Leaf(i))
        case None            =>
          // a pair of parentheses that is not redundant holds at least two inputs; the limit bounds the recursion depth
          if (open > accepted.size + Superfluous) Left("it has more brackets than relations")
          else if (at < text.length && text(at) == '(') {
            at += 1; open += 1; val inner = joins(closing = true); open -= 1; at += 1; inner
          } else {
            val name = text.drop(at).takeWhile(c => !c.isWhitespace && c != ')')
            Left(s"'$name' is not one of ${accepted.map(_.head).mkString(", ")}")
          }
      }
    }

    private def ends(i: Int): Boolean = i >= text.length || text(i).isWhitespace || text(i) == ')' || text(i) == '('
    private def skip(): Unit          = while (at < text.length && text(at).isWhitespace) at += 1
  }
}
