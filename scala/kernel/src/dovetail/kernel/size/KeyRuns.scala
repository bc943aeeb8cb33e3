package dovetail.kernel.size

/**
 * Keys on a line, grouped into runs of neighbors. [[SampleJoins]] uses the average of a run for keys that the sample
 * does not contain. A dimension is often numbered along the attribute that restricts it (days by date, and the days
 * that a table of weeks leaves), and the rows that ask for its keys come from a part of the line. The average of all
 * keys is then wrong by the ratio of the two ranges. The average of the neighbors is not.
 *
 * @param runOf number of each group's run; groups without rows belong to the run in which they lie
 * @param count number of runs, 2 or more
 */
final private[size] class KeyRuns private (val runOf: Array[Int], val count: Int) {

  /**
   * The mean weight of a row by run. It mixes a run's own mean with that of all runs. The more the runs differ beyond
   * chance, the more the own mean counts (the credibility of Buhlmann 1967, with the estimators of Buhlmann and Straub
   * 1970).
   *
   * @param weights one weight per kept row
   * @param groupOf group of a row, below 0 for a row without a group
   * @return means by run, or `None` if the runs differ no more than by chance
   */
  def means(weights: Array[Double], groupOf: Int => Int): Option[Array[Double]] = {
    val n, sums, squares = new Array[Double](count)
    var i                = 0
    while (i < weights.length) {
      val g = groupOf(i)
      if (g >= 0) {
        val run = runOf(g)
        n(run) += 1.0
        sums(run) += weights(i)
        squares(run) += weights(i) * weights(i)
      }
      i += 1
    }
    credible(n, sums, squares)
  }

  private def credible(n: Array[Double], sums: Array[Double], squares: Array[Double]): Option[Array[Double]] = {
    val rows                     = MessagePassing.total(n)
    val mean                     = MessagePassing.total(sums) / rows
    var (within, between, sizes) = (0.0, 0.0, 0.0)
    var run                      = 0
    while (run < count) {
      val own = sums(run) / n(run)
      within += math.max(0.0, squares(run) - sums(run) * own)
      between += n(run) * (own - mean) * (own - mean)
      sizes += n(run) * n(run)
      run += 1
    }
    val chance = within / (rows - count)
    val spread = (between - (count - 1) * chance) / (rows - sizes / rows)
    // the sum of squares of so many means differs by chance, too: twice its standard deviation
    if (!(between > (count - 1 + KeyRuns.ByChance * math.sqrt(2.0 * (count - 1))) * chance) || !(spread > 0.0)) None
    else {
      val prior = chance / spread
      Some(Array.tabulate(count)(run => (sums(run) + prior * mean) / (n(run) + prior)))
    }
  }
}

private[size] object KeyRuns {

  /** Standard deviations that runs differ from each other at least. */
  private val ByChance = 2.0

  /** Minimum rows of a run: few enough to follow the line, and enough to tell a mean from chance. */
  val LeastRows = 32

  /** @param sizes kept rows per group, by ascending key */
  def apply(sizes: Array[Int]): Option[KeyRuns] = {
    val runOf = new Array[Int](sizes.length)
    var run   = 0
    var rows  = 0
    var left  = 0L
    sizes.foreach(left += _)
    var g = 0
    while (g < sizes.length) {
      runOf(g) = run
      rows += sizes(g)
      left -= sizes(g)
      // the remaining rows get another run only if there are enough of them
      if (rows >= LeastRows && left >= LeastRows) { run += 1; rows = 0 }
      g += 1
    }
    if (run == 0) None else Some(new KeyRuns(runOf, run + 1))
  }
}
