package dovetail.kernel.profile

import java.util.TreeMap

/**
 * Profile of a column of a union (UNION ALL), from the profiles of the column in its branches.
 *
 * Branches often have the same values (the keys of a dimension), or each has its own (one table per month). Their
 * ranges tell: a branch adds those of its values that lie outside the ranges of the branches with more values. If a
 * range is unknown, the branches are taken to have the same values.
 */
object UnitedColumn {

  /** Largest number of frequent values that are kept: as many as a collection of statistics keeps. */
  private[profile] val MostFrequent = 512

  /** Values of a union per value of branches that nobody has counted, up to which they decide its number of values. */
  private val MostCounted = 2.0

  /** @param branches rows of each branch, and its column; at least one */
  def apply(branches: Vector[(Double, ColumnProfile)]): ColumnProfile = {
    val rows                                                     = branches.map(_._1).sum
    val valued                                                   = branches.filter(weight(_) > 0.0)
    val columns                                                  = valued.map(_._2)
    val known                                                    = values(valued)
    val open                                                     = columns.filter(_.uncounted)
    def all(of: ColumnProfile => Option[Double]): Vector[Double] = {
      val found = columns.flatMap(of(_)); if (found.size == columns.size) found else Vector.empty
    }
    def distinct(of: ColumnProfile => Option[Double]): Option[Double] = all(of) match {
      case Vector() => None
      case ds       =>
        val some = known.fold(outside(columns, ds))(vs => math.min(vs.size.toDouble, ds.sum))
        Some(math.min(math.max(ds.max, some), math.max(rows, 1.0)))
    }
    def mean(of: ColumnProfile => Double): Double = if (rows <= 0.0) 0.0
    else math.max(0.0, math.min(1.0, branches.map { case (n, c) => n * of(c) }.sum / rows))
    val domain = distinct(_.domain)
    ColumnProfile(
      ndv = distinct(_.ndv),
      domain = domain,
      nulls = if (branches.exists(_._2.nulls.isDefined)) Some(mean(1.0 - _.nonNull)) else None,
      min = all(_.min).reduceOption(_ min _),
      max = all(_.max).reduceOption(_ max _),
      width = branches.map(_._2.width).reduce(_ or _),
      frequent = known.map(vs => Frequencies(vs.take(MostFrequent), complete = vs.size <= MostFrequent)),
      unseen = mean(_.unseen),
      repetition = if (known.isDefined) 0.0 else mean(_.repetition),
      // what is an upper limit in one branch is no more in the union, unless other branches have most of the values
      uncounted = known.isEmpty && open.nonEmpty && domain.forall(_ <= MostCounted * open.flatMap(_.domain).sum)
    )
  }

  /** Number of rows of a branch that have a value. */
  private def weight(branch: (Double, ColumnProfile)): Double = branch._1 * branch._2.nonNull

  /** All values with their shares, most frequent first, if those of all branches are known. */
  private def values(branches: Vector[(Double, ColumnProfile)]): Option[Vector[FrequentValue]] = {
    val listed = branches.flatMap { case (n, c) => c.frequent.filter(_.complete).map(weight((n, c)) -> _.values) }
    if (branches.isEmpty || listed.size < branches.size) None
    else {
      val all = listed.map(_._1).sum
      Some(listed.flatMap { case (n, vs) => vs.map(v => v.copy(share = v.share * n / all)) }.groupBy(_.key).values
        .map(same => same.head.copy(share = same.map(_.share).sum)).toVector.sortBy(v => (-v.share, v.key)))
    }
  }

  /** Values of the branch with most of them, and of each other branch those outside the ranges before. */
  private def outside(columns: Vector[ColumnProfile], ndvs: Vector[Double]): Double = {
    val ranges = columns.flatMap(c => for (low <- c.min; high <- c.max) yield (low, high))
    if (ranges.size < columns.size) ndvs.max
    else {
      val covered = new Covered
      ranges.zip(ndvs).sortBy(-_._2).map { case ((low, high), ndv) => ndv * (1.0 - covered.add(low, high)) }.sum
    }
  }

  /** The union of ranges, as ranges that do not touch: the end of each by its begin. */
  final private class Covered {
    private val ends = new TreeMap[Double, Double]

    /** Adds a range, and returns the share of it that was covered before. */
    def add(low: Double, high: Double): Double = {
      var (from, to, share) = (low, high, 0.0)
      var next              = ends.floorEntry(high)
      while (next != null && next.getValue >= low) {
        val (a, b) = (math.max(next.getKey, low), math.min(next.getValue, high))
        share += (if (low == high) 1.0 else Interval.part(a, b, low, high))
        from = math.min(from, next.getKey)
        to = math.max(to, next.getValue)
        ends.remove(next.getKey)
        next = ends.floorEntry(high)
      }
      ends.put(from, to)
      math.min(1.0, share)
    }
  }
}
