package dovetail.kernel.profile

/**
 * Bytes of a column's values in memory: an average to plan with, and bounds to be safe by. A bound that nobody knows is
 * [[Estimate.Ceiling]]; a column without any bound may be as large as it likes, and what has such a column is neither
 * broadcast nor hashed.
 *
 * @param mean   of a value that is not NULL
 * @param most   bytes that a row takes for it at most, its slot included
 * @param total  bytes that all values of the relation take together at most, without the slots that NULLs have too: it
 *               holds for any part of the rows, however the long values lie
 * @param source where the bounds come from; [[Source.Assumed]] where there are none
 */
final case class Width(
    mean: Double,
    most: Double = Estimate.Ceiling,
    total: Double = Estimate.Ceiling,
    source: Source = Source.Assumed
) {
  def known: Boolean = most < Estimate.Ceiling || total < Estimate.Ceiling

  /** These are numbers of bytes. */
  def sensible: Boolean = Seq(mean, most, total).forall(b => b >= 0.0 && !b.isInfinite)

  /** Of rows that may come more often than they did: only the bound of a single value holds. */
  def multiplied: Width = times(Estimate.Ceiling)

  /** Of rows each of which comes so many times at most. */
  def times(n: Double): Width = if (n <= 1.0) this else copy(total = math.min(total * n, Estimate.Ceiling))

  /** Of values that are one of these or one of those. */
  def or(that: Width): Width =
    Width(
      math.max(mean, that.mean),
      math.max(most, that.most),
      math.min(total + that.total, Estimate.Ceiling),
      Source.weakest(source, that.source)
    )
}

object Width {

  /** Every row takes the same. */
  def fixed(mean: Double, slot: Double): Width = Width(mean, slot, Estimate.Ceiling, Source.Exact)

  /** Nobody has measured it. */
  def unknown(mean: Double): Width = Width(mean)

  /** Of a value of variable length. */
  def measured(mean: Double, longest: Option[Double], total: Option[Double], source: Source): Width =
    Width(mean, longest.fold(Estimate.Ceiling)(slot), total.getOrElse(Estimate.Ceiling), source)

  /** Bytes that a row takes for a value of this length: offset and length, and the value up to the next word. */
  def slot(length: Double): Double = Slot + padded(1.0, length)

  /** Bytes that so many values take besides their slots, which have so many bytes together. */
  def padded(values: Double, bytes: Double): Double = bytes + values * (Slot - 1.0)

  /** Bytes of a word, of which rows are made. */
  val Slot = 8.0
}

/**
 * Bytes of one relation's rows in memory, without what a row takes beside its columns.
 *
 * A set of rows is bounded in two ways: each row by its longest values (`most`), or the columns of known total by that
 * total and their slots, and the others by their longest values (`rest`). Which is tighter depends on how many rows
 * there are.
 */
final case class RowBytes(mean: Double, most: Double, rest: Double, total: Double) {

  /**
   * Bytes of `rows` rows at most, out of a relation of `of`, each of which comes equally often where there are more.
   *
   * Where a join repeats rows unevenly the total may be exceeded; the longest values are then the only certain bound.
   */
  def atMost(rows: Double, of: Double): Double =
    math.min(Estimate.Ceiling, math.min(rows * most, rows * rest + math.max(1.0, rows / math.max(of, 1.0)) * total))
}

object RowBytes {
  def apply(columns: Iterable[Width]): RowBytes = {
    var (mean, most, rest, total) = (0.0, 0.0, 0.0, 0.0)
    columns.foreach { c =>
      mean += c.mean
      most = math.min(most + c.most, Estimate.Ceiling)
      if (c.total < Estimate.Ceiling) { total += c.total; rest += Width.Slot }
      else rest = math.min(rest + c.most, Estimate.Ceiling)
    }
    RowBytes(mean, most, rest, total)
  }

  /** All rows are equally long. */
  def fixed(bytes: Double): RowBytes = RowBytes(bytes, bytes, bytes, 0.0)
}
