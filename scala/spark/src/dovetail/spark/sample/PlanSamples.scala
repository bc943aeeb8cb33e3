package org.apache.spark.sql.dovetail.sample

import java.util.IdentityHashMap

import scala.collection.mutable

import dovetail.kernel.profile.RelationSample
import org.apache.spark.sql.catalyst.expressions.{Alias, DynamicPruning, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinPredicates}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember
import org.apache.spark.sql.dovetail.table.{TableSample, TableStatisticsSource}
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/**
 * Samples of the plans that estimates are asked for: filters and projections over a table of which a sample was
 * collected, or read just now ([[FileSamples]]).
 *
 * So LIKE, Spark's functions, casts, CASE and predicates that depend on each other are not guessed but tried. One
 * object serves one run of the rule.
 *
 * @param read   rows of a leaf's files
 * @param cached the plan that a cached relation was filled by
 */
final class PlanSamples(
    known: TableStatisticsSource,
    read: LeafNode => Option[TableSample] = _ => None,
    cached: InMemoryRelation => Option[LogicalPlan] = _ => None
) {
  private val remembered = new IdentityHashMap[LogicalPlan, Option[PlanSample]]

  def apply(plan: LogicalPlan): Option[PlanSample] = {
    val seen = remembered.get(plan)
    if (seen != null) seen
    else {
      val s = sampled(plan)
      remembered.put(plan, s)
      s
    }
  }

  private def sampled(plan: LogicalPlan): Option[PlanSample] = plan match {
    case r: InMemoryRelation => cached(r).flatMap(apply(_)).map(_.ofThen)
    case leaf: LeafNode      =>
      (for (t <- known.find(leaf); s <- t.sample)
        yield PlanSample(s, leaf.output, t.counted)).orElse(read(leaf).map(PlanSample(_, leaf.output, fresh = true)))
    case Filter(condition, child) => apply(child).map(filtered(_, condition))
    case Project(list, child)     => apply(child).map(_.projected(list.map {
        case a: Alias => a.toAttribute -> a.child; case e => e.toAttribute -> e
      }))
    case u: UnaryNode if PlanSamples.keepsRows(u) => apply(u.child)
    case _                                        => None
  }

  /** A dynamic pruning filter is a copy of a join's, which the join counts. */
  private def filtered(child: PlanSample, condition: Expression): PlanSample =
    Conjuncts(condition).filterNot(_.isInstanceOf[DynamicPruning]).foldLeft(child)(_ filtered _)

  /**
   * The samples of a group's relations, by the keys they are joined by: those of the classes, and behind them `others`,
   * where they can be computed.
   */
  def relations(
      leaves: Vector[LogicalPlan],
      predicates: JoinPredicates,
      others: Vector[Vector[ClassMember]] = Vector.empty
  ): Vector[Option[RelationSample]] = {
    val first  = predicates.members.size
    val found  = leaves.map(apply(_))
    val copies = mutable.HashMap.empty[Int, Int]
    val tables = found.map(_.map(s => System.identityHashCode(s.table)))
    leaves.indices.toVector.map { i =>
      found(i).flatMap { sample =>
        val number = copies.getOrElse(tables(i).get, 0)
        copies(tables(i).get) = number + 1
        def keyExpressions(keys: Vector[Vector[ClassMember]], from: Int) =
          keys.zipWithIndex.flatMap { case (ms, c) =>
            ms.find(_.relation == i).map(m => (from + c) -> m.expression)
          }.toMap
        sample.keyed(
          keyExpressions(predicates.members, 0),
          keyExpressions(others, first),
          (number, tables.count(_ == tables(i)))
        )
      }
    }
  }
}

object PlanSamples {
  val none: PlanSamples = new PlanSamples(_ => None)

  private def keepsRows(u: UnaryNode): Boolean = u match {
    case _: SubqueryAlias | _: ResolvedHint | _: Sort | _: RepartitionOperation | _: RebalancePartitions => true
    case _                                                                                               => false
  }
}
