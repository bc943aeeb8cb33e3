package dovetail.kernel.graph

/**
 * The kinds of joins. A right outer join is a left outer one with its sides exchanged, a cross join an inner one
 * without predicates.
 */
sealed abstract class JoinKind(val name: String) {

  /**
   * At most one row comes out per row of the left side, and nothing of the right side but, perhaps, whether there was a
   * partner.
   */
  def testsOnly: Boolean = this == JoinKind.Semi || this == JoinKind.Anti || this == JoinKind.Existence
}

object JoinKind {
  case object Inner     extends JoinKind("inner")
  case object LeftOuter extends JoinKind("left outer")
  case object FullOuter extends JoinKind("full outer")
  case object Semi      extends JoinKind("semi")
  case object Anti      extends JoinKind("anti")

  /**
   * The left side with one more column: whether the row has a partner. A predicate that reads this column reads, for
   * us, the right side.
   */
  case object Existence extends JoinKind("existence")

  val all: Vector[JoinKind] = Vector(Inner, LeftOuter, FullOuter, Semi, Anti, Existence)
}

/**
 * A join that is not inner, as it was written. Its condition stays one piece: unlike that of an inner join it cannot be
 * taken apart, for a row that fails a part of it is not dropped but has no partner.
 *
 * @param left         relations below its left input as written, ascending
 * @param right        relations below its right input as written, ascending
 * @param equalities   what its condition can be hashed or sorted by: pairs of an expression of one relation on the left
 *                     and one on the right, in this order
 * @param reads        all relations that its condition reads, equalities and all, ascending
 * @param selectivity  share of the pairs that the rest of the condition keeps, beyond `equalities`
 * @param rejectsNulls relations for which the condition is not true of a row in which all their columns are NULL
 * @param wideEquality the rest of the condition has an equality between expressions of the two sides that read several
 *                     relations: a hash key as well
 * @param text         the condition, for people
 */
final case class Operator(
    index: Int,
    kind: JoinKind,
    left: Vector[Int],
    right: Vector[Int],
    equalities: Vector[(Member, Member)],
    reads: Vector[Int],
    selectivity: Double,
    rejectsNulls: Vector[Int],
    wideEquality: Boolean,
    text: String
) {
  val relations: Vector[Int] = (left ++ right).sorted

  require(kind != JoinKind.Inner, "inner joins are classes and predicates of the graph, not operators")
  require(
    left.nonEmpty && right.nonEmpty && relations == relations.distinct,
    s"the sides of operator $index overlap or are empty: $left, $right"
  )
  require(
    left == left.sorted && right == right.sorted,
    s"the sides of operator $index are not ascending: $left, $right"
  )
  require(
    reads == reads.distinct.sorted && reads.forall(relations.contains),
    s"operator $index reads $reads and joins $relations"
  )
  require(selectivity >= 0.0 && selectivity <= 1.0, s"selectivity $selectivity of operator $index")
  require(rejectsNulls.forall(reads.contains), s"operator $index rejects NULLs of $rejectsNulls and reads $reads")
  require(
    equalities.forall { case (l, r) =>
      left.contains(l.relation) && right.contains(r.relation) && reads.contains(l.relation) && reads.contains(
        r.relation
      )
    },
    s"an equality of operator $index does not lead from its left to its right side"
  )

  /** There is something to hash or sort by. */
  def equi: Boolean = equalities.nonEmpty || wideEquality
}
