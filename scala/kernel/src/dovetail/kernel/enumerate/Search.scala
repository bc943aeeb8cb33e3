package dovetail.kernel.enumerate

import dovetail.kernel.cost.{CostModel, SubPlan}
import dovetail.kernel.graph.{Hypergraph, JoinGraph, RelSet}
import dovetail.kernel.size.CardinalityModel

/**
 * Result of a search.
 *
 * @param best      cheapest tree found; it may be the original one
 * @param original  tree as it was written, priced by the model for the written order
 * @param algorithm steps that made the plan: `dphyp` (exact), `goo` (greedy), `lindp` (linearized), or `written` if
 *                  conflicts or time left no greedy plan; with `+idp` if pieces of the plan were improved; or `given`
 * @param pairs     pairs of sub-plans considered, by all algorithms that ran
 * @param note      why the exact search did not finish, if it did not, and whether later steps ran out of time
 * @param runnerUp  cheapest other plan that was completely considered: one with another last join, or the written one;
 *                  None if there is no other. Computed only on request, because it is for reports and not for the plan.
 */
final case class Outcome(
    best: JoinTree,
    original: JoinTree,
    algorithm: String,
    pairs: Long,
    note: Option[String]
)(val runnerUp: () => Option[JoinTree]) {

  /** The same with the written tree as the best one, and the best one as the runner-up. */
  def asWritten: Outcome = copy(best = original)(() => Some(best))

  /** The same without what is computed on request, which keeps the search in memory. */
  def light: Outcome = copy(best = best.light, original = original.light)(() => None)
}

/**
 * Finds the join order of a graph within a budget of pairs and time: exactly, otherwise by linearized dynamic
 * programming, otherwise greedily. A plan that is not exact is then improved piece by piece. The greedy search runs
 * whatever the budget is. If operators leave no greedy plan, the written plan is improved.
 *
 * The adaptive scheme of Neumann and Radke, "Adaptive Optimization of Very Large Join Queries", SIGMOD 2018;
 * docs/internals/search.md says where we depart.
 *
 * @param asWritten cost model of the written order: what the engine does with it by itself, if that is less than what
 *                  `costs` can make the engine do
 * @param rules     reducers that plans may have
 */
final class Search(graph: JoinGraph, costs: CostModel, budget: Budget, asWritten: CostModel, rules: ReducerRules) {
  def this(graph: JoinGraph, costs: CostModel, budget: Budget, asWritten: CostModel) =
    this(graph, costs, budget, asWritten, ReducerRules.none)
  def this(graph: JoinGraph, costs: CostModel, budget: Budget) = this(graph, costs, budget, costs)

  private val model = new CardinalityModel(graph)
  private val sizer = new Sizer(graph, model)

  def run(written: Shape): Outcome = {
    require(written.leaves.sorted == graph.relations.indices.toVector, "the written order names every relation once")
    val original                                = asItIs(written)
    val (found, second, algorithm, pairs, note) = exact() match {
      case Right(table)       => (table.full, Option(table.second), Search.Exact, table.pairs, None)
      case Left((tried, why)) =>
        val (plan, name, n, said) = approximate(written, tried, why)
        (plan, None, name, n, said)
    }
    val best    = if (original.leastCost <= found.leastCost * Search.CostTolerance) original else found
    val again   = if (algorithm == Search.Exact) Reordering.Exact(pairs) else Reordering.Linear
    val reduced = reducers(found, again)
      .filter { case (plan, _) => rules.forced || plan.leastCost < best.leastCost }
    val chosen = reduced match {
      case Some((plan, by)) => JoinTree.fromPlan(plan, plan.best, by, costs)
      case None             => tree(best, if (best eq original) asWritten else costs)
    }
    val asIs = tree(original, asWritten)

    def next = {
      val others = (Vector(found) ++ second).filterNot(_ eq best).map(tree(_, costs)) :+ asIs
      others.filterNot(_.shape.sameJoins(chosen.shape)).sortBy(_.cost.total).headOption
    }
    Outcome(chosen, asIs, algorithm, pairs, note)(() => next)
  }

  /**
   * Prices an order that somebody else chose: the cheapest ways to execute its joins, with the reducers that pay off,
   * next to the written order. None if operators do not allow the order.
   */
  def priced(order: Shape, written: Shape): Option[Outcome] =
    Fragments.priced(order, new Fragments(graph, sizer, costs)).map(_.plan).map { plan =>
      val best = reducers(plan, Reordering.Fixed).fold(tree(plan, costs)) { case (p, by) =>
        JoinTree.fromPlan(p, p.best, by, costs)
      }
      Outcome(best, tree(asItIs(written), asWritten), Search.Given, 0L, None)(() => None)
    }

  /** The plan with the reducers that pay off, or None if there are none. */
  private def reducers(plan: SubPlan, again: Reordering): Option[(SubPlan, Sizer)] =
    if (rules.reducible.isEmpty || graph.size < 2) None
    else {
      val time = budget.again
      new ReducedSearch(graph, sizer, costs, time, again, rules.forced)
        .improve(plan, new ReducerCandidates(graph, rules).all(time.timeLeft))
    }

  private def asItIs(written: Shape): SubPlan =
    Fragments.priced(written, new Fragments(graph, sizer, asWritten)).map(_.plan).getOrElse(
      throw new IllegalArgumentException(
        s"the written order has joins that the graph's operators do not allow: $written is not its tree"
      )
    )

  private def tree(p: SubPlan, by: CostModel) = JoinTree.fromPlan(p, p.best, sizer, by)

  /** The table filled by the exact search. Otherwise, the number of pairs that it tried and why it did not finish. */
  private def exact(): Either[(Long, String), PlanTable] =
    if (graph.size > RelSet.MaxSize)
      Left((0L, s"${graph.size} relations: more than ${RelSet.MaxSize} are not searched exactly"))
    else {
      val edges = Hypergraph(graph)
      // Counting pairs is many times faster than pricing them, so a search that will not finish is not started.
      val stopped = if (Dphyp.pairsOfClique(graph.size) > budget.pairs)
        counter(edges).filterNot(new Dphyp(edges, _).run())
      else None
      if (stopped.isDefined) Left((0L, whyStopped(stopped.get.pairs)))
      else {
        val table = new PlanTable(graph.size, sizer, costs, budget)
        if (!new Dphyp(edges, table).run()) Left((table.pairs, whyStopped(table.pairs)))
        else if (table.full == null) Left((table.pairs, "conflict rules leave no order along edges"))
        else Right(table)
      }
    }

  /** Counts pairs in advance. None for inner joins with hyperedges, whose pairs are counted while they are priced. */
  private def counter(edges: Hypergraph): Option[PairCounter] =
    if (!sizer.innerOnly) Some(new LegalCounter(sizer, budget))
    else if (edges.hasGaps) None else Some(new PairCounter(budget))

  private def whyStopped(pairs: Long): String =
    if (pairs > budget.pairs) s"the exact search would take more than ${budget.pairs} pairs"
    else "the exact search ran out of time"

  /**
   * Improves the greedy plan, or the written plan if there is no greedy one. Both steps have time budgets that start
   * anew: the exact search may have used up all of its own.
   */
  private def approximate(written: Shape, tried: Long, why: String): (SubPlan, String, Long, Option[String]) = {
    val parts    = new Fragments(graph, sizer, costs)
    val time     = budget.again
    val goo      = new Greedy(graph, sizer, costs, time)
    val greedy   = goo.run()
    val start    = greedy.orElse(Fragments.priced(written, parts).map(_.plan)).getOrElse(asItIs(written))
    val meter    = new Meter(budget.inRest)
    val linear   = new LinearizedDp(parts, meter).improve(start)
    val found    = new IterativeDp(parts, meter, IterativeDp.Rounds).improve(linear)
    val first    = if (linear ne start) "lindp" else if (greedy.isDefined) "goo" else "written"
    val name     = if (found eq linear) first else s"$first+idp"
    val noGreedy = if (greedy.isDefined) None
    else Some(s"the greedy search ran ${if (time.timeLeft) "into a conflict" else "out of time"}")
    val notImproved = if (meter.inTime) None
    else Some(s"improving the ${if (greedy.isDefined) "greedy" else "written"} plan ran out of time")
    (found, name, tried + goo.pairs + meter.pairs, Some((Seq(why) ++ noGreedy ++ notImproved).mkString("; ")))
  }
}

object Search {

  /** The algorithm of a plan that is the cheapest of all. */
  private val Exact = "dphyp"

  /** The algorithm of a plan whose order was given and not searched. */
  val Given = "given"

  /** Costs within this factor are equal: the last digits of a sum depend on the order of its terms. */
  private val CostTolerance = 1.0 + 1e-9
}
