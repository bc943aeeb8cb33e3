package dovetail.kernel.enumerate

import dovetail.kernel.graph.{JoinGraph, KnownSize}
import dovetail.kernel.profile.Source

/**
 * How much more a plan costs than the best plan if a relation has other rows than estimated. A relation for which this
 * is much within the likely range of its rows is worth counting before the plan is chosen. Markl et al. compute such
 * ranges for every edge of a plan ("Robust query processing through progressive optimization", SIGMOD 2004, §2.2);
 * here, the search runs again for given rows.
 *
 * @param written the written order
 * @param plan    the plan, chosen by estimates
 * @param search  search of a graph
 */
final class Regret(graph: JoinGraph, written: Shape, plan: Shape, search: JoinGraph => Search) {

  /**
   * Cost that another plan would save, in the unit of the cost model, if the relation had this many rows. 0 without a
   * search if the plan itself then costs less than `least`: no other plan saves that much.
   */
  def apply(relation: Int, rows: Double, least: Double): Double = {
    val other = search(graph.knowing(Map(Set(relation) -> KnownSize.exactly(rows, Source.Assumed))))
    other.priced(plan, written).map(_.best.cost.total).filter(_ >= least).fold(0.0)(cost =>
      math.max(0.0, cost - other.run(written).best.cost.total)
    )
  }
}
