package org.apache.spark.sql.dovetail.sql

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.Command
import org.apache.spark.sql.dovetail.base.{DovetailConf, Nanoseconds}
import org.apache.spark.sql.dovetail.base.ErrorCondition.NotAQuery
import org.apache.spark.sql.dovetail.group.{GroupNames, JoinGroup}
import org.apache.spark.sql.dovetail.report.{GroupAtRun, Trace}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.{Row, SparkSession}

/**
 * `DOVETAIL PROFILE <query>`: runs the query once and returns one row of JSON with rows, seconds, rows out of joins,
 * shuffled and spilled bytes, time of tasks and of garbage collection, join orders, and a digest of the answer. It also
 * measures plain Spark (spark.dovetail.enabled=false).
 */
case class ProfileCommand(query: String) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Seq(AttributeReference("profile", StringType, nullable = false)())

  override def run(session: SparkSession): Seq[Row] = {
    val state              = session.sessionState
    val parsed             = state.sqlParser.parsePlan(query)
    val start              = System.nanoTime()
    val (execution, trace) = Trace.collecting(ProfileCommand.planned(state.executePlan(parsed)))
    val planned            = System.nanoTime()
    val context            = session.sparkContext
    val tasks              = new TaskTime(context)
    context.addSparkListener(tasks)
    val ((digest, finished), work) =
      try tasks.of {
          SQLExecution.withNewExecutionId(execution, Some("dovetail profile"))(AnswerDigest(execution)) ->
            System.nanoTime()
        }
      finally context.removeSparkListener(tasks)
    val metrics = ExecutedMetrics(execution.executedPlan)

    val root = JsonNodeFactory.instance.objectNode()
    root.put("enabled", DovetailConf.Enabled.get(state.conf)).put("rows", digest.rows)
    root.put(
      "seconds",
      Nanoseconds.toSeconds(finished - start)
    ).put(
      "planning_ms",
      Nanoseconds.toMillis(planned - start)
    ).put("dovetail_ms", trace.millis.toMap.getOrElse("total", 0.0))
    root.put("join_rows", metrics.joins.map(_.rows).sum).put("shuffle_bytes", metrics.shuffleBytes)
    // null means unknown
    root.put("task_seconds", work.map(w => Double.box(w.runMillis / 1e3)).orNull)
    root.put("gc_seconds", work.map(w => Double.box(w.gcMillis / 1e3)).orNull)
    root.put("spilled_bytes", work.map(w => Long.box(w.spilledBytes)).orNull)
    val joins = root.putArray("joins")
    metrics.joins.foreach { j =>
      val node      = joins.addObject().put("operator", j.operator)
      val relations = node.putArray("relations")
      j.relations.foreach(relations.add(_: String))
      node.put("rows", j.rows)
    }
    val orders = root.putArray("orders")
    ProfileCommand.orders(execution.optimizedPlan).foreach(orders.add(_: String))
    val atRun = root.putArray("run_time_orders")
    GroupAtRun.newOrders(execution.executedPlan).flatMap(_.order).foreach(atRun.add(_: String))
    root.set[ObjectNode]("digest", digest.toJson)
    Seq(Row(root.toString))
  }
}

object ProfileCommand {

  /**
   * Plans the query, and refuses commands before planning executes them. INSERT, for example, turns out to be a command
   * only after analysis.
   */
  private def planned(execution: QueryExecution): QueryExecution = {
    if (execution.analyzed.exists(_.isInstanceOf[Command]))
      throw NotAQuery("DOVETAIL PROFILE takes a query (SELECT …), not a command.", "asker" -> "DOVETAIL PROFILE")
    execution.executedPlan
    execution
  }

  /** Join orders of all groups of three or more relations in an optimized plan, with or without Dovetail. */
  def orders(plan: org.apache.spark.sql.catalyst.plans.logical.LogicalPlan): Seq[String] = plan match {
    case JoinGroup(group) =>
      val names = GroupNames(group)
      (if (group.leaves.size > 2) Seq(group.shape.render(names(_))) else Nil) ++ group.leaves.flatMap(orders)
    case other => other.children.flatMap(orders) ++ other.subqueries.flatMap(orders)
  }
}
