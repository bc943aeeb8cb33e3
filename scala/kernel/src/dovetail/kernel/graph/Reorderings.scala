package dovetail.kernel.graph

/**
 * The tables that tell which two joins may change places, as data: tables 2 and 3 of Moerkotte, Fender and Eich, "On
 * the Correct and Complete Enumeration of the Core Search Space", SIGMOD 2013, with one more row and column for
 * existence joins.
 *
 * A row is the first join, a column the second, both in the order of [[JoinKind.all]] (inner, left outer, full outer,
 * semi, anti, existence):
 *
 *  - `y` and `n`: always, never
 *  - `a`, `b`, `c`: if the predicate of the first join, of the second join, or of both joins rejects NULLs of the input
 *    that both joins read
 *
 * A predicate rejects the NULLs of an input if it is not true for a row in which all columns of that input are NULL.
 */
object Reorderings {

  /** `(e1 a e2) b e3 = e1 a (e2 b e3)`, where `b` reads e2 and e3; both read e2. */
  val Assoc: Vector[String] = Vector(
    "yynyyy", // inner
    "nbnnnn", // left outer
    "nbcnnn", // full outer
    "nnnnnn", // semi
    "nnnnnn", // anti
    "nnnnnn"  // existence
  )

  /** `(e1 a e2) b e3 = (e1 b e3) a e2`, where `b` reads e1 and e3; both read e1. */
  val LeftAsscom: Vector[String] = Vector(
    "yynyyy", // inner
    "yyayyy", // left outer
    "nbcnnn", // full outer
    "yynyyy", // semi
    "yynyyy", // anti
    "yynyyy"  // existence
  )

  /** `e1 a (e2 b e3) = e2 b (e1 a e3)`, where `a` reads e1 and e3; both read e3. */
  val RightAsscom: Vector[String] = Vector(
    "ynnnnn", // inner
    "nnnnnn", // left outer
    "nncnnn", // full outer
    "nnnnnn", // semi
    "nnnnnn", // anti
    "nnnnnn"  // existence
  )

  /**
   * Whether a table lets two joins change places. The predicates may reject NULLs of the input that both of them read.
   */
  def holds(
      table: Vector[String],
      first: JoinKind,
      second: JoinKind,
      firstRejects: Boolean,
      secondRejects: Boolean
  ): Boolean =
    entry(table, first, second) match {
      case 'y' => true
      case 'n' => false
      case 'a' => firstRejects
      case 'b' => secondRejects
      case 'c' => firstRejects && secondRejects
    }

  def entry(table: Vector[String], first: JoinKind, second: JoinKind): Char =
    table(JoinKind.all.indexOf(first))(JoinKind.all.indexOf(second))
}
