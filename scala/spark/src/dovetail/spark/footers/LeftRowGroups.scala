package org.apache.spark.sql.dovetail.footers

import dovetail.kernel.profile.ImpliedRange

/**
 * The range of a column in the row groups of a table that predicates on other columns leave, by the ends of the columns
 * in each row group. In files that are written in the order of time, the rows of a month have the keys of a month.
 */
private[footers] object LeftRowGroups {

  /** A column of a file, and the ends of the values that predicates leave of it. */
  type Condition = (ColumnFooter, (Double, Double))

  /**
   * @param files column of each file, the conditions on other columns of the file, and its number of rows
   * @return None if the ends of the column are not known in all files, or if it has nearly all its values in these row
   *         groups
   */
  def apply(files: Seq[((Option[ColumnFooter], Seq[Condition]), Long)]): Option[ImpliedRange] = {
    val parts = files.filter(_._2 > 0L).map { case ((column, conditions), _) => column.flatMap(partsOf(_, conditions)) }
    if (parts.isEmpty || parts.exists(_.isEmpty)) None
    else {
      val all = parts.flatten.flatten.toVector
      ImpliedRange.ofGroups(all.map(_._1), i => all(i)._2)
    }
  }

  private def width(c: ColumnFooter): Double = c.parts.iterator.map(_.high).max - c.parts.iterator.map(_.low).min

  /** The row groups of a file, or the file as a whole, and whether the conditions may be true there. */
  private def partsOf(c: ColumnFooter, conditions: Seq[Condition]): Option[Vector[(ImpliedRange.Group, Boolean)]] = {
    // the lists of two columns belong to the same row groups if both columns have values in all of them
    def alike(other: ColumnFooter) = other.groups == c.groups && other.parts.size == c.parts.size
    if (c.values == 0L) Some(Vector.empty)
    else if (c.parts.nonEmpty && conditions.forall(x => alike(x._1))) {
      // each of the row groups that are listed stands for those up to the next one
      val gap = if (c.parts.size == c.groups) 0.0 else width(c) / c.parts.size
      Some(c.parts.zipWithIndex.map { case (n, i) =>
        val left = conditions.forall { case (x, (low, high)) =>
          val beside = if (gap == 0.0) 0.0 else width(x) / x.parts.size
          x.parts(i).low - beside <= high && x.parts(i).high + beside >= low
        }
        ImpliedRange.Group(n.low - gap, n.high + gap, c.values.toDouble / c.parts.size) -> left
      })
    } else c.ends.collect { case n: Numbers =>
      val left = conditions.forall { case (x, (low, high)) =>
        x.values > 0L && x.between(low, high).forall(_ > 0.0)
      }
      Vector(ImpliedRange.Group(n.low, n.high, c.values.toDouble) -> left)
    }
  }
}
