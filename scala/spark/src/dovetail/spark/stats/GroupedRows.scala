package org.apache.spark.sql.dovetail.stats

import dovetail.kernel.profile.{Assumptions, Estimate, RelationProfile}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.dovetail.predicates.{Conditions, DistinctValues}

/** Size of GROUP BY and DISTINCT: one row per combination of values of the grouping expressions. */
private[stats] object GroupedRows {

  /**
   * @param child  input of the grouping
   * @param keys   grouping expressions
   * @param unique columns of the output that together identify a group; empty if a key is not in the output
   * @param output profile of the output columns, as if computed for each row of the input
   */
  def apply(
      child: RelationProfile,
      keys: Seq[Expression],
      unique: Set[Long],
      output: RelationProfile
  ): RelationProfile = {
    val ndvs   = keys.map(distinct(_, child))
    val known  = if (keys.size > 1) counted(keys.flatMap(new Conditions().column(_)), child) else None
    val joint  = known.getOrElse(math.min(Assumptions.jointNdv(ndvs), ofInputs(keys.zip(ndvs), child)))
    val groups = math.max(math.min(joint, child.rows.value), math.min(1.0, child.rows.value))
    output.copy(
      rows = Estimate.upTo(groups, child.rows.upper, child.rows.source),
      // a self-join on the grouping columns is a join on a key, so these columns lose their common origin
      columns = output.columns.map { case (id, c) =>
        id -> c.recoded.copy(ndv = c.ndv.map(math.min(_, math.max(groups, 1.0))), origin = None, rangeRows = None)
      },
      baseRows = groups,
      uniqueKeys = if (unique.isEmpty) Set.empty else Set(unique)
    )
  }

  /**
   * Joint NDV of keys if those of one input have at most as many combinations as it has rows: GROUP BY a customer's
   * key, name and address has as many groups as customers.
   *
   * @param keys grouping expressions with their NDVs
   */
  private def ofInputs(keys: Seq[(Expression, Double)], child: RelationProfile): Double = {
    val inputs = keys.map { case (e, ndv) => new Conditions().column(e).flatMap(child.column(_).input) -> ndv }
    val single = inputs.collect { case (None, ndv) => ndv }
    val ids    = inputs.flatMap(_._1).map(_.id).distinct
    val joint  = ids.map { id =>
      val own = inputs.collect { case (Some(input), ndv) if input.id == id => (input.rows, ndv) }
      math.min(Assumptions.jointNdv(own.map(_._2)), math.max(own.map(_._1).min, 1.0))
    }
    Assumptions.jointNdv(single ++ joint)
  }

  /** NDV of an expression, at most the rows of its input; None if too little is known about its columns. */
  def knownDistinct(e: Expression, child: RelationProfile): Option[Double] =
    DistinctValues(e, child.column).map(math.min(_, child.rows.value))

  /** Whether the number of groups rests on a count: of a single key, or of the keys together. */
  def isCounted(keys: Seq[Expression], child: RelationProfile): Boolean = keys.filter(_.references.nonEmpty) match {
    case Seq()  => true
    case Seq(e) => knownDistinct(e, child).isDefined
    case _      => counted(keys.flatMap(new Conditions().column(_)), child).isDefined
  }

  private def distinct(e: Expression, child: RelationProfile): Double =
    if (e.references.isEmpty) 1.0
    else knownDistinct(e, child).getOrElse(math.max(1.0, child.rows.value * Assumptions.GroupingFraction))

  /**
   * Joint NDV of columns, as it was counted for the base relation, limited by the rows that are left and by the NDVs of
   * the single columns.
   */
  private def counted(ids: Seq[Long], child: RelationProfile): Option[Double] = child.groups.get(ids.toSet).map { all =>
    val possible = ids.distinct.map(child.column(_).ndv.getOrElse(all)).product
    math.min(Assumptions.distinctAfter(all, child.baseRows, child.rows.value), possible)
  }
}
