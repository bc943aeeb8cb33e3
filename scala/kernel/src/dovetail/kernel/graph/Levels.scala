package dovetail.kernel.graph

/**
 * The levels of a graph with operators: which relations may be joined with which by inner joins alone.
 *
 * A side of an operator is closed if what is joined inside of it has to be joined before the operator: the right side
 * of a left outer, semi, anti or existence join, both sides of a full outer join. The level of a relation, or of a
 * place in the written plan, is the innermost closed side around it.
 *
 * The rule for equivalence classes (safe first): `a = b` may be a member of a class if both its relations and the place
 * where it was written are of one level. Such equalities hold for all rows of that level together, whatever order joins
 * them, since left outer, semi, anti and existence joins neither drop nor change what stands on their open side
 * otherwise than by a share of its rows; so what they imply holds as well. An equality that reads the closed side of an
 * operator below it is a [[JoinPredicate]] with a scope, and implies nothing.
 */
final class Levels(operators: Vector[Operator]) {
  // closed sides, innermost first
  private val closed: Vector[(Int, Set[Int])] = operators.flatMap { o =>
    val right = Levels.right(o.index) -> o.right.toSet
    if (o.kind == JoinKind.FullOuter) Vector(Levels.left(o.index) -> o.left.toSet, right) else Vector(right)
  }

  /** The level of a relation, of all relations below a place in the written plan. */
  def levelOf(relations: Iterable[Int]): Int =
    closed.collectFirst { case (level, side) if relations.forall(side) => level }.getOrElse(Levels.Top)

  def levelOf(relation: Int): Int = levelOf(Vector(relation))

  /**
   * A predicate that stood above `scope` and reads `relations` belongs, with all it reads, to one level: it commutes
   * with the operators of that level.
   */
  def pure(relations: Iterable[Int], scope: Iterable[Int]): Boolean = {
    val level = levelOf(scope); relations.forall(levelOf(_) == level)
  }
}

object Levels {

  /** Outside of all closed sides. */
  val Top = -1

  /** The left side of a full outer join. */
  def left(operator: Int): Int = 2 * operator

  def right(operator: Int): Int = 2 * operator + 1
}
