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

  /** The row groups of a file, or the file as a whole, and whether the conditions may be true there. */
  private def partsOf(c: ColumnFooter, conditions: Seq[Condition]): Option[Vector[(ImpliedRange.Group, Boolean)]] = {
    // the lists of two columns belong to the same row groups if both columns have values in all of them
    def alike(other: ColumnFooter) = other.groups == c.groups && other.parts.size == c.parts.size
    if (c.values == 0L) Some(Vector.empty)
    else if (c.parts.nonEmpty && c.parts.size == c.groups && conditions.forall(x => alike(x._1)))
      Some(c.parts.zipWithIndex.map { case (n, i) =>
        val left = conditions.forall { case (x, (low, high)) => x.parts(i).low <= high && x.parts(i).high >= low }
        ImpliedRange.Group(n.low, n.high, c.values.toDouble / c.parts.size) -> left
      })
    else c.ends.collect { case n: Numbers =>
      val left = conditions.forall { case (x, (low, high)) =>
        x.values > 0L && x.between(low, high).forall(_ > 0.0)
      }
      Vector(ImpliedRange.Group(n.low, n.high, c.values.toDouble) -> left)
    }
  }
}
