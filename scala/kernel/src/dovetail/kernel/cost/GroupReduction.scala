package dovetail.kernel.cost

/**
 * Work of a grouping, and of a semi join in front of it that removes the rows of groups that nobody asks for (Bernstein
 * and Chiu, "Using semi-joins to solve relational queries", JACM 1981; Seshadri et al., "Cost-based optimization for
 * magic", SIGMOD 1996). In the constants of the physical model.
 *
 * @param rows       input rows of the grouping
 * @param groups     output rows of the grouping
 * @param groupBytes bytes of one group
 * @param kept       share of the rows that the semi join keeps
 * @param tableRows  rows of the semi join's right side, which is broadcast
 * @param tableBytes bytes of the semi join's right side
 */
final case class GroupReduction(
    rows: Double,
    groups: Double,
    groupBytes: Double,
    kept: Double,
    tableRows: Double,
    tableBytes: Double
) {

  /** Share of the grouping's work that is saved; negative if the semi join costs more than it saves. */
  def gain(constants: CostConstants, facts: ClusterFacts): Double = {
    import constants._
    val grouping = rows * hashBuild + math.min(rows, groups) * (exchangeRow + groupBytes * exchangeByte)
    val semiJoin = rows * hashProbe + broadcast(tableRows, tableBytes, facts.executors)
    val waiting  = GroupReduction.Latency * math.min(facts.tasks.toDouble, GroupReduction.MostWaiting)
    1.0 - kept - (semiJoin + waiting) / math.max(grouping, Double.MinPositiveValue)
  }
}

object GroupReduction {

  /**
   * Nanoseconds that the scan below the grouping waits for the broadcast, however few rows that has: Spark starts,
   * runs and collects a job of one stage in about this time. All cores wait. Without the semi join, the same broadcast
   * runs beside the scan.
   */
  val Latency = 5e7

  /**
   * Largest number of cores that count as waiting. The model underestimates a grouping with millions of groups, whose
   * hash table misses the caches: on two cores, TPC-H q17 at scale 10 became 30 s faster, of which it knows 1 s. With
   * the wait of all cores of a large cluster, it would give such reductions up.
   */
  val MostWaiting = 8.0
}
