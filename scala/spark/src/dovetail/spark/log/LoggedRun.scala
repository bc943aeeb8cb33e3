package org.apache.spark.sql.dovetail.log

import org.apache.spark.sql.dovetail.base.LazyValue

/**
 * The first run of a logged query, for observers of the log.
 *
 * @param query    entry of the log, with the row counts of the run
 * @param name     what the query computes, if runs of it can be compared. It is made when an observer asks: Spark tells
 *                 of a run in a thread that all listeners share
 * @param end      how the run ended. The row counts of runs that failed are unknown
 * @param stops    whether a LIMIT may have ended the run before all rows were made, so that its time says little
 */
final class LoggedRun(
    val query: LoggedQuery,
    name: LazyValue[LoggedRun.Name],
    val end: RunEnd,
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

/** How a run of a query ended. */
sealed trait RunEnd

object RunEnd {
  case object Finished extends RunEnd

  /** It failed or was cancelled. */
  case object Failed extends RunEnd

  /**
   * It failed because memory or space on a disk was short, or because executors were lost, and no join method was to
   * blame.
   */
  case object OutOfResources extends RunEnd
}

object LoggedRun {
  final case class Name(computes: Option[String], warm: Boolean)

  object Name {
    val none: LazyValue[Name] = LazyValue.made(Name(None, warm = false))
  }
}
