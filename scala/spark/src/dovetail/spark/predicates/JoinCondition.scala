package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.JoinCondition.Side

/**
 * One conjunct of a join or of a filter between joins, classified: the relations it reads, and its two sides where it
 * is an equality between different relations. Conditions of all kinds of joins are classified here and nowhere else.
 *
 * @param relations that it reads, ascending
 * @param equality  where it is one, and no relation is on both sides
 */
final case class JoinCondition(
    expression: Expression,
    relations: Vector[Int],
    equality: Option[JoinCondition.Equality]
) {

  /** Relations of the two sides, where Spark can hash or sort by them whatever the kind of the join is. */
  def sides: Option[(Vector[Int], Vector[Int])] =
    equality.filter(_.kind != JoinCondition.NullAware).map(e => (e.left.relations, e.right.relations))

  /**
   * The sides in the order of a join's inputs, where each reads one relation, and these are inputs of different sides of
   * the join: what the join can be hashed by.
   */
  def key(left: Int => Boolean, right: Int => Boolean): Option[(Side, Side)] =
    equality.filter(e => e.left.relations.size == 1 && e.right.relations.size == 1).flatMap { e =>
      val (l, r) = (e.left.relations.head, e.right.relations.head)
      if (left(l) && right(r)) Some((e.left, e.right))
      else if (left(r) && right(l)) Some((e.right, e.left))
      else None
    }

  /** Whether the two sides lie on different sides of a join. */
  def across(left: Int => Boolean, right: Int => Boolean): Boolean = sides.exists { case (l, r) =>
    (l.forall(left) && r.forall(right)) || (l.forall(right) && r.forall(left))
  }
}

object JoinCondition {

  /** What NULL means to an equality. */
  sealed trait Kind

  /** `=`: NULL has no partner. */
  case object Plain extends Kind

  /** `<=>`, as EXCEPT and INTERSECT have it: NULL is the partner of NULL. */
  case object NullSafe extends Kind

  /** `a = b OR isnull(a = b)`, as NOT IN has it: NULL is the partner of all values. */
  case object NullAware extends Kind

  /** One side of an equality, and the relations that it reads: one or more. */
  final case class Side(expression: Expression, relations: Vector[Int])

  final case class Equality(kind: Kind, left: Side, right: Side)

  /** @param outputs columns of each relation; relations are numbered by their place */
  final class Classifier(outputs: Vector[AttributeSet]) {

    def apply(e: Expression): JoinCondition = JoinCondition(e, relationsOf(e), equality(e))

    /** Relations that an expression reads, ascending. */
    def relationsOf(e: Expression): Vector[Int] = {
      PlanningTime.check()
      outputs.indices.filter(i => e.references.exists(outputs(i).contains)).toVector
    }

    private def equality(e: Expression): Option[Equality] = e match {
      case EqualTo(l, r)                                                     => between(Plain, l, r)
      case EqualNullSafe(l, r)                                               => between(NullSafe, l, r)
      case Or(eq @ EqualTo(l, r), IsNull(again)) if eq.semanticEquals(again) => between(NullAware, l, r)
      case _                                                                 => None
    }

    private def between(kind: Kind, l: Expression, r: Expression): Option[Equality] = {
      val (a, b) = (Side(l, relationsOf(l)), Side(r, relationsOf(r)))
      if (a.relations.nonEmpty && b.relations.nonEmpty && a.relations.intersect(b.relations).isEmpty)
        Some(Equality(kind, a, b))
      else None
    }
  }
}
