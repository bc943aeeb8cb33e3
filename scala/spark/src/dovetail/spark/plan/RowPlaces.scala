package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.dovetail.leaf.{FailingScan, HashedLeaf}
import org.apache.spark.sql.dovetail.predicates.{ComputedColumns, Conjuncts, FailingOperator, FailingPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation

/**
 * Operators whose results depend on the place of their input rows: in which partition a row is, after which other rows
 * it comes, and which file is being read. Joins below them must stay as written, also how they are executed:
 *
 *   - Another order may stream another input, so that `input_file_name()` is empty.
 *   - Dovetail learns, so two queries over the same joins may get different orders. `randomSplit` makes two queries
 *     that draw from the same partitions: in different orders, their parts overlap. The same holds for `rand(seed) <
 *     0.8` and its complement.
 *   - A barrier stage needs as many slots as it has partitions.
 *   - A LIMIT stops at the rows that come first, `tail()` at those that come last. On which of them an expression fails
 *     depends on their order.
 *
 * An input that collects metrics (`observe`) is the opposite case: it has to be read completely whenever Spark would
 * read it ([[isObserved]]). The rows of one input depend on the joins above it if its table has buckets
 * ([[mayReadBuckets]]).
 */
object RowPlaces {

  /** Why everything below this operator has to stay as written, or None. */
  def unapply(operator: LogicalPlan): Option[String] = operator match {
    case o if o.nodeName == "AttachDistributedSequence" => Some("a sequence numbers the joined rows by their place")
    case _: Sample => Some("a sample of joined rows depends on their partitions and order")
    case _: GlobalLimit | _: LocalLimit | _: Tail if stopsAtRows(operator) =>
      Some(
        "a LIMIT ends the query before all rows are read, and an expression below it may fail on the other rows"
      )
    case o if isBarrier(o)    => Some("a barrier stage has a task for each partition of the joined rows")
    case o if o.deterministic => None
    case o => o.expressions.flatMap(_.collectFirst { case e: Nondeterministic => e }).headOption.map(told)
  }

  /** Whether an expression that may throw is only evaluated on the rows that a LIMIT asks for. */
  private def stopsAtRows(limit: LogicalPlan): Boolean = limit.children.exists(streamed(_, sorts = true))

  /** @param sorts whether a sort at the top of the plan stays: Spark removes sorts below joins and groupings */
  private def streamed(plan: LogicalPlan, sorts: Boolean): Boolean = plan match {
    // the functions read all rows, but their results are only combined for the groups that are asked for
    case a: Aggregate if a.groupingExpressions.isEmpty => false
    case a: Aggregate                                  =>
      a.aggregateExpressions.exists(throwsAbove) ||
      (mayBeClustered(a.child, a.groupingExpressions) && (throws(a) || streamed(a.child, sorts = false)))
    case w: Window =>
      throwsInWindow(w) ||
      (w.partitionSpec.nonEmpty && mayBeClustered(w.child, w.partitionSpec) && streamed(w.child, sorts = true))
    case s: Sort if s.global && !sorts => streamed(s.child, sorts)
    case other if readsAll(other)      => false
    // the single join of a scalar subquery fails at a second partner
    case j: Join => throws(j) || FailingOperator(j).isDefined || j.children.exists(streamed(_, sorts = false))
    case other   =>
      val below = sorts || !passesSortRemoval(other)
      throws(other) || FailingOperator.runsFunction(other) || other.children.exists(streamed(_, below))
  }

  /** Whether Spark also removes the sorts below this operator if it removes those above it. */
  private def passesSortRemoval(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Repartition => true
    case _                                       => false
  }

  private def throws(plan: LogicalPlan): Boolean = plan.expressions.exists(FailingPlan.throwsOnRows)

  /** Whether a window may fail. Functions of windows, such as row_number(), do not, and frames read no rows. */
  private def throwsInWindow(w: Window): Boolean = {
    val functions = w.windowExpressions.flatMap(_.collect { case e: WindowExpression => e.windowFunction }).flatMap {
      case own: WindowFunction => own.children
      case other               => Seq(other)
    }
    (functions ++ w.partitionSpec ++ w.orderSpec.map(_.child)).exists(FailingPlan.throwsOnRows)
  }

  /** Whether an output column of a grouping may fail, apart from its aggregate functions. */
  private def throwsAbove(e: Expression): Boolean = FailingPlan.throwsOnRows(e.transform {
    case f: AggregateExpression => Literal(null, f.dataType)
  })

  /** Whether the operator reads all rows before it returns the first one. Any other one may return it earlier. */
  private def readsAll(plan: LogicalPlan): Boolean = plan match {
    case r: Repartition                                      => r.shuffle
    case s: Sort                                             => s.global
    case _: RepartitionByExpression | _: RebalancePartitions => true
    case _                                                   => false
  }

  /**
   * Whether rows of the plan may be partitioned by some of these keys already, so that a grouping or a window by the
   * keys needs no exchange. It then reads one partition after the other, as they are asked for. Unknown operators may,
   * and caches, whose partitions adaptive execution decides on.
   */
  def mayBeClustered(plan: LogicalPlan, keys: Seq[Expression]): Boolean = plan match {
    case p: Project  => ComputedColumns.replaced(keys, p.projectList).forall(mayBeClustered(p.child, _))
    case f: Filter   => mayBeClustered(f.child, keys)
    case j: Join     => partitions(j, keys) || j.children.exists(mayBeClustered(_, keys))
    case l: LeafNode => l.isInstanceOf[InMemoryRelation] || HashedLeaf(l).exists(c => keys.exists(_.semanticEquals(c)))
    case _           => true
  }

  /** Whether the keys of a join are among these keys, so that its exchange partitions the rows by them. */
  private def partitions(j: Join, keys: Seq[Expression]): Boolean = {
    val pairs = j.condition.toSeq.flatMap(Conjuncts(_)).collect { case Equality(l, r) => Seq(l, r) }
    pairs.nonEmpty && pairs.forall(_.exists(side => keys.exists(_.semanticEquals(side))))
  }

  private def told(e: Expression): String =
    s"${e.prettyName.toLowerCase(Locale.ROOT)}() depends on the partitions and order of the joined rows"

  /** `mapInPandas` and `mapInArrow` with `barrier=True`; their classes differ between lines of Spark. */
  private def isBarrier(operator: LogicalPlan): Boolean =
    BarrierOperators.contains(operator.nodeName) && operator.productIterator.contains(true)

  private val BarrierOperators = Set("MapInPandas", "MapInArrow", "PythonMapInArrow")

  /** Whether the plan has an `observe`, whose metrics nobody gets if another order does not read it. */
  def isObserved(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[CollectMetrics])

  /**
   * Whether the rows of an input depend on their places, and these on the joins above: Spark reads a table by its
   * buckets only if one of the joins needs rows in such partitions.
   */
  def mayReadBuckets(input: LogicalPlan): Boolean = input.conf.autoBucketedScanEnabled && input.exists {
    case r: LogicalRelation => HashedLeaf(r).nonEmpty
    case _                  => false
  } && input.exists(o => o.isInstanceOf[Sample] || o.expressions.exists(!_.deterministic))

  /** Whether a plan has to be read whenever Spark would read it: it collects metrics, or runs a user's program. */
  def mustBeRead(plan: LogicalPlan): Boolean = isObserved(plan) || plan.exists(FailingScan.runsProgram)
}
