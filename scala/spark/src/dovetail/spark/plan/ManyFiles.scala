package org.apache.spark.sql.dovetail.plan

import java.util.{Collections, IdentityHashMap}

import dovetail.kernel.size.CardinalityModel
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Sort}
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.predicates.Widths
import org.apache.spark.sql.execution.command.DataWritingCommand
import org.apache.spark.sql.internal.SQLConf

/**
 * Tells whether broadcasts would make a query write many small files, as in `INSERT … SELECT` with a join.
 *
 * Each task of the last stage writes a file. Where plain Spark exchanges the inputs of a join, these are at most as
 * many as an exchange has partitions, and adaptive execution merges small ones. A broadcast of Dovetail's choice would
 * take the exchange away, so that the tasks which scan the largest table write: one for each 128 MiB of it. So the
 * joins of such a group get no broadcasts of Dovetail's choice if the files would be small; Spark's own stay. Writes of
 * connectors do not count, because a connector may ask for an exchange in front of its write.
 */
final class ManyFiles(plan: LogicalPlan, planner: Planner) {
  import ManyFiles._

  /** The plans whose rows are written by the tasks that make them. */
  private val written = Collections.newSetFromMap(new IdentityHashMap[LogicalPlan, java.lang.Boolean])
  plan.foreach { case w: DataWritingCommand => enter(w.query); case _ => () }

  private def enter(rows: LogicalPlan): Unit = {
    PlanningTime.check()
    written.add(rows)
    rows match {
      case s: Sort if !s.global => enter(s.child)
      case other                => other.children.filter(NeededRows.passes(other, _)).foreach(enter)
    }
  }

  def apply(ready: PreparedGroup): Boolean = written.contains(ready.group.top) && exchanges(ready.group.top) && {
    val conf = ready.group.top.conf
    // those of a table whose files are listed: the sizes of other inputs may be unknown
    val tasks = ready.leaves.map(InputTasks.known(_, planner.allTasks)).filterNot(_.isInfinite).foldLeft(0.0)(math.max)
    tasks > MoreTasks * conf.numShufflePartitions &&
    bytes(ready) < tasks * conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES) * SmallShare
  }

  /** Whether Spark by itself exchanges the inputs of a join. */
  private def exchanges(top: LogicalPlan): Boolean =
    top.exists { case j: Join => SparkBuildSide(j).isEmpty; case _ => false }

  private def bytes(ready: PreparedGroup): Double = {
    val all = ready.graph.relations.indices.toArray
    new CardinalityModel(ready.graph).estimate(all).value *
      ready.group.top.output.map(a => Widths.ofType(a.dataType).mean).sum
  }
}

private object ManyFiles {

  /** The remark for explain. */
  val Note = "no input was chosen for a broadcast: the tasks that read the largest table would write many small files"

  /** How many times more files than plain Spark writes are too many. A scan of a few more tasks needs no exchange. */
  private val MoreTasks = 2.0

  /**
   * Share of the bytes that Spark wants in a task after an exchange (64 MiB by default) below which a file is small.
   * For larger files, an exchange costs more than a reader of the files gains.
   */
  private val SmallShare = 0.25
}
