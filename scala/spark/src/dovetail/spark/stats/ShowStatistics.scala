package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.estimate.Source
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.conf.DovetailConf
import org.apache.spark.sql.dovetail.predicates.Values
import org.apache.spark.sql.types._

/** What is known of a table, a view or a path (parquet.`/data`): the rows behind `dovetail_stats`. First the table, then its columns. */
object ShowStatistics {

  val columns: Seq[(String, DataType)] = Seq(
    "column"         -> StringType,
    "data_type"      -> StringType,
    "rows"           -> LongType,
    "size_bytes"     -> LongType,
    "distinct_count" -> LongType,
    "null_count"     -> LongType,
    "min"            -> StringType,
    "max"            -> StringType,
    "avg_length"     -> LongType,
    "max_length"     -> LongType,
    "histogram_bins" -> IntegerType,
    "source"         -> StringType,
    "confidence"     -> StringType
  )

  def apply(session: SparkSession, target: String): Seq[Seq[Any]] = {
    val conf       = session.sessionState.conf
    val plan       = session.table(target).queryExecution.optimizedPlan
    val statistics = new PlanStatistics(conf, DovetailConf.HistogramEnabled.get(conf), new StoredTables(session))
    statistics.learnFrom(plan)
    val profile = statistics(plan)
    val rows    = profile.rows
    val trust   = if (rows.lower == rows.upper) "exact" else if (rows.source.rank <= Source.Footer.rank) "estimated" else "guessed"
    // footers count rows; the distinct values of a column are deduced
    val trustOfColumns = if (rows.source == Source.Footer) "estimated" else trust
    val table          = Seq[Any](null, null, rows.value.toLong, size(plan), null, null, null, null, null, null, null, rows.source.name, trust)
    table +: plan.output.map { a =>
      val c                       = profile.column(a.exprId.id)
      def long(d: Option[Double]) = d.map(_.round: java.lang.Long).orNull
      def text(d: Option[Double]) = d.map(Values.render(_, a.dataType)).orNull
      val known                   = c.ndv.isDefined || c.nulls.isDefined || c.min.isDefined
      Seq[Any](
        a.name,
        a.dataType.sql,
        null,
        null,
        long(c.ndv),
        long(c.nulls.map(_ * rows.value)),
        text(c.min),
        text(c.max),
        if (known) c.width.round: java.lang.Long else null,
        null,
        c.histogram.map(_.buckets.size: java.lang.Integer).orNull,
        if (known) rows.source.name else Source.Assumed.name,
        if (known) trustOfColumns else "guessed"
      )
    }
  }

  private def size(plan: org.apache.spark.sql.catalyst.plans.logical.LogicalPlan): java.lang.Long = {
    val bytes = plan.stats.sizeInBytes
    if (bytes >= BigInt(plan.conf.defaultSizeInBytes)) null else bytes.toLong
  }
}
