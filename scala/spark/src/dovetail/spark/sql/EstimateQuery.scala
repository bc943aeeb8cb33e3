package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.types.{DataType, DoubleType, StringType}

/**
 * Estimates how many rows a query would return, with the rule's own estimates: the row of `dovetail_estimate`. The
 * query is planned, not run.
 *
 * If the top of the plan is a join group, the estimate is the search's estimate for the set of all relations, even for
 * two relations, which the search does not reorder. For any other plan it is the estimate for a leaf of a group.
 */
object EstimateQuery {
  val columns: Seq[(String, DataType)] =
    Seq("value" -> DoubleType, "lower" -> DoubleType, "upper" -> DoubleType, "source" -> StringType)

  def apply(session: SparkSession, sql: String): Seq[Any] = {
    val query = new PlannedQuery(session, sql, "dovetail_estimate")
    val rows  = query.top match {
      case JoinGroup(group) => query.ordering.rows(group)
      case other            => GivenRowsForm.rows(session, other).getOrElse(query.ordering.statistics(other).rows)
    }
    // an unknown upper bound is NULL rather than a huge number
    Seq(rows.value, rows.lower, if (rows.upper >= Estimate.Ceiling) null else rows.upper, rows.source.name)
  }
}
