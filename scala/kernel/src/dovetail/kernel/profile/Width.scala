package dovetail.kernel.profile

/**
 * Bytes of a column's values in memory: an average for planning, and bounds for safety. A bound that nobody knows is
 * [[Estimate.Ceiling]]. Values of a column without any bound may have any length, so an input with such a column is
 * neither broadcast nor hashed.
 *
 * @param mean   average bytes of a value that is not NULL
 * @param most   maximum bytes that a row takes for the value, including its slot
 * @param total  maximum bytes that all values of the relation take together, without the slots, which NULLs have too.
 *               This bound holds for any subset of the rows, wherever the long values are.
 * @param source source of the bounds; [[Source.Assumed]] if there are none
 */
final case class Width(
    mean: Double,
    most: Double = Estimate.Ceiling,
    total: Double = Estimate.Ceiling,
    source: Source = Source.Assumed
) {
  def known: Boolean = most < Estimate.Ceiling || total < Estimate.Ceiling

  /** Whether all numbers are possible numbers of bytes. */
  def sensible: Boolean = Seq(mean, most, total).forall(b => b >= 0.0 && !b.isInfinite)

  /** The width after an operation that may repeat rows: only the bound of a single value holds. */
  def multiplied: Width = times(Estimate.Ceiling)

  /** The width after an operation that repeats each row at most `n` times. */
  def times(n: Double): Width = if (n <= 1.0) this else copy(total = math.min(total * n, Estimate.Ceiling))

  /** The width of values that come from either of two columns. */
  def or(that: Width): Width =
    Width(
      math.max(mean, that.mean),
      math.max(most, that.most),
      math.min(total + that.total, Estimate.Ceiling),
      Source.weakest(source, that.source)
    )
}

object Width {

  /** The width of a type that takes the same bytes in every row. */
  def fixed(mean: Double, slot: Double): Width = Width(mean, slot, Estimate.Ceiling, Source.Exact)

  /** A width that nobody has measured. */
  def unknown(mean: Double): Width = Width(mean)

  /** The measured width of values of variable length. */
  def measured(mean: Double, longest: Option[Double], total: Option[Double], source: Source): Width =
    Width(mean, longest.fold(Estimate.Ceiling)(slot), total.getOrElse(Estimate.Ceiling), source)

  /** Bytes that a row takes for a value of this length: offset and length, and the value padded to whole words. */
  def slot(length: Double): Double = Slot + padded(1.0, length)

  /** Maximum bytes, beyond their slots, of `values` values that have `bytes` bytes together. */
  def padded(values: Double, bytes: Double): Double = bytes + values * (Slot - 1.0)

  /** Bytes of a word, the unit that rows are made of. */
  val Slot = 8.0
}

/**
 * Bytes of one relation's rows in memory, without the overhead of a row beyond its columns.
 *
 * A set of rows has two bounds. One takes the longest values of each row (`most`). The other takes the total of the
 * columns whose total is known, with their slots, and the longest values of the other columns (`rest`). Which bound is
 * tighter depends on the number of rows.
 */
final case class RowBytes(mean: Double, most: Double, rest: Double, total: Double) {

  /**
   * Maximum bytes of `rows` rows from a relation of `of` rows. If there are more rows than that, each row is assumed to
   * occur equally often.
   *
   * If a join repeats rows unevenly, the total may be exceeded. The longest values are then the only certain bound.
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

  /** Rows that all have the same length. */
  def fixed(bytes: Double): RowBytes = RowBytes(bytes, bytes, bytes, 0.0)
}
