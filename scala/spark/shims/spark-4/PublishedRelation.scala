package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.sources.BaseRelation

/** A relation with Dovetail's statistics: see [[PublishedRelations]]. Spark 4 added the stream. */
final class PublishedRelation(
    relation: BaseRelation,
    output: Seq[AttributeReference],
    catalogTable: Option[CatalogTable],
    isStreaming: Boolean,
    stream: Option[SparkDataStream],
    val plain: LogicalRelation,
    val published: Statistics
) extends LogicalRelation(relation, output, catalogTable, isStreaming, stream) {
  override def computeStats(): Statistics     = published
  override def newInstance(): LogicalRelation = PublishedRelations.renamed(this, super.newInstance())

  // a copy gets Spark's own statistics: Spark plans and runs a copy of the optimized plan
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(plain, plain.stats)

  override def canEqual(that: Any): Boolean = that.isInstanceOf[PublishedRelation]
  override def equals(that: Any): Boolean   = canEqual(that) && super.equals(that)
  override def hashCode: Int                = super.hashCode
}

object PublishedRelation {
  def apply(r: LogicalRelation, published: Statistics): PublishedRelation =
    new PublishedRelation(r.relation, r.output, r.catalogTable, r.isStreaming, r.stream, r, published)
}
