package dovetail.kernel.graph

/**
 * The kinds of joins. A right outer join is a left outer join with its sides exchanged, and a cross join is an inner
 * join without predicates.
 */
sealed abstract class JoinKind(val name: String) {

  /**
   * Whether the join returns at most one row per row of the left side and nothing from the right side except, perhaps,
   * whether a partner exists.
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
   * Returns the left side with one more column, which tells whether the row has a partner. We treat a predicate that
   * reads this column as one that reads the right side.
   */
  case object Existence extends JoinKind("existence")

  val all: Vector[JoinKind] = Vector(Inner, LeftOuter, FullOuter, Semi, Anti, Existence)
}

/**
 * A join other than an inner join, as it was written. Unlike the condition of an inner join, its condition cannot be
 * split into conjuncts, because a row that fails one of them is not dropped but has no partner.
 *
 * @param left         relations below its left input as written, ascending
 * @param right        relations below its right input as written, ascending
 * @param equalities   equalities that the join can hash or sort by: pairs of an expression over one left relation and
 *                     an expression over one right relation, in this order
 * @param reads        all relations that the condition reads, including those of the equalities, ascending
 * @param selectivity  share of the pairs that the rest of the condition keeps, beyond `equalities`
 * @param rejectsNulls relations whose NULLs the condition rejects: it is not true if all columns of the relation are
 *                     NULL
 * @param wideEquality whether the rest of the condition has an equality between the two sides whose expressions read
 *                     several relations; such an equality is a hash key as well
 * @param text         text of the condition, for people
 * @param execution    how the engine finds partners
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
    text: String,
    execution: Operator.Execution = Operator.ByKeys
) {
  val relations: Vector[Int] = (left ++ right).sorted

  /** Whether the engine can hash by the equalities; otherwise it sorts by them. */
  def hashable: Boolean = execution != Operator.BySorting

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

  /** Whether there is an equality to hash or sort by. */
  def equi: Boolean = (equalities.nonEmpty || wideEquality) && execution != Operator.ByPairs

  /** Whether the engine broadcasts one side whatever its size, because it has no other way to run the join. */
  def copies: Boolean = !equi || execution == Operator.ByCopy
}

object Operator {

  /** How the engine finds the partners of a row. */
  sealed trait Execution

  /** By hashing or sorting by the equalities; by comparing all pairs if there are none. */
  case object ByKeys extends Execution

  /** By sorting by the equalities: the engine cannot hash the values of one of them. */
  case object BySorting extends Execution

  /** By a hash table of the whole right side, which is always broadcast: a NOT IN of one column. */
  case object ByCopy extends Execution

  /** By comparing all pairs, although there are equalities: a NOT IN of several columns, or below an OR. */
  case object ByPairs extends Execution
}
