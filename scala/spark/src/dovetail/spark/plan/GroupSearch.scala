package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.CostModel
import dovetail.kernel.enumerate.{ReducerRules, Search}
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.{Decision, Trace}
import org.apache.spark.sql.dovetail.stats.UncertainRows
import org.apache.spark.sql.dovetail.steer.Steering

/** A group with its search and the order that was chosen. */
final case class SearchResult(ready: PreparedGroup, search: Search, decision: Decision)

/**
 * Searches the order of a join group, and chooses between it, the written one and one that the user asks for
 * ([[OrderChoice]]). Inputs whose uncertain rows decide are counted, and then the group is searched again
 * ([[DecidingInputs]]).
 */
final class GroupSearch(
    planner: Planner,
    steering: Steering,
    preparation: GroupPreparation,
    uncertain: UncertainRows,
    filters: FilterAllowance
) {
  private val choice   = new OrderChoice(planner, steering)
  private val deciding = new DecidingInputs(planner, uncertain)

  /**
   * @param share   share of the time for searching, 0 to 1
   * @param notes   remarks for explain
   * @param reduced relations from which semi joins with other inputs keep rows away
   */
  def apply(ready: PreparedGroup, share: Double, notes: Vector[String], reduced: Set[Int]): SearchResult =
    counted(searched(ready, share, notes), share, notes, reduced)

  private def searchOf(graph: JoinGraph, share: Double, rules: ReducerRules, costs: CostModel): Search =
    new Search(graph, costs, planner.budget(share), planner.costsAsWritten, rules)

  private def searched(ready: PreparedGroup, share: Double, notes: Vector[String]): SearchResult = {
    val rules                = ReducerFilters.rules(ready, planner, filters.items)
    def by(costs: CostModel) = {
      val search = searchOf(ready.graph, share, rules, costs)
      SearchResult(ready, search, choice(ready, search, notes ++ ready.known.note ++ ready.remarks))
    }
    val first    = by(planner.costs)
    val decision = first.decision
    val smaller  =
      if (!decision.taken || decision.asked.nonEmpty) None
      else new GroupBroadcasts(decision.outcome.best, ready.memory).largest
    smaller.flatMap(most => PlanningTime.orNoneEarly(by(planner.costsWithin(most)))).getOrElse(first)
  }

  /** The same again, if inputs on whose estimates the order depends could be counted. */
  private def counted(found: SearchResult, share: Double, notes: Vector[String], reduced: Set[Int]): SearchResult = {
    val counts = Trace.timed("estimate")(PlanningTime.orNoneEarly(
      deciding.count(found.ready, found.decision, searchOf(_, share, ReducerRules.none, planner.costs))
    ).getOrElse(Vector.empty))
    if (counts.isEmpty) found
    else searched(Trace.timed("estimate")(preparation.again(found.ready, reduced)), share, notes ++ counts)
  }
}
