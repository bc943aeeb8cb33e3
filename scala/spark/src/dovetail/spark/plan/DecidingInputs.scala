package org.apache.spark.sql.dovetail.plan

import java.util.Locale

import dovetail.kernel.enumerate.{Regret, Search}
import dovetail.kernel.graph.JoinGraph
import org.apache.spark.sql.dovetail.deadline.PlanningTime
import org.apache.spark.sql.dovetail.report.Decision
import org.apache.spark.sql.dovetail.sample.RowCount
import org.apache.spark.sql.dovetail.stats.UncertainRows

/**
 * Counts inputs whose uncertain estimates decide between plans, before the plan is chosen.
 *
 * An input decides if, for some number of rows in its likely range, another plan would save much: at least the required
 * gain ([[Regret]]), and several times what the count costs. Such an input is read on the driver ([[RowCount]]), within
 * the time that is left for reading. [[dovetail.kernel.profile.Sampling]] gives the range.
 * Most queries have none: samples of small tables are complete or large, so only rare rows of large tables, rows that
 * lie together, and predicates that were not tried on rows are uncertain.
 */
final class DecidingInputs(planner: Planner, uncertain: UncertainRows) {
  import DecidingInputs._

  /**
   * Counts such inputs, and returns a remark for explain on each of them; empty if there are none. The statistics know
   * the counts from then on.
   */
  def count(ready: PreparedGroup, chosen: Decision, search: JoinGraph => Search): Vector[String] =
    if (!planner.countsInputs || chosen.asked.nonEmpty) Vector.empty
    else {
      val regret = new Regret(ready.graph, ready.group.shape, chosen.outcome.best.shape, search)
      candidates(ready).map { case (c, few, many) =>
        PlanningTime.check()
        val least =
          math.max(planner.minGain * chosen.outcome.best.cost.total, LeastSaving * c.count.nanos * planner.facts.tasks)
        (c, least, Seq(few, many).map(regret(c.relation, _, least)).max)
      }.filter { case (_, least, saved) => saved >= least && saved > 0.0 }
        .sortBy { case (c, _, saved) => (-saved, c.relation) }.take(MostCounted).flatMap { case (c, _, _) =>
          counted(ready, c)
        }
    }

  /** Inputs that can be counted and are uncertain, with the fewest and the most rows that they likely have. */
  private def candidates(ready: PreparedGroup): Vector[(Candidate, Double, Double)] = for {
    relation <- ready.graph.relations.indices.toVector
    if ready.graph.relations(relation).profile.rows == ready.estimated.relations(relation).profile.rows
    (few, many) = uncertain.likely(ready.leaves(relation))
    if many >= few * Uncertain && many - few >= FewRows
    count <- uncertain.count(ready.leaves(relation)) if count.isPossible
  } yield (Candidate(relation, count), few, many)

  private def counted(ready: PreparedGroup, c: Candidate): Option[String] = c.count.rows.map { rows =>
    val before = ready.graph.relations(c.relation).profile.rows.value
    uncertain.learn(ready.leaves(c.relation), rows)
    "the order depends on the rows of %s, which were counted: %,d, estimated %,.0f".formatLocal(
      Locale.ROOT,
      ready.names.shown(c.relation),
      rows,
      before
    )
  }
}

private object DecidingInputs {

  final private case class Candidate(relation: Int, count: RowCount)

  /** Factor between the most and the fewest likely rows from which an input is uncertain. */
  private val Uncertain = 2.0

  /** Least difference between them: fewer rows cost less than a millisecond, whatever the plan does with them. */
  private val FewRows = 1000.0

  /**
   * Least saving for which a count is made, in units of its cost: it saves nothing if the estimate turns out right.
   */
  private val LeastSaving = 4.0

  /** Most inputs of a group that are counted. */
  private val MostCounted = 3
}
