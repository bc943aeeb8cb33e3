package dovetail.kernel.cost

/**
 * Costs of the joins of a chain while its query runs ([[dovetail.kernel.enumerate.ChainOrder]]). The builds are
 * computed, so only the rows of the probe cost anything. Parts that are the same in every order are left out: the sort
 * and the merge of the builds.
 */
final class ChainCosts(constants: CostConstants) {
  import constants._

  /** A join that looks up each row of the probe in a broadcast. */
  def lookedUp(in: Double, out: Double): Cost = Cost(hash = in * hashProbe, output = out * rowProduced)

  /**
   * A join whose inputs are partitioned and sorted by its key.
   *
   * @param moved bytes of a row of the probe if its rows are exchanged and sorted for this join; None if they are
   *              partitioned and sorted by the key already
   */
  def merged(in: Double, out: Double, moved: Option[Double]): Cost = Cost(
    exchange = moved.fold(0.0)(width => exchange(in, in * width)),
    sort = in * merge + (if (moved.isEmpty) 0.0 else in * sortCompare * SubPlan.halvings(in)),
    output = out * rowProduced
  )
}
