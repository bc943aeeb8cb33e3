package dovetail.kernel.enumerate

import dovetail.kernel.cost.{CostModel, FilterWork, JoinMethod, SubPlan}
import dovetail.kernel.graph.{Hypergraph, JoinGraph}

/**
 * Adds reducers to a plan, one at a time, as long as each of them pays off.
 *
 * A reducer is a choice of the search: with a reducer, all sets that contain the reduced relation but not yet the
 * source of its keys have fewer rows, so another order may be the best one. The plan table has one entry per set of
 * relations, and for a given set of reducers every set of relations has one size. So one table is made per set of
 * reducers. Each table is exact for its reducers, while the set of reducers is extended greedily (the best reducer,
 * then the best one in addition to it, …). Tables that hold plans with and without each reducer side by side (Zeyl et
 * al., "Including Bloom filters in bottom-up optimization", SIGMOD 2025) would be exact in this respect too, but grow
 * by a factor of two for each reducer.
 *
 * If so many tables would take too long, only the reducers that drop the most rows get a table. The others are compared
 * on the current order, and the order is searched again after one of them is chosen: an order that was the best without
 * reducers may have no use for the one that another order needs.
 *
 * @param reordering how the order is searched again with a reducer
 */
final class ReducedSearch(
    graph: JoinGraph,
    sizer: Sizer,
    costs: CostModel,
    budget: Budget,
    reordering: Reordering,
    forced: Boolean
) {
  import ReducedSearch._

  /** The plan with the reducers that pay off, and its sizer. None if no reducer pays off. */
  def improve(start: SubPlan, candidates: => Vector[Reducer]): Option[(SubPlan, Sizer)] =
    if (forced || worthwhile(start)) added(start, candidates) else None

  /**
   * Whether a filter can save as much as it must: more than a filter without any rows costs, and no more than the joins
   * cost that exchange their inputs. A broadcast join drops rows as early and for as little as a filter does.
   */
  private def worthwhile(start: SubPlan): Boolean = {
    val least = start.leastCost * LeastGain
    costs.filter(FilterWork.none).exists(_ <= least) && exchanging(start, start.best) >= least
  }

  /** Cost of the joins of a plan that are not broadcast joins. */
  private def exchanging(p: SubPlan, i: Int): Double =
    if (p.isLeaf) 0.0
    else {
      val (l, r) = (p.leftAlternative(i), p.rightAlternative(i))
      val own    = p.method(i) match {
        case JoinMethod.BroadcastLeft | JoinMethod.BroadcastRight => 0.0
        case _                                                    => p.cost(i) - p.left(i).cost(l) - p.right(i).cost(r)
      }
      own + exchanging(p.left(i), l) + exchanging(p.right(i), r)
    }

  private def added(start: SubPlan, candidates: Vector[Reducer]): Option[(SubPlan, Sizer)] = {
    val most = if (forced) MostForced else Reducer.MostOfGroup
    var now  = ReducedPlan(start, sizer)
    var left = if (forced) candidates.take(MostForced) else candidates.filter(r => costs.filter(r.work).isDefined)
    var open = true
    while (open && left.nonEmpty && now.sizer.reducers.size < most && budget.timeLeft) {
      val tried = if (forced) left.take(1).flatMap(priced(now, _, again = false)) else all(now, left)
      // a reducer that does not pay off by itself hardly does in addition to another one
      left = tried.map(_._1)
      tried.headOption match {
        case None              => open = false
        case Some((r, better)) => now = better; left = left.filterNot(_.overlaps(r))
      }
      if (forced) left = candidates.take(MostForced).filterNot(c => now.sizer.reducers.exists(_.overlaps(c)))
    }
    if (now.sizer.reducers.isEmpty) None else Some((now.plan, now.sizer))
  }

  /** The reducers that pay off, the best first. */
  private def all(now: ReducedPlan, left: Vector[Reducer]): Vector[(Reducer, ReducedPlan)] = {
    val searches = reordering match {
      case Reordering.Exact(pairs) => MostPairs / math.max(pairs, 1L)
      case Reordering.Linear       => MostPairs / LinearizedDp.most(graph.size)
      case Reordering.Fixed        => 0L
    }
    val found = left.zipWithIndex.takeWhile(_ => budget.timeLeft).flatMap { case (r, i) =>
      val again = i < searches
      priced(now, r, again).filter(p => pays(now, p._2, r)).map(_ -> again)
    }.sortBy(_._1._2.cost)
    // of those that were compared on one order, only the best one of all is worth a search
    found.zipWithIndex.map { case (((r, p), again), i) => r -> (if (i > 0 || again) p else searched(p)) }
  }

  /** Whether a reducer saves twice what it costs, and a share of the whole cost that an estimate can tell apart. */
  private def pays(before: ReducedPlan, after: ReducedPlan, r: Reducer): Boolean = {
    val saved = before.cost - after.cost
    saved >= before.cost * LeastGain && saved >= costs.filter(r.work).getOrElse(Double.PositiveInfinity)
  }

  private def priced(now: ReducedPlan, r: Reducer, again: Boolean): Option[(Reducer, ReducedPlan)] = {
    val more = sizer.reducing(now.sizer.reducers :+ r)
    val plan = Fragments.priced(Shape.of(now.plan, now.plan.best), new Fragments(graph, more, costs))
    plan.map(p => r -> (if (again) searched(ReducedPlan(p.plan, more)) else ReducedPlan(p.plan, more)))
  }

  /** The cheapest order with the same reducers, if a search finds one in time. */
  private def searched(p: ReducedPlan): ReducedPlan = {
    val found = reordering match {
      case Reordering.Exact(_) => exactly(p)
      case Reordering.Linear   => linearly(p)
      case Reordering.Fixed    => None
    }
    found.map(ReducedPlan(_, p.sizer)).filter(_.cost < p.cost).getOrElse(p)
  }

  private def exactly(p: ReducedPlan): Option[SubPlan] = {
    val table = new PlanTable(graph.size, p.sizer, costs, budget)
    if (new Dphyp(edges, table).run()) Option(table.full) else None
  }

  private def linearly(p: ReducedPlan): Option[SubPlan] =
    Some(new LinearizedDp(new Fragments(graph, p.sizer, costs), new Meter(budget)).improve(p.plan))

  private lazy val edges = Hypergraph(graph)
}

/** How the order of a plan is searched again with a reducer. */
sealed trait Reordering

object Reordering {

  /** By the exact search, which considered so many pairs without reducers. */
  final case class Exact(pairs: Long) extends Reordering

  /** By linearized dynamic programming, because the exact search did not finish without reducers. */
  case object Linear extends Reordering

  /** Not at all, because somebody else chose the order. */
  case object Fixed extends Reordering
}

private object ReducedSearch {

  /** A plan with reducers, and the sizer that knows them. */
  final case class ReducedPlan(plan: SubPlan, sizer: Sizer) {
    def cost: Double = plan.leastCost
  }

  /** Maximum number of reducers of one group if all allowed ones are taken, for tests. */
  val MostForced = 6

  /**
   * Share of a plan's cost that a reducer must save. Stages that wait for a filter leave cores idle, which costs do not
   * show: of six TPC-DS queries at scale 10 with estimated savings of at most 27 %, none became faster.
   */
  val LeastGain = 0.3

  /** Number of pairs in the searches by which reducers are compared: some 20 ms. */
  val MostPairs = 20000L
}
