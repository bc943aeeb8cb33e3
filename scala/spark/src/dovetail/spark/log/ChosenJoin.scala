package org.apache.spark.sql.dovetail.log

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  LogicalQueryStage => AdaptiveStage,
  QueryStageExec
}
import org.apache.spark.unsafe.Platform
import org.apache.spark.sql.dovetail.leaf.LeafNames

/**
 * A join method that Dovetail chose. It is a tag on the physical operator, by which a failure is traced to the choice
 * (`plan.FailedJoins`).
 *
 * @param method join method as users know it
 * @param build  input that is broadcast or hashed
 */
final case class ChosenJoin(method: String, build: LogicalPlan) {

  /**
   * Identifies the same choice in another run: the tables, and the input as text without expression ids. User functions
   * are new objects each time Spark parses a query, but keep their names.
   */
  lazy val signature: String = {
    val text = s"$method of ${named.mkString(", ")}: ${planned.canonicalized}".getBytes(UTF_8)
    f"${XXH64.hashUnsafeBytes(text, Platform.BYTE_ARRAY_OFFSET.toLong, text.length, 0L)}%016x"
  }

  private lazy val planned = ChosenJoin.asPlanned(build)
  private lazy val named   = ChosenJoin.tables(planned)

  /** Tables below the input, for people. */
  def tables: Vector[String] = named.distinct
}

object ChosenJoin {
  val Broadcast = "broadcast"
  val Hash      = "hash table"

  private val Tag = TreeNodeTag[ChosenJoin]("dovetail.chosen")

  def mark(plans: Seq[SparkPlan], choice: ChosenJoin): Seq[SparkPlan] = {
    plans.foreach(_.setTagValue(Tag, choice)); plans
  }

  /** All choices in a plan, both as it was planned at first and as it is now. */
  def in(plan: SparkPlan): Vector[ChosenJoin] = plan match {
    case a: AdaptiveSparkPlanExec => in(a.initialPlan) ++ in(a.executedPlan)
    case s: QueryStageExec        => in(s.plan)
    // a cache that is filled has run its joins in an earlier query
    case c: InMemoryTableScanExec =>
      if (c.relation.cacheBuilder.isCachedColumnBuffersLoaded) Vector.empty else in(c.relation.cachedPlan)
    case p => p.getTagValue(Tag).toVector ++ (p.children ++ p.subqueries).flatMap(in)
  }

  /** The plan with its query stages replaced by the logical plans that they were made of. */
  private def asPlanned(plan: LogicalPlan): LogicalPlan = plan.transformUp { case s: AdaptiveStage =>
    asPlanned(s.logicalPlan)
  }

  private def tables(plan: LogicalPlan): Vector[String] = plan.collectLeaves().collect { case l: LeafNode =>
    LeafNames.name(l)
  }.toVector
}
