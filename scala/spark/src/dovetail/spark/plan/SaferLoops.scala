package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import dovetail.kernel.cost.CostModel
import dovetail.kernel.enumerate.{JoinTree, LoopRisk, Outcome}
import dovetail.kernel.profile.Estimate
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.Decision

/**
 * Replaces an order whose nested loops may be far worse than the written order, because estimates may be too low
 * ([[LoopRisk]]). The group is searched again with loops at their highest cost. If that gives no order that saves
 * enough without such loops, the written order stays.
 */
final class SaferLoops(planner: Planner) {
  import SaferLoops._

  /** @param again searches the group again by other costs */
  def apply(found: SearchResult)(again: CostModel => SearchResult): SearchResult = {
    val decision = found.decision
    val risk     = if (decision.mayBeRefused) riskOf(decision.outcome) else None
    risk.fold(found) { loop =>
      val why   = reason(loop, found.ready.names.shown)
      val other = PlanningTime.orNoneEarly(again(planner.costsOfLoops)).flatMap(safe(found, _))
      val safer = other.fold(decision.bar(why))(outcome =>
        decision.copy(outcome, notes = decision.notes :+ s"the cheapest order is not taken: $why")
      )
      found.copy(decision = safer)
    }
  }

  private def riskOf(outcome: Outcome): Option[JoinTree.Join] =
    LoopRisk(outcome.best, outcome.original, LeastNanos * planner.facts.tasks)

  /**
   * The order of the second search at the costs of the first one, if it saves enough, has no such loops, and if all of
   * its broadcasts fit.
   */
  private def safe(found: SearchResult, again: SearchResult): Option[Outcome] = {
    val (first, second) = (found.decision.outcome, again.decision.outcome)
    found.search.priced(second.best.shape, found.ready.group.shape)
      .map(o => o.copy(algorithm = second.algorithm, pairs = first.pairs + second.pairs)(() => Some(first.best)))
      .filter { o =>
        val gain = Decision.gain(o)
        gain > 0.0 && gain >= planner.minGain && riskOf(o).isEmpty && found.ready.broadcasts(o.best).largest.isEmpty
      }
  }
}

private object SaferLoops {

  /** Time that all pairs of the loops may take on all cores of the cluster without being a risk: 10 s. */
  private val LeastNanos = 1e10

  private def reason(loop: JoinTree.Join, names: Vector[String]): String = {
    def name(t: JoinTree) = t.relations.map(names).mkString(", ")
    s"the join of ${name(loop.left)} with ${name(loop.right)} would compare all pairs of their rows, about " +
      s"${rows(loop.left.rows.value)} times ${rows(loop.right.rows.value)} by the estimates, but possibly " +
      s"${rows(loop.left.most)} times ${rows(loop.right.most)}"
  }

  private def rows(number: Double): String =
    if (number >= Estimate.Ceiling) "an unknown number" else "%,.0f".formatLocal(Locale.ROOT, number)
}
