package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression, TransformExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.dovetail.base.SparkRelease
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/**
 * The columns by whose hash the rows of an input are partitioned without an exchange for a join: those of a bucketed
 * table, of the exchange below a grouping or a window, of `repartition`, or of a cached result. A join by exactly these
 * columns needs no exchange of the input, which the cost model accounts for. The columns by whose values a connector
 * has partitioned a table count, too, but only where the other input of the join is such a table ([[isByConnector]]).
 *
 * Two bucketed tables with different numbers of buckets count as if no exchange were needed, although Spark exchanges
 * the one with fewer buckets. A grouping by several columns counts as unknown, because Spark may reuse an exchange by
 * some of them below it.
 */
object HashedLeaf {

  /** Hash columns of the plan, as its output has them; empty if there are none or if they are unknown. */
  def apply(plan: LogicalPlan): Seq[Attribute] = plan match {
    case p: Project                  => named(apply(p.child), p.projectList)
    case f: Filter                   => apply(f.child)
    case s: SubqueryAlias            => apply(s.child)
    case a: Aggregate                => named(single(a.groupingExpressions), a.aggregateExpressions)
    case w: Window                   => single(w.partitionSpec)
    case r: RepartitionByExpression  => attributes(r.partitionExpressions)
    case m: InMemoryRelation         => cached(m)
    case r: LogicalRelation          => buckets(r)
    case s: DataSourceV2ScanRelation => partitions(s)
    case _                           => Nil
  }

  /**
   * Whether a connector has partitioned the input. Spark joins two such inputs without an exchange, but exchanges both
   * inputs of a join with any other one, because it cannot exchange rows into the partitions of a connector.
   */
  def isByConnector(plan: LogicalPlan): Boolean =
    LeafNames.below(plan).exists(_.isInstanceOf[DataSourceV2ScanRelation])

  private def single(expressions: Seq[Expression]): Seq[Attribute] =
    if (expressions.size == 1) attributes(expressions) else Nil

  /** The expressions, if all are columns. */
  private def attributes(expressions: Seq[Expression]): Seq[Attribute] = {
    val columns = expressions.collect { case a: Attribute => a }
    if (columns.size == expressions.size) columns else Nil
  }

  /** The columns under the names that a list of output columns gives them, if it has all of them. */
  private def named(columns: Seq[Attribute], output: Seq[NamedExpression]): Seq[Attribute] = {
    val found = columns.flatMap(c =>
      output.collectFirst {
        case a: Attribute if a.exprId == c.exprId  => a
        case a: Alias if a.child.semanticEquals(c) => a.toAttribute
      }
    )
    if (found.size == columns.size) found else Nil
  }

  private def cached(relation: InMemoryRelation): Seq[Attribute] = relation.cacheBuilder.cachedPlan match {
    // Spark 3.5.0 does not see that adaptive execution has coalesced the partitions (SPARK-45592)
    case _: AdaptiveSparkPlanExec if SparkRelease.isBefore("3.5", 1) => Nil
    // as Spark's scan of a cache sees it
    case a: AdaptiveSparkPlanExec if a.isFinalPlan => cached(relation, a.executedPlan)
    case other                                     => cached(relation, other)
  }

  private def cached(relation: InMemoryRelation, plan: SparkPlan): Seq[Attribute] = plan.outputPartitioning match {
    case h: HashPartitioning =>
      val places = attributes(h.expressions).map(a => plan.output.indexWhere(_.exprId == a.exprId))
      if (places.forall(relation.output.indices.contains)) places.map(relation.output(_)) else Nil
    case _ => Nil
  }

  /** The columns of a connector's partitions: `k` itself, or `bucket(8, k)`; empty if Spark does not join by these. */
  private def partitions(scan: DataSourceV2ScanRelation): Seq[Attribute] =
    if (!scan.conf.v2BucketingEnabled) Nil
    else {
      val by      = scan.keyGroupedPartitioning.toSeq.flatten
      val columns = by.map { case t: TransformExpression => t.children; case other => Seq(other) }.map(attributes)
      if (columns.forall(c => c.size == 1 && scan.outputSet.contains(c.head))) columns.flatten else Nil
    }

  private def buckets(relation: LogicalRelation): Seq[Attribute] = relation.relation match {
    case files: HadoopFsRelation if files.sparkSession.sessionState.conf.bucketingEnabled =>
      val names = files.bucketSpec.fold(Seq.empty[String])(_.bucketColumnNames)
      val found = names.flatMap(n => relation.output.find(_.name == n))
      if (found.size == names.size) found else Nil
    case _ => Nil
  }
}
