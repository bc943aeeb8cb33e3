package org.apache.spark.sql.dovetail.report

import dovetail.kernel.profile.{Estimate, Source}

/**
 * Advice of [[AdviseQuery]] on one table.
 *
 * @param table     name of the table in statements
 * @param identity  identity of the table, by `LeafNames.identity`
 * @param state     `unknown` (never analyzed), `stale`, `incomplete`, `fresh`, or `not analyzable`
 * @param rows      estimated rows of the table
 * @param costShare share of the predicted cost that lies in joins with the table; None if no joins were ordered
 * @param columns   columns that join sizes depend on
 * @param groups    groups of columns that are joined or filtered together
 * @param guessed   columns whose NDV is unknown
 * @param statement statement that analyzes the table, if there is one
 * @param reason    reason for the state, in words
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

  /** Whether the table's part of the estimates rests on assumptions or on outdated statistics. */
  def doubtful: Boolean =
    state == TableAdvice.Stale || guessed.nonEmpty || rows.source == Source.Size || rows.source == Source.Assumed
}

object TableAdvice {
  val Stale   = "stale"
  val Refused = "not analyzable"
}
