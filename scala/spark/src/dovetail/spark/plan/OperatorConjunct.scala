package org.apache.spark.sql.dovetail.plan

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinCondition, JoinPredicates}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember

/**
 * One conjunct of the condition of a join that is not inner.
 *
 * @param key hash key of the join, the member of its left side first
 */
final case class OperatorConjunct(condition: JoinCondition, key: Option[(ClassMember, ClassMember)]) {

  /** The members of the key as samples have them: none if NULLs match, because to samples a NULL has no partner. */
  def sampled: Option[Vector[ClassMember]] = key.map { case (l, r) =>
    if (nullsMeet) Vector.empty else Vector(l, r)
  }

  /** Whether a NULL of one side is equal to a NULL of the other. */
  def nullsMeet: Boolean = condition.equality.exists(_.kind == JoinCondition.NullSafe)

  /** The members of the key by which the right side may be filtered: none if a NULL there makes a difference. */
  def filtered: Option[Vector[ClassMember]] = key.map { case (l, r) =>
    if (condition.equality.exists(_.kind == JoinCondition.Plain)) Vector(l, r) else Vector.empty
  }

  /** Whether a row of the right side with NULL in this column has no partner by this conjunct. */
  def rejectsNull(column: Attribute): Boolean =
    key.exists(_._2.expression.semanticEquals(column)) && sampled.exists(_.nonEmpty)
}

object OperatorConjunct {

  /** The conjuncts of each operator of a group. */
  def of(group: JoinGroup, predicates: JoinPredicates): Vector[Vector[OperatorConjunct]] = group.operators.map { o =>
    o.condition.toVector.flatMap(Conjuncts(_)).map { e =>
      val condition = predicates.classifier(e)
      val key       = condition.key(o.left.contains, o.right.contains)
      OperatorConjunct(condition, key.map { case (l, r) => (member(l), member(r)) })
    }
  }

  private def member(side: JoinCondition.Side): ClassMember = ClassMember(side.relations.head, side.expression)
}
