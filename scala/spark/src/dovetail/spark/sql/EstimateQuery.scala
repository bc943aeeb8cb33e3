package org.apache.spark.sql.dovetail.sql

import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.dovetail.group.JoinGroup
import org.apache.spark.sql.types.{DataType, DoubleType, StringType}

/**
 * Rows that a query would return, estimated as the rule does it: the row behind `dovetail_estimate`. The query is
 * planned, not run.
 *
 * A group of inner joins at the top gets what the search takes for the set of all its relations, also where there are
 * only two, which the search leaves alone; any other plan what the rule takes for a leaf of a group.
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
    // an unknown bound is NULL, not a made-up number
    Seq(rows.value, rows.lower, if (rows.upper >= Estimate.Ceiling) null else rows.upper, rows.source.name)
  }
}
