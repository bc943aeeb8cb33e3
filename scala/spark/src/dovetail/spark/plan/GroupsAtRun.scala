package org.apache.spark.sql.dovetail.plan

import scala.collection.mutable

import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.report.GroupAtRun

/**
 * The join groups of one plan whose order or methods may change while the query runs ([[ReorderAtRunTime]],
 * [[OrderAbove]]), as the search saw them.
 *
 * The plan holds only a light [[GroupAtRun]]. The graph, which can hold samples of rows, is in a cache of the JVM,
 * because a plan can live as long as a notebook. A group whose graph was evicted keeps its planned order.
 */
final class GroupsAtRun {
  private val found = mutable.ArrayBuffer.empty[GroupAtRun]

  def add(ready: PreparedGroup): Unit = {
    val group = new GroupAtRun(ready.graph.relations.map(_.name), GroupAtRun.columnsOf(ready.leaves))
    GroupsAtRun.graphs.put(group, ready.graph)
    found += group
    ()
  }

  /** Attaches the groups to the joins of the new plan. */
  def leaveWith(plan: LogicalPlan): Unit = GroupAtRun.mark(plan, found.toVector)
}

object GroupsAtRun {

  /**
   * Capacity of the cache in keys of samples: 16 MiB, enough for the graphs of a hundred queries, or of some with large
   * samples.
   */
  private val CachedKeys = 4L * 1024 * 1024

  /** Weight of a relation without its sample, in keys: its columns, classes and texts. */
  private val PerRelation = 1000L

  private val graphs = new BoundedCache[GroupAtRun, JoinGraph]("groups that run", CachedKeys)(weight)

  def graph(group: GroupAtRun): Option[JoinGraph] = graphs.get(group)

  private def weight(graph: JoinGraph): Long = graph.relations.map { r =>
    PerRelation + r.sample.fold(0L)(s => s.kept.size.toLong + s.keys.values.map(_.codes.length.toLong).sum)
  }.sum
}
