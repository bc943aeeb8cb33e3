package org.apache.spark.sql.dovetail.predicates

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.JoinCondition.Side

/**
 * One conjunct of a join condition or of a filter between joins, classified: the relations that it reads, and its two
 * sides if it is an equality between different relations. Conditions of all kinds of joins are classified here and
 * nowhere else.
 *
 * @param relations relations that the conjunct reads, ascending
 * @param equality  the equality, if the conjunct is one and no relation occurs on both sides
 */
final case class JoinCondition(
    expression: Expression,
    relations: Vector[Int],
    equality: Option[JoinCondition.Equality]
) {

  /** Whether Spark can hash the sides of the equality, if the conjunct is one. */
  def hashable: Boolean = equality.forall(_.hashable)

  /** The relations of the two sides, if Spark can hash or sort by the sides for every kind of join. */
  def sides: Option[(Vector[Int], Vector[Int])] =
    equality.filter(_.kind != JoinCondition.NullAware).map(e => (e.left.relations, e.right.relations))

  /**
   * The two sides in the order of the join's inputs, if each side reads one relation and the two relations belong to
   * different inputs of the join. Spark can hash the join by these sides.
   */
  def key(left: Int => Boolean, right: Int => Boolean): Option[(Side, Side)] =
    equality.filter(e => e.left.relations.size == 1 && e.right.relations.size == 1).flatMap { e =>
      val (l, r) = (e.left.relations.head, e.right.relations.head)
      if (left(l) && right(r)) Some((e.left, e.right))
      else if (left(r) && right(l)) Some((e.right, e.left))
      else None
    }

  /** Whether the two sides of the equality belong to different inputs of a join. */
  def across(left: Int => Boolean, right: Int => Boolean): Boolean = sides.exists { case (l, r) =>
    (l.forall(left) && r.forall(right)) || (l.forall(right) && r.forall(left))
  }
}

object JoinCondition {

  /** How an equality treats NULL. */
  sealed trait Kind

  /** `=`: NULL matches nothing. */
  case object Plain extends Kind

  /** `<=>`, as in EXCEPT and INTERSECT: NULL matches NULL. */
  case object NullSafe extends Kind

  /** `a = b OR isnull(a = b)`, as in NOT IN: NULL matches every value. */
  case object NullAware extends Kind

  /** One side of an equality, with the one or more relations that it reads. */
  final case class Side(expression: Expression, relations: Vector[Int])

  final case class Equality(kind: Kind, left: Side, right: Side) {

    /**
     * Whether Spark can hash the two sides. If it cannot hash one key of a join, it sorts both inputs, however small
     * they are. Two columns are hashed whatever their collation, if they were written in the condition of the join:
     * Spark then compares their collation keys.
     */
    def hashable: Boolean = HashableKeys(left.expression.dataType) && HashableKeys(right.expression.dataType)

    /** The expression of the side that reads a relation. */
    def over(relation: Int): Expression = (if (left.relations.contains(relation)) left else right).expression
  }

  /** Classifies the conjuncts of a join's condition, with its two sides as the relations. */
  def of(j: Join): Vector[JoinCondition] = {
    val sides = new Classifier(Vector(j.left.outputSet, j.right.outputSet))
    j.condition.toVector.flatMap(Conjuncts(_)).map(sides(_))
  }

  /** The equalities between the sides of a join, by which Spark can hash or sort them. */
  def keys(j: Join): Vector[Equality] = of(j).filter(_.sides.isDefined).flatMap(_.equality)

  /** @param outputs output columns of each relation; the number of a relation is its position here */
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
