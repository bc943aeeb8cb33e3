package org.apache.spark.sql.dovetail.sql

import org.apache.spark.sql.dovetail.report.ExecutedPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/**
 * Metrics of a plan that has run: the rows that each join returned (the C_out of the executed plan), and the bytes
 * written to shuffles. Reused exchanges and subqueries count once.
 */
final case class ExecutedMetrics(joins: Vector[ExecutedMetrics.JoinMetric], shuffleBytes: Long)

object ExecutedMetrics {
  final case class JoinMetric(operator: String, relations: Vector[String], rows: Long)

  def apply(plan: SparkPlan): ExecutedMetrics = {
    val joins   = Vector.newBuilder[JoinMetric]
    var shuffle = 0L

    /** @return names of the tables below */
    def walk(p: SparkPlan): Vector[String] = ExecutedPlan.operator(p) match {
      case r: ReusedExchangeExec => tables(r.child)
      case _: ReusedSubqueryExec => Vector.empty
      case other                 =>
        val below = other.children.toVector.flatMap(walk)
        other.subqueries.foreach(walk)
        other match {
          case j: BaseJoinExec        => joins += JoinMetric(j.nodeName, below, value(j, "numOutputRows"))
          case s: ShuffleExchangeLike => shuffle += value(s.asInstanceOf[SparkPlan], "shuffleBytesWritten")
          case _                      => ()
        }
        if (other.children.isEmpty) Vector(name(other)) else below
    }
    walk(plan)
    ExecutedMetrics(joins.result(), shuffle)
  }

  private def tables(p: SparkPlan): Vector[String] = ExecutedPlan.operator(p) match {
    case other if other.children.isEmpty => Vector(name(other))
    case other                           => other.children.toVector.flatMap(tables)
  }

  private def value(p: SparkPlan, metric: String): Long = p.metrics.get(metric).fold(0L)(_.value)

  private def name(p: SparkPlan): String = p match {
    case f: FileSourceScanExec =>
      f.tableIdentifier.map(_.table).orElse(f.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("files")
    case other => other.nodeName
  }
}
