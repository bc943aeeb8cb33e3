package dovetail.kernel.graph

/**
 * The operator that reads the rows of all relations, if it needs them clustered: a grouping needs all rows of a group
 * in one task, a window those of a partition. Rows that are hash partitioned by some of its columns need no exchange
 * for it, so they are an interesting order of the root (Selinger et al., "Access path selection in a relational
 * database management system", SIGMOD 1979, section 5).
 *
 * @param columns  caller's ids of those of its columns that are join keys
 * @param groups   maximum number of rows that each task makes of its rows before the exchange; infinite if it exchanges
 *                 the rows as they are
 * @param tasks    tasks that do so
 * @param rowNanos nanoseconds that the exchange of one such row takes
 */
final case class Clustering(columns: Set[Long], groups: Double, tasks: Double, rowNanos: Double) {

  /** Nanoseconds that its exchange takes for so many joined rows. */
  def exchange(rows: Double): Double = rowNanos * Clustering.exchanged(rows, groups, tasks)
}

object Clustering {

  /**
   * Rows that reach an exchange after each task has grouped its own rows. A task meets a group about as often as if the
   * rows were distributed at random.
   */
  def exchanged(rows: Double, groups: Double, tasks: Double): Double =
    if (groups.isInfinite) rows
    else {
      val n = math.max(1.0, math.min(tasks, rows))
      math.min(rows, n * groups * -math.expm1(-rows / n / math.max(groups, 1.0)))
    }
}
