package dovetail.kernel.graph

import dovetail.kernel.profile.{ColumnProfile, RelationProfile}

/**
 * Estimates the domains of columns that nobody has counted, if such a column is joined with a key.
 *
 * For a column without statistics, often only its range is known. 60,702 whole numbers lie between 19920101 and
 * 19980802, and only 2,406 of them are days. A range tells how many values are possible, not how many exist. If the
 * column is joined with a column that looks like a key, we take it for a foreign key: its values are those key values
 * that lie in its range (containment, Selinger et al. 1979; the known domain is the one that contains the other).
 *
 * If neither of two columns looks like a key, the ranges stay. They also stay for a column that is a key by its own
 * range, which means that its table has exactly as many rows as there are whole numbers in the range (numbers given out
 * one after the other). The column that it is joined with may look as if it had as many values as rows too, and still
 * be a foreign key with few of the values. Approximately as many rows would not be enough: four line items for each
 * order, whose keys take every fourth number, also make about as many rows as there are numbers.
 */
object ForeignKeys {

  /**
   * @param members  members of a class, or the two sides of an equality
   * @param profiles profiles of the relations, by relation index
   * @return the members in the same order; the domain of an uncounted column is at most the number of key values in its
   *         range
   */
  def apply(members: Vector[Member], profiles: Vector[RelationProfile]): Vector[Member] =
    if (!members.exists(_.column.uncounted)) members
    else members.map { m =>
      val met = for {
        domain <- m.column.domain if !isCounted(m.column, profiles(m.relation).baseRows)
        held   <- members.filter(isKeyFor(m, _, profiles)).flatMap(valuesFor(m.column, _)).reduceOption(_ max _)
      } yield math.min(domain, held)
      met.fold(m)(d => m.copy(column = m.column.copy(domain = Some(d))))
    }

  /**
   * Whether `other` is a column of another relation that `m` may refer to: it has about as many values as that relation
   * has rows. A column is not a foreign key to the same column of the same table.
   */
  private def isKeyFor(m: Member, other: Member, profiles: Vector[RelationProfile]): Boolean =
    other.relation != m.relation && !m.column.origin.exists(other.column.origin.contains) &&
      other.column.isLikeKey(profiles(other.relation).baseRows)

  /**
   * Whether a column is a key whose values fill their range: the range has as many whole numbers as the table has rows.
   */
  private def isDense(column: ColumnProfile, rows: Double): Boolean =
    column.domain.contains(rows) && (for (low <- column.min; high <- column.max) yield high - low + 1.0).contains(rows)

  /** Whether a column looks like a key of its relation, and somebody has counted its values. */
  def isCountedKey(column: ColumnProfile, rows: Double): Boolean =
    column.isLikeKey(rows) && isCounted(column, rows)

  /** Whether the distinct values of a column are more than an upper limit, which bounds no number of partners. */
  private[kernel] def isCounted(column: ColumnProfile, rows: Double): Boolean =
    !column.uncounted || isDense(column, rows)

  /**
   * Number of a key's values that lie in the range of a column; at least one. Predicates may have narrowed the range of
   * the key, but not what the column refers to: the key then has as many values per width outside of the range.
   */
  private def valuesFor(column: ColumnProfile, key: Member): Option[Double] = key.column.domain.map { values =>
    val part = for {
      low <- column.min; high <- column.max; from <- key.column.min; to <- key.column.max
    } yield key.column.distribution match {
      case _ if key.column.rangeRows.isDefined => numbers(low, high) / numbers(from, to)
      case known                               =>
        val (l, h) = (math.max(low, from), math.min(high, to))
        val shares = known.map(_.shares).filter(_.between(from, to) > 0.0)
        shares.fold(math.min(1.0, math.max(0.0, numbers(l, h)) / numbers(from, to)))(s =>
          s.between(l, h) / s.between(from, to)
        )
    }
    math.max(1.0, values * part.getOrElse(1.0))
  }

  /** Half of the whole numbers from one number to another: the number itself may leave the range of Double. */
  private def numbers(from: Double, to: Double): Double = to / 2.0 - from / 2.0 + 0.5
}
