package org.apache.spark.sql.dovetail.stats

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, Inequality, TrialSafe}

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
    val leaves        = plan.collectLeaves().collect { case l: LeafNode => l }
    val sources       = new Sources(leaves)
    val (tried, keys) = (mutable.Set.empty[ExprId], mutable.Set.empty[ExprId])
    plan.foreachUp {
      case Project(list, _)     => list.foreach(sources.learn(_))
      case Filter(condition, _) =>
        for (c <- Conjuncts(condition) if telling(c); (_, read) <- sources.of(c)) tried ++= read
      case Join(_, _, _, Some(condition), _) =>
        val compared = Conjuncts(condition).collect { case Equality(l, r) =>
          for ((a, left) <- sources.of(l); (b, right) <- sources.of(r)) yield ((a, b), left ++ right)
        }.flatten
        keys ++= compared.flatMap(_._2)
        for (Inequality(l, r) <- Conjuncts(condition); (_, read) <- sources.of(l) ++ sources.of(r)) keys ++= read
        compared.groupBy { case ((a, b), _) => (System.identityHashCode(a), System.identityHashCode(b)) }.values
          .filter(_.size > 1).foreach(tried ++= _.flatMap(_._2))
      case _ =>
    }
    def of(columns: collection.Set[ExprId]) =
      leaves.map(l => l -> AttributeSet(l.output.filter(a => columns(a.exprId)))).filter(_._2.nonEmpty)
    WantedColumns(of(tried), of(keys))
  }

  /**
   * The columns of leaves from which expressions are computed. A query joins by a renamed column, or by a cast one if
   * the types of two keys differ, as those of a table with NULLs do that another program wrote as floating point.
   */
  final private class Sources(leaves: Seq[LeafNode]) {
    private val known = mutable.HashMap.empty[ExprId, (LeafNode, Set[ExprId])]
    leaves.foreach(l => l.output.foreach(a => known(a.exprId) = (l, Set(a.exprId))))

    def learn(column: NamedExpression): Unit = column match {
      case a: Alias if a.deterministic => of(a.child).foreach(known(a.exprId) = _)
      case _                           =>
    }

    /** The leaf whose columns an expression reads, and these columns; None if it reads none or those of two leaves. */
    def of(e: Expression): Option[(LeafNode, Set[ExprId])] = {
      val read  = e.references.toSeq.map(a => known.get(a.exprId))
      val found = read.flatten
      if (found.isEmpty || found.size < read.size || found.exists(_._1 ne found.head._1)) None
      else Some(found.head._1 -> found.flatMap(_._2).toSet)
    }
  }

  /**
   * Whether evaluating a predicate on rows says more than footers do. This excludes the checks for NULL that Spark
   * adds, and predicates whose values are known only while the query runs.
   */
  private def telling(c: Expression): Boolean =
    c.references.nonEmpty && !c.isInstanceOf[IsNotNull] && !c.exists(_.isInstanceOf[DynamicPruning]) && TrialSafe(c)
}
