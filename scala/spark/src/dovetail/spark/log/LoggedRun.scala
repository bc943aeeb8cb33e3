package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.dovetail.base.LazyValue

/**
 * The first run of a logged query, for observers of the log.
 *
 * @param query    entry of the log, with the row counts of the run
 * @param name     what the query computes, if runs of it can be compared. It is made when an observer asks: Spark tells
 *                 of a run in a thread that all listeners share
 * @param finished whether the run ended without a failure. The row counts of other runs are unknown
 * @param stops    whether a LIMIT may have ended the run before all rows were made, so that its time says little
 */
final class LoggedRun(
    val query: LoggedQuery,
    name: LazyValue[LoggedRun.Name],
    val finished: Boolean,
    val stops: Boolean
) {

  /**
   * Hash of what the query computes, and of the action: only times of equal ones are comparable. None if the plan is
   * too large or too deep for it.
   */
  def computes: Option[String] = name.value.computes

  /** Whether this application has run the same before. */
  def warm: Boolean = name.value.warm
}

object LoggedRun {
  final case class Name(computes: Option[String], warm: Boolean)

  object Name {
    val none: LazyValue[Name] = LazyValue.made(Name(None, warm = false))
  }
}
