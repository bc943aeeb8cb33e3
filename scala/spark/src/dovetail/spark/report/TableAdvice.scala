package org.apache.spark.sql.dovetail.report

import dovetail.kernel.profile.{Estimate, Source}

/**
 * What [[AdviseQuery]] found out about one table.
 *
 * @param table     its name in statements
 * @param identity  that of `LeafStatistics`
 * @param state     `unknown` (never analyzed), `stale`, `incomplete`, `fresh`, or `not analyzable`
 * @param rows      it is taken to have
 * @param costShare share of the predicted cost that lies in joins with it; none where nothing was ordered
 * @param columns   on which sizes of joins depend
 * @param groups    of columns that are joined or filtered together
 * @param guessed   those of the columns whose number of values nobody knows
 * @param statement that analyzes it, if one does
 */
final case class TableAdvice(
    table: String,
    identity: Option[String],
    state: String,
    rows: Estimate,
    costShare: Option[Double],
    columns: Vector[String],
    groups: Vector[Vector[String]],
    guessed: Vector[String],
    statement: Option[String],
    reason: String
) {

  /** Its part of the estimates rests on assumptions, or on what has changed since. */
  def doubtful: Boolean =
    state == TableAdvice.Stale || guessed.nonEmpty || rows.source == Source.Size || rows.source == Source.Assumed
}

object TableAdvice {
  val Stale   = "stale"
  val Refused = "not analyzable"
}
