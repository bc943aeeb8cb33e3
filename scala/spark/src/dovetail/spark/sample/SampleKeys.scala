package org.apache.spark.sql.dovetail.sample

import dovetail.kernel.profile.{ImpliedRange, KeyColumn, KeyFigures, KeyMemo, RowNumbers, SetCounts}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, KnownFloatingPointNormalized}
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.dovetail.base.{BoundedCache, HeapLimit}
import org.apache.spark.sql.dovetail.predicates.JoinKeys
import org.apache.spark.sql.dovetail.table.TableSample

/**
 * Cache of join keys of sampled tables, shared by queries: the keys of a column, the combined keys of several columns,
 * and the positions of the keys of one column among those of another. The entries cover whole samples, so queries with
 * other constants find them too. An entry is found only for its own sample, because the sample's id is part of the
 * cache key. Results on columns are found by the contents of the columns. Sizes of joins, and ranges of columns in the
 * rows that predicates keep, are cached for the same constants.
 */
private[sample] object SampleKeys extends KeyMemo {

  /**
   * Largest number of bytes of cached columns: some 280 columns of 20,000 rows, or 28 of 200,000 rows. The keys of all
   * tables of TPC-DS at scale 1 take 32 MB.
   */
  private val MostColumnBytes = HeapLimit(64L * 1024 * 1024, part = 40L)

  /** Largest number of bytes of cached keys of several columns, which few queries join by. */
  private val MostTogetherBytes = HeapLimit(16L * 1024 * 1024, part = 40L)

  /** Largest number of bytes of cached positions: some 400 pairs of columns of 20,000 keys. */
  private val MostPlaceBytes = HeapLimit(32L * 1024 * 1024, part = 40L)

  /** Largest number of bytes of cached join sizes: some 800 groups of eight relations. */
  private val MostCountBytes = 8L * 1024 * 1024

  private val columns =
    new BoundedCache[(Long, Int), KeyColumn]("keys of sampled columns", MostColumnBytes)(_.bytes + 1L)
  private val combined =
    new BoundedCache[Vector[Long], KeyColumn]("keys of several columns", MostTogetherBytes)(_.bytes + 1L)
  private val pairs =
    new BoundedCache[(Long, Long), Array[Int]]("keys among keys", MostPlaceBytes)(_.length.toLong * Integer.BYTES + 1L)

  private val groups =
    new BoundedCache[SetCounts.Group, SetCounts]("sizes of joins of samples", MostCountBytes)(_.bytes)

  /** Largest number of cached ranges: some 1 MB. A table has as many for a predicate as queries read columns. */
  private val MostRanges = 4096L

  /** Largest number of cached figures on keys: some 2 MB. */
  private val MostFigures = 8192L

  private val byKey = new BoundedCache[(Long, Long), KeyFigures]("figures on sampled keys", MostFigures)(_ => 1L)

  private val ranges =
    new BoundedCache[(Long, Int, Long), Option[ImpliedRange]]("ranges of sampled columns", MostRanges)(_ => 1L)

  /** The range of a column in the rows of a sample that predicates keep. */
  def range(table: TableSample, column: Int, rows: RowNumbers)(made: => Option[ImpliedRange]): Option[ImpliedRange] =
    kept(ranges, (table.id, column, rows.hash))(made)

  /** The keys of a column of the sample, or None if the expression is not a plain column. */
  def ofColumn(table: TableSample, e: Expression, key: JoinKeys): Option[KeyColumn] = column(e).map { c =>
    kept(columns, (table.id, c.ordinal))(KeyColumn(table.keys(c.ordinal, key)))
  }

  /** Whether [[KeptRows.keys]] finds the keys of all rows of the sample: the expression is a plain column. */
  def ofAllRows(e: Expression): Boolean = column(e).isDefined

  override def together(of: Vector[KeyColumn]): KeyColumn = kept(combined, of.map(_.id))(KeyColumn.together(of))

  override def places(of: KeyColumn, in: KeyColumn): Array[Int] = kept(pairs, (of.id, in.id))(in.placesOf(of))

  override def figures(column: KeyColumn, rows: RowNumbers, made: => KeyFigures): KeyFigures =
    kept(byKey, (column.id, rows.hash))(made)

  override def counts(of: SetCounts.Group, made: => SetCounts): SetCounts = kept(groups, of)(made)

  /** The column with the same keys as the expression: a cast without loss keeps the keys of its input. */
  private def column(e: Expression): Option[BoundReference] = e match {
    case b: BoundReference => Some(b)
    case c: Cast if Cast.canUpCast(c.child.dataType, c.dataType) && JoinKeys.nearlySame(c.child.dataType, c.dataType) =>
      column(c.child)
    // Spark adds them to floating-point keys; the keys are normalized anyway
    case n: NormalizeNaNAndZero          => column(n.child)
    case k: KnownFloatingPointNormalized => column(k.child)
    case _                               => None
  }

  private def kept[K, V](cache: BoundedCache[K, V], key: K)(made: => V): V = cache.get(key).getOrElse {
    val value = made
    cache.put(key, value)
    value
  }
}
