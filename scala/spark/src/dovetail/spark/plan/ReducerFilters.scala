package org.apache.spark.sql.dovetail.plan

import scala.collection.mutable

import dovetail.kernel.enumerate.{Reducer, ReducerRules}
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate
import org.apache.spark.sql.dovetail.group.SubqueryCopies
import org.apache.spark.sql.dovetail.leaf.{FailingScan, LeafNames}
import org.apache.spark.sql.dovetail.predicates.JoinPredicates.ClassMember
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.internal.SQLConf

/**
 * Builds the reducers of a plan from Spark's own expressions, in the form that Spark's rule `InjectRuntimeFilter` uses.
 * A reducer is a filter on the reduced input, `might_contain(filter, xxhash64(keys))`. Its Bloom filter is a scalar
 * subquery over the inputs that the keys come from. Spark runs the subquery before the input's stage, and its own rule
 * adds no second filter for such a key. Spark's own rule for runtime filters comes after ours; after that rule, Spark
 * pushes our filter down to the scan.
 *
 * NULL keys need no special treatment: a row with a NULL key has no partner, whether it passes or not.
 *
 * @param members sides of the equalities by which inputs may be filtered ([[PreparedGroup.keys]])
 */
final class ReducerFilters(members: Vector[Vector[ClassMember]], source: KeySource) {

  /** Per reduced input, its filter conditions. */
  def apply(reducers: Vector[Reducer]): Map[Int, Vector[Expression]] =
    reducers.groupBy(_.reduced).map { case (r, all) => r -> all.map(condition) }

  private def condition(r: Reducer): Expression = {
    val filter    = new BloomFilterAggregate(hash(r.keys), Literal(r.items), Literal(r.bits))
    val aggregate = source(r.by, r.tested).groupBy()(Alias(filter.toAggregateExpression(), "bloomFilter")())
    BloomFilterMightContain(ScalarSubquery(KeySource.prepared(aggregate)), hash(r.classes.map(_ -> r.reduced)))
  }

  /** The hash of a key whose columns are sides of equalities. */
  private def hash(key: Vector[(Int, Int)]): Expression =
    new XxHash64(key.flatMap { case (c, r) => members(c).find(_.relation == r).map(_.expression) })
}

object ReducerFilters {

  /**
   * The reducers that a group's inputs allow: inputs that may be reduced, and inputs that may be read again for their
   * keys. There are none beside an input that runs a program, which may have effects: adaptive execution would leave
   * it out as soon as a reduced input has no rows.
   *
   * @param most most keys of a filter for which there is room
   */
  def rules(ready: PreparedGroup, planner: Planner, statistics: PlanStatistics, most: Long): ReducerRules =
    if (!planner.reduces || most <= 0L) ReducerRules.none
    else
      allowed(ready, planner, most).copy(parts =
        i => LeafNames.below(ready.leaves(i)).flatMap(statistics.rowGroups).fold(Double.PositiveInfinity)(_.toDouble)
      )

  /** The same for any filter by the keys of other inputs, whatever the settings say of Bloom filters. */
  def allowed(ready: PreparedGroup, planner: Planner, most: Long): ReducerRules =
    if (ready.leaves.exists(_.exists(FailingScan.runsProgram))) ReducerRules.none
    else ofKeys(ready, planner, most)

  private def ofKeys(ready: PreparedGroup, planner: Planner, most: Long): ReducerRules = {
    val leaves = ready.leaves
    val again  = leaves.indices.filter(i => RereadInput(leaves(i))).toSet
    // both sides of an equality have the same type
    val keys = for {
      (members, c) <- ready.keys.zipWithIndex
      m            <- members
      key          <- attribute(m.expression) if leaves(m.relation).outputSet.contains(key)
    } yield (m.relation, c, key)
    // the parts of the query are those before the joins in them are ordered
    val shared           = mutable.HashMap.empty[Int, Boolean]
    def isShared(i: Int) = shared.getOrElseUpdate(
      i,
      ready.graph.relations(i).copies > 1 || (planner.reusesExchanges && planner.repeated(ready.group.leaves(i)))
    )
    // the search asks for each filter that it considers, and a table may have very many files
    val tasksOf = mutable.HashMap.empty[Int, Double]
    ReducerRules(
      // Spark would push a filter on a column that may fail below its computation, to rows that nobody reads otherwise
      keys.collect {
        case (i, c, key) if !ready.group.fragile.contains(key) && reducible(ready, i, key, planner) && !isShared(i) =>
          (i, c)
      }.toSet,
      keys.collect { case (i, c, _) if again(i) => (i, c) }.toSet,
      again.filter(ready.graph.relations(_).broadcastable),
      i => tasksOf.getOrElseUpdate(i, InputTasks.atMost(leaves(i), planner.allTasks)),
      math.min(most, mostItems(leaves.head.conf)),
      planner.reducesAlways
    )
  }

  private def attribute(e: Expression): Option[Attribute] = e match {
    case a: Attribute if RereadInput.isKey(a.dataType) => Some(a)
    case _                                             => None
  }

  /**
   * Whether an input may be reduced by a key. Excludes an input that Spark may read in a subquery, a table whose
   * files the join prunes by the same key, and other plans than tables where files are pruned.
   */
  private def reducible(ready: PreparedGroup, i: Int, key: Attribute, planner: Planner): Boolean = {
    val leaf     = ready.leaves(i)
    val relation = ready.graph.relations(i)
    // Spark finds the broadcast that prunes partitions by its plan, in which it pushes our filter down to a scan only
    val prunes = planner.prunesScans && ready.graph.relations.exists(_.partitions.nonEmpty)
    leaf.deterministic && !SubqueryCopies.isWhole(leaf) &&
    !(prunes && (relation.partitions.contains(key.exprId.id) || LeafNames.below(leaf).isEmpty)) &&
    !planner.mayReread(leaf)
  }

  /** Most keys of a filter, by Spark's limits and by ours. */
  private def mostItems(conf: SQLConf): Long = math.min(
    MostItems,
    math.min(
      conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_MAX_NUM_ITEMS),
      conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_MAX_NUM_BITS) / Reducer.BitsPerItem
    )
  )

  /**
   * Keys of a filter of 4 MB. Each task of the reduced input holds its own copy, and the driver receives one filter
   * from each task that builds it.
   */
  private val MostItems = 4000000L
}
