package org.apache.spark.sql.dovetail.plan

import dovetail.kernel.cost.CostModel
import dovetail.kernel.enumerate.{ReducerRules, Search}
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.{Decision, Trace}
import org.apache.spark.sql.dovetail.stats.PlanStatistics
import org.apache.spark.sql.dovetail.steer.Steering

/** A group with its search and the order that was chosen. */
final case class SearchResult(ready: PreparedGroup, search: Search, decision: Decision)

/**
 * Searches the order of a join group, and chooses between it, the written one and one that the user asks for
 * ([[OrderChoice]]). Inputs whose uncertain rows decide are counted, and then the group is searched again
 * ([[DecidingInputs]]). An order with nested loops that may still be far worse is replaced ([[SaferLoops]]). Below a
 * write, there may be no broadcasts ([[ManyFiles]]).
 */
final class GroupSearch(
    planner: Planner,
    steering: Steering,
    preparation: GroupPreparation,
    statistics: PlanStatistics,
    filters: FilterAllowance,
    files: ManyFiles
) {
  private val choice   = new OrderChoice(planner, steering)
  private val deciding = new DecidingInputs(planner, statistics.uncertain)
  private val safer    = new SaferLoops(planner)

  /**
   * @param share   share of the time for searching, 0 to 1
   * @param notes   remarks for explain
   * @param reduced relations from which semi joins with other inputs keep rows away
   */
  def apply(ready: PreparedGroup, share: Double, notes: Vector[String], reduced: Set[Int]): SearchResult = {
    val found = counted(searched(ready, share, notes), share, notes, reduced)
    safer(found)(by(found.ready, share, Vector.empty)(_))
  }

  private def searchOf(graph: JoinGraph, share: Double, rules: ReducerRules, costs: CostModel): Search =
    new Search(graph, costs, planner.budget(share), planner.costsAsWritten, rules)

  /** The choice by given costs. */
  private def by(ready: PreparedGroup, share: Double, notes: Vector[String]): CostModel => SearchResult = {
    val rules = ReducerFilters.rules(ready, planner, statistics, filters.items)
    costs => {
      val search = searchOf(ready.graph, share, rules, costs)
      SearchResult(ready, search, choice(ready, search, notes ++ ready.known.note ++ ready.remarks))
    }
  }

  private def searched(ready: PreparedGroup, share: Double, notes: Vector[String]): SearchResult = {
    val many  = files(ready)
    val found = by(ready, share, if (many) notes :+ ManyFiles.Note else notes)
    // again without broadcasts that do not fit together, as long as that leaves out more of them
    def fitting(first: SearchResult, limit: Double, more: Int): SearchResult = {
      val decision = first.decision
      val smaller  =
        if (more == 0 || !decision.mayBeRefused) None
        else ready.broadcasts(decision.outcome.best).largest.filter(_ < limit)
      val again = smaller.flatMap(most => PlanningTime.orNoneEarly(found(planner.costsWithin(most))).map(_ -> most))
      again.fold(first) { case (next, most) => fitting(next, most, more - 1) }
    }
    if (many) found(planner.costsWithin(0.0))
    else fitting(found(planner.costs), Double.PositiveInfinity, GroupSearch.MostSearches)
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

private object GroupSearch {

  /** Most searches for broadcasts that fit together, after the first one. */
  private val MostSearches = 3
}
