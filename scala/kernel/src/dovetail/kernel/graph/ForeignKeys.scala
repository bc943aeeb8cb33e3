package dovetail.kernel.graph

import dovetail.kernel.profile.{ColumnProfile, RelationProfile}

/**
 * Domains of columns that nobody has counted, where such a column meets a key.
 *
 * Of a column without statistics often only the range is known: 60,702 whole numbers lie between 19920101 and 19980802,
 * and 2,406 of them are days. A range says how many values there may be, not how many there are. Where the column meets
 * one that looks like a key, it is taken for a foreign key: it draws from the key's values, as many as lie in its range
 * (containment, Selinger et al. 1979; which of two domains contains the other is settled by the one that is known).
 * Between two columns of which neither looks like a key the ranges stay. So they do for a column that is a key by its
 * own range: one that has exactly as many rows as there are whole numbers in it (given out one after the other). What
 * it meets may have as many values as rows as well, as far as anybody knows, and still be a foreign key with few of its
 * values. About as many rows would not do: four line items for each order, whose keys take every fourth number, make
 * about as many as there are numbers, too.
 */
object ForeignKeys {

  /**
   * @param members  of a class, or the two sides of an equality
   * @param profiles of the relations, by their index
   * @return the members in their order, with domains of at most what the keys among the others hold
   */
  def apply(members: Vector[Member], profiles: Vector[RelationProfile]): Vector[Member] =
    if (!members.exists(_.column.uncounted)) members
    else members.map { m =>
      val met = for {
        domain <- m.column.domain if m.column.uncounted && !isDense(m.column, profiles(m.relation).baseRows)
        held   <- members.filter(isKeyFor(m, _, profiles)).flatMap(valuesFor(m.column, _)).reduceOption(_ max _)
      } yield math.min(domain, held)
      met.fold(m)(d => m.copy(column = m.column.copy(domain = Some(d))))
    }

  /** A column of another relation with as many values as rows; of the same table's column it is no foreign key. */
  private def isKeyFor(m: Member, other: Member, profiles: Vector[RelationProfile]): Boolean =
    other.relation != m.relation && !m.column.origin.exists(other.column.origin.contains) &&
      other.column.isLikeKey(profiles(other.relation).baseRows)

  /** A key whose values fill their range: as many whole numbers lie there as the table has rows. */
  private def isDense(column: ColumnProfile, rows: Double): Boolean =
    column.domain.contains(rows) && (for (low <- column.min; high <- column.max) yield high - low + 1.0).contains(rows)

  /** Values of a key that lie in the range of a column, if they are spread evenly; at least one. */
  private def valuesFor(column: ColumnProfile, key: Member): Option[Double] = key.column.domain.map { values =>
    val part = for {
      low <- column.min; high <- column.max; from <- key.column.min; to <- key.column.max
    } yield math.max(0.0, math.min(high, to) - math.max(low, from) + 1.0) / (to - from + 1.0)
    math.max(1.0, values * math.min(1.0, part.getOrElse(1.0)))
  }
}
