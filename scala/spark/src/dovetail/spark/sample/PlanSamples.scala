package org.apache.spark.sql.dovetail.sample

import java.util.IdentityHashMap

import dovetail.kernel.profile.RelationSample
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeSet, DynamicPruning, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.predicates.{Conjuncts, JoinPredicates, PrunedPredicate}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember
import org.apache.spark.sql.dovetail.table.{TableSample, TableStatistics, TableStatisticsSource}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.{BinaryType, StringType}

/**
 * Samples of plans for cardinality estimates: filters and projections over a table that has a sample, either collected
 * before or just read from files ([[FileSamples]]).
 *
 * With a sample, Dovetail tries LIKE, Spark's functions, casts, CASE and correlated predicates on rows instead of
 * guessing. One instance serves one run of the rule.
 *
 * @param read   sample that was read from the files of a leaf
 * @param cached plan that computed the content of a cached relation
 * @param pruned partition columns by which a table was pruned, so that predicates on them hold for all of its rows
 */
final class PlanSamples(
    known: TableStatisticsSource,
    read: LeafNode => Option[TableSample] = _ => None,
    cached: InMemoryRelation => Option[LogicalPlan] = _ => None,
    pruned: LogicalRelation => AttributeSet = _ => AttributeSet.empty
) {
  private val remembered = new IdentityHashMap[LogicalPlan, Option[PlanSample]]

  // samples in whose place all rows that pass are used: only they know the rows that the filters drop
  private val drawn = new IdentityHashMap[LogicalPlan, Option[PlanSample]]

  def apply(plan: LogicalPlan): Option[PlanSample] = {
    val seen = remembered.get(plan)
    if (seen != null) seen
    else {
      val s = sampled(plan)
      remembered.put(plan, s)
      s
    }
  }

  /**
   * Uses all rows that pass the filters of a plan as its sample from now on.
   *
   * @param output columns of the leaf under the filters
   */
  def learn(plan: LogicalPlan, rows: TableSample, output: Seq[Attribute]): Unit = {
    drawn.putIfAbsent(plan, apply(plan))
    remembered.put(plan, Some(PlanSample(rows, output, fresh = true)))
    ()
  }

  /** Number of distinct combinations of columns before all filters ([[PlanSample.distinct]]). */
  def distinct(plan: LogicalPlan, of: Seq[Attribute]): Option[Double] =
    (if (drawn.containsKey(plan)) drawn.get(plan) else apply(plan)).flatMap(_.distinct(of))

  private def sampled(plan: LogicalPlan): Option[PlanSample] = plan match {
    case r: InMemoryRelation => cached(r).flatMap(apply(_)).map(_.ofThen)
    case leaf: LeafNode      =>
      (for (t <- known.find(leaf); s <- t.sample) yield {
        // rows of other partitions stand for those that are left, but do not have their values
        val others        = if (t.fresh) AttributeSet.empty else prunedBy(leaf)
        val (whole, long) = leaf.output.filterNot(others.contains).partition(PlanSamples.isWhole(t, _))
        val cut           = long.filter(a => s.isMostlyShort(a.name))
        PlanSample(s, whole ++ cut, t.counted, cut.map(_.name).toSet)
      }).orElse(read(leaf).map(PlanSample(_, leaf.output, fresh = true)))
    case Filter(condition, child) => apply(child).map(filtered(_, condition, prunedBy(child)))
    case Project(list, child)     => apply(child).map(_.projected(list.map {
        case a: Alias => a.toAttribute -> a.child; case e => e.toAttribute -> e
      }))
    case u: UnaryNode if PlanSamples.keepsRows(u) => apply(u.child)
    case _                                        => None
  }

  private def prunedBy(plan: LogicalPlan): AttributeSet = plan match {
    case r: LogicalRelation => pruned(r)
    case _                  => AttributeSet.empty
  }

  /**
   * Two kinds of predicates are left out: those by which partitions were pruned, and dynamic pruning filters, which are
   * copies of a join's filter that the estimate of the join includes.
   */
  private def filtered(child: PlanSample, condition: Expression, pruned: AttributeSet): PlanSample =
    Conjuncts(condition).filterNot(c => c.isInstanceOf[DynamicPruning] || PrunedPredicate(c, pruned))
      .foldLeft(child)(_ filtered _)

  /**
   * The samples of the relations of a join group, by join keys: first the keys of the equivalence classes, then
   * `others`, as far as they can be computed. Reads of one table that are joined by one key each get other rows of its
   * sample: with the same rows, they would match too often. Reads with different keys, such as the days of the sale and
   * of the return, all get the whole sample.
   */
  def relations(
      leaves: Vector[LogicalPlan],
      predicates: JoinPredicates,
      others: Vector[Vector[ClassMember]] = Vector.empty
  ): Vector[Option[RelationSample]] = {
    val first  = predicates.members.size
    val found  = leaves.map(apply(_))
    val tables = found.map(_.map(_.table.id))
    val met    = (predicates.members ++ others).map(_.map(_.relation).toSet)
    leaves.indices.toVector.map { i =>
      found(i).flatMap { sample =>
        val copies = PlanSamples.joined(i, tables.indices.filter(tables(_) == tables(i)).toVector, met)
        def keyExpressions(keys: Vector[Vector[ClassMember]], from: Int) =
          keys.zipWithIndex.flatMap { case (ms, c) =>
            ms.find(_.relation == i).map(m => (from + c) -> m.expression)
          }.toMap
        sample.keyed(
          keyExpressions(predicates.members, 0),
          keyExpressions(others, first),
          (copies.indexOf(i), copies.size)
        )
      }
    }
  }
}

object PlanSamples {

  /**
   * Whether the sample has the whole values of a column. It has only the beginnings of long texts, and a predicate that
   * looks at the rest would seem to keep no row.
   */
  private def isWhole(table: TableStatistics, column: Attribute): Boolean = column.dataType match {
    case _: StringType | BinaryType =>
      !table.columns.exists(c => c.name == column.name && c.maxWidth > TableSample.Characters)
    case _ => true
  }

  /**
   * The reads of a table that are joined with read `i` by one key, directly or by way of another read, in order.
   *
   * @param reads all reads of the table
   * @param met   relations of each equality
   */
  private def joined(i: Int, reads: Vector[Int], met: Vector[Set[Int]]): Vector[Int] = {
    def more(known: Set[Int]): Set[Int] = {
      val next = reads.filter(r => known(r) || met.exists(m => m(r) && m.exists(known))).toSet
      if (next.size == known.size) known else more(next)
    }
    if (reads.size == 1) reads else more(Set(i)).toVector.sorted
  }

  /** Whether an operator returns the rows of its input. */
  private[sample] def keepsRows(u: UnaryNode): Boolean = u match {
    case _: SubqueryAlias | _: ResolvedHint | _: Sort | _: RepartitionOperation | _: RebalancePartitions => true
    case _                                                                                               => false
  }
}
