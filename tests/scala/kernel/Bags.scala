package dovetail.kernel

import dovetail.kernel.graph.JoinKind

/**
 * Bags of rows, and all kinds of joins between them by their definition, for tests of the search's reorderings. A row
 * holds the values of each of its relations, or NULLs if an outer join found no partner. An existence join adds its
 * flag as a relation of one column.
 */
object Bags {
  type Row = Map[Int, Vector[Option[Int]]]

  /** @param width number of columns of each relation (or flag) in the bag */
  final case class Bag(width: Map[Int, Int], rows: Vector[Row]) {
    def nulls: Row = width.map { case (k, n) => k -> Vector.fill(n)(Option.empty[Int]) }
    def filter(conditions: Iterable[Condition]): Bag = copy(rows = rows.filter(row => conditions.forall(_.isTrue(row))))
    def same(that: Bag): Boolean                     = width == that.width && counts == that.counts
    private def counts                               = rows.groupBy(identity).map { case (r, same) => r -> same.size }
  }

  /** The flag of an existence join. Its number follows from the number of the operator. */
  def flag(operator: Int): Int = 1000 + operator

  def join(kind: JoinKind, operator: Int, left: Bag, right: Bag, on: Iterable[Condition]): Bag = {
    def joins(l: Row, r: Row) = { val both = l ++ r; on.forall(_.isTrue(both)) }
    lazy val pairs            = for (l <- left.rows; r <- right.rows if joins(l, r)) yield l ++ r
    lazy val (with_, without) = left.rows.partition(l => right.rows.exists(joins(l, _)))
    lazy val withoutRight     = right.rows.filterNot(r => left.rows.exists(joins(_, r)))
    val both                  = left.width ++ right.width
    kind match {
      case JoinKind.Inner     => Bag(both, pairs)
      case JoinKind.LeftOuter => Bag(both, pairs ++ without.map(_ ++ right.nulls))
      case JoinKind.FullOuter => Bag(both, pairs ++ without.map(_ ++ right.nulls) ++ withoutRight.map(left.nulls ++ _))
      case JoinKind.Semi      => left.copy(rows = with_)
      case JoinKind.Anti      => left.copy(rows = without)
      case JoinKind.Existence =>
        Bag(
          left.width + (flag(operator) -> 1),
          left.rows.map(l => l + (flag(operator) -> Vector(Some(if (right.rows.exists(joins(l, _))) 1 else 0))))
        )
    }
  }

  /** A column: its relation (or flag), and its number in that relation. */
  final case class Column(of: Int, number: Int) { def in(row: Row): Option[Int] = row(of)(number) }

  /** Conditions with SQL's three-valued logic. */
  sealed trait Condition {
    def truth(row: Row): Option[Boolean]

    /** The relations and flags that the condition reads. */
    def reads: Set[Int]

    /** The relations and flags whose NULLs it rejects: it is never true if all columns of one of them are NULL. */
    def rejects: Set[Int]
    final def isTrue(row: Row): Boolean = truth(row).contains(true)
  }
  final case class Equal(a: Column, b: Column) extends Condition {
    def truth(row: Row): Option[Boolean] = for (x <- a.in(row); y <- b.in(row)) yield x == y
    def reads: Set[Int]                  = Set(a.of, b.of)
    def rejects: Set[Int]                = reads
  }
  final case class NullSafeEqual(a: Column, b: Column) extends Condition {
    def truth(row: Row): Option[Boolean] = Some(a.in(row) == b.in(row))
    def reads: Set[Int]                  = Set(a.of, b.of)
    def rejects: Set[Int]                = Set.empty
  }

  /** `a + … <= limit`, or NULL if one of the columns is NULL. */
  final case class AtMost(sum: Vector[Column], limit: Int) extends Condition {
    def truth(row: Row): Option[Boolean] = {
      val vs = sum.map(_.in(row)); if (vs.forall(_.isDefined)) Some(vs.flatten.sum <= limit) else None
    }
    def reads: Set[Int]   = sum.map(_.of).toSet
    def rejects: Set[Int] = reads
  }

  /** `a + b = c` */
  final case class SumIs(sum: Vector[Column], total: Column) extends Condition {
    def truth(row: Row): Option[Boolean] = {
      val vs = sum.map(_.in(row)); if (vs.forall(_.isDefined)) total.in(row).map(_ == vs.flatten.sum) else None
    }
    def reads: Set[Int]   = sum.map(_.of).toSet + total.of
    def rejects: Set[Int] = reads
  }
  final case class IsNull(a: Column) extends Condition {
    def truth(row: Row): Option[Boolean] = Some(a.in(row).isEmpty)
    def reads: Set[Int]                  = Set(a.of)
    def rejects: Set[Int]                = Set.empty
  }
  final case class Or(a: Condition, b: Condition) extends Condition {
    def truth(row: Row): Option[Boolean] = (a.truth(row), b.truth(row)) match {
      case (Some(true), _) | (_, Some(true)) => Some(true)
      case (Some(false), y)                  => y
      case (x, Some(false))                  => x
      case _                                 => None
    }
    def reads: Set[Int]   = a.reads ++ b.reads
    def rejects: Set[Int] = a.rejects & b.rejects
  }
}
