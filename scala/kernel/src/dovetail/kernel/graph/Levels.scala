package dovetail.kernel.graph

import scala.collection.immutable.BitSet

/**
 * The levels of a graph with operators: they tell which relations inner joins alone may join with each other.
 *
 * A side of an operator is closed if the joins inside it must run before the operator: the right side of a left outer,
 * semi, anti or existence join, and both sides of a full outer join. The level of a relation, or of a place in the
 * written plan, is the innermost closed side around it.
 *
 * The rule for equivalence classes (safe first): `a = b` may be a member of a class if both its relations and the place
 * where it was written have the same level. Such equalities hold together for all rows of that level, in every join
 * order, because left outer, semi, anti and existence joins do not change the rows of their open side; they only keep a
 * share of them. So the equalities that they imply hold as well. An equality that reads the closed side of an operator
 * below it is a [[JoinPredicate]] with a scope, and implies nothing.
 */
final class Levels(operators: Vector[Operator]) {

  /** The closed sides of each operator, with their levels. */
  val closedSides: Vector[Vector[(Int, BitSet)]] = operators.map { o =>
    val right = Levels.right(o.index) -> BitSet(o.right: _*)
    if (o.kind == JoinKind.FullOuter) Vector(Levels.left(o.index) -> BitSet(o.left: _*), right) else Vector(right)
  }

  // innermost first
  private val closed = closedSides.flatten

  /** The level of a place in the written plan with these relations below it. */
  def levelOf(relations: Iterable[Int]): Int = {
    val place = BitSet(relations.toSeq: _*)
    closed.collectFirst { case (level, side) if Words.within(place, side) => level }.getOrElse(Levels.Top)
  }

  def levelOf(relation: Int): Int =
    closed.collectFirst { case (level, side) if side(relation) => level }.getOrElse(Levels.Top)

  /** Whether a relation is outside all closed sides. */
  def isTop(relation: Int): Boolean = levelOf(relation) == Levels.Top

  /**
   * Whether a predicate above `scope` and all `relations` that it reads have the same level. If so, the predicate
   * commutes with the operators of that level.
   */
  def pure(relations: Iterable[Int], scope: Iterable[Int]): Boolean = {
    val level = levelOf(scope); relations.forall(levelOf(_) == level)
  }
}

object Levels {

  /** The level outside all closed sides. */
  val Top = -1

  /** The level of the left side of a full outer join. */
  def left(operator: Int): Int = 2 * operator

  def right(operator: Int): Int = 2 * operator + 1
}
