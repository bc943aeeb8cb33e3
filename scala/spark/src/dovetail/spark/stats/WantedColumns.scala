package org.apache.spark.sql.dovetail.stats

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, TrialSafe}

/**
 * Columns of a plan's leaves whose values are worth reading from the data.
 *
 * @param tried columns that predicates on a single leaf read, and columns of composite join keys, whose joint NDV is
 *              unknown
 * @param keys  columns that joins compare
 */
final case class WantedColumns(tried: Seq[(LeafNode, AttributeSet)], keys: Seq[(LeafNode, AttributeSet)])

object WantedColumns {

  /** Finds the columns, with the leaves in the order of the plan. */
  def apply(plan: LogicalPlan): WantedColumns = {
    val leaves                = plan.collectLeaves().collect { case l: LeafNode => l }
    val owner                 = leaves.flatMap(l => l.output.map(_.exprId -> l)).toMap
    val (tried, keys)         = (mutable.Set.empty[ExprId], mutable.Set.empty[ExprId])
    def leafOf(e: Expression) = e match { case a: Attribute => owner.get(a.exprId); case _ => None }
    plan.foreach {
      case Filter(condition, _) =>
        for (c <- Conjuncts(condition) if telling(c)) {
          val read = c.references.toSeq
          if (read.flatMap(a => owner.get(a.exprId)).distinct.size == 1 && read.forall(a => owner.contains(a.exprId)))
            tried ++= read.map(_.exprId)
        }
      case Join(_, _, _, Some(condition), _) =>
        val compared = Conjuncts(condition).collect { case Equality(l, r) =>
          for (a <- leafOf(l); b <- leafOf(r)) yield ((a, b), Seq(l, r).flatMap(_.references))
        }.flatten
        keys ++= compared.flatMap(_._2.map(_.exprId))
        compared.groupBy { case ((a, b), _) => (System.identityHashCode(a), System.identityHashCode(b)) }.values
          .filter(_.size > 1).foreach(tried ++= _.flatMap(_._2.map(_.exprId)))
      case _ =>
    }
    def of(columns: collection.Set[ExprId]) =
      leaves.map(l => l -> AttributeSet(l.output.filter(a => columns(a.exprId)))).filter(_._2.nonEmpty)
    WantedColumns(of(tried), of(keys))
  }

  private object Equality {
    def unapply(e: Expression): Option[(Expression, Expression)] = e match {
      case EqualTo(l, r)       => Some((l, r))
      case EqualNullSafe(l, r) => Some((l, r))
      case _                   => None
    }
  }

  /**
   * Whether evaluating a predicate on rows says more than footers do. This excludes the checks for NULL that Spark
   * adds, and predicates whose values are known only while the query runs.
   */
  private def telling(c: Expression): Boolean =
    c.references.nonEmpty && !c.isInstanceOf[IsNotNull] && !c.exists(_.isInstanceOf[DynamicPruning]) && TrialSafe(c)
}
